#include "study/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/config.hpp"
#include "sim/memory.hpp"
#include "study/plan/advice.hpp"
#include "study/plan/candidates.hpp"
#include "study/plan/codesign.hpp"
#include "study/plan/judge.hpp"
#include "study/plan/orders.hpp"
#include "study/plan/ranking.hpp"
#include "study/plan/relief.hpp"
#include "study/plan/squeeze.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {
namespace {

constexpr std::array<std::string_view, 6> kObjectives = {"step_time",    "makespan",   "max_window",
                                                         "tokens_per_s", "peak_bytes", "p95"};
constexpr std::array<std::string_view, kVaries> kVaryNames = {
    "schedule", "chunks", "layers", "placement", "recompute", "offload", "microbatches", "order"};
constexpr std::array<std::string_view, kRefusals.size()> kRefusalNames = {"over_limit", "target", "left_out",
                                                                          "cannot_run", "not_tried"};
/// For how many of the best candidates a p95 is found.
constexpr std::size_t kScenarioCandidates = 8;
/// Of the best candidates, so many get their layers dealt out anew.
constexpr std::size_t kDealtOut = 3;
/// Of what does not fit, so many of the fastest are tried with single stages that hold less.
constexpr std::size_t kRelieved = 16;
/// Of the placements and memories that orders are searched for, so many of the best are searched on where there are more.
constexpr std::size_t kSearchedOn = 3;
/// Of the steps that are as good as the best, so many on different stages are held in less.
constexpr std::size_t kSqueezed = 2;
/// Characters of a name that may say its layers.
constexpr std::size_t kLongestLayers = 48;

template <class Enum, std::size_t kCount>
std::optional<Enum> named(const std::array<std::string_view, kCount>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

class Planner {
 public:
  Planner(io::Config workload, const PlanOptions& options, const Limits& limits)
      : workload_{std::move(workload), 1}, options_(options), limits_(limits) {
    plan_.objective = options.objective;
    plan_.seconds = options.seconds;
    plan_.seed = options.seed;
    if (options.progress)
      options_.progress = [this, &options](const std::string& doing, const std::string& best) {
        if (!ended_ && !options.progress(doing, best)) ended_ = true;
        return !ended_;
      };
  }
  Planner(const Planner&) = delete;  // what it hands down points at it
  Planner& operator=(const Planner&) = delete;
  ~Planner() = default;

  Plan run() {
    require_workload();
    plan_.room = leave_headroom(workload_.config, options_.headroom);
    find_baseline();
    plan_.workload = workload_.config;
    try_variants(variants_of(workload_, options_, plan_.rejected));
    judge_all();
    add_relieved();
    if (options_.vary.has(Vary::Layers) && has_model(workload_.config)) add_balanced();
    if (options_.vary.has(Vary::Order)) {
      add_searched();
      add_lightest();
    }
    sort_out();
    if (!plan_.candidates.empty() && !ended_) plan_.advice = advice_of(plan_, options_, limits_);
    return std::move(plan_);
  }

 private:
  void require_workload() const {
    const io::Config& config = workload_.config;
    if (config.options.forward_only)
      throw InputError(config.place_of("options.forward_only"), "a plan is for training steps; leave it out");
    if (options_.objective == PlanObjective::P95 && !config.costs.noise)
      throw InputError(Where{"--objective"}, "p95 needs durations that vary; set costs.noise");
    if (options_.objective == PlanObjective::TokensPerS && !has_model(workload_.config))
      throw InputError(Where{"--objective"},
                       "tokens_per_s needs a model; set costs.model, or take step_time");
  }

  void find_baseline() {
    try {
      Run run = evaluate(workload_.config, limits_);
      workload_ = workload_of(std::move(workload_.config), *run.schedule);
      const Variant variant{"", workload_.config, ""};
      plan_.baseline_fits = over_limit_text(run).empty();
      plan_.baseline = candidate_of(variant, std::move(run));
      plan_.baseline->name = plan_.baseline->schedule;
    } catch (const ScheduleError& error) {
      if (options_.runs_now)
        plan_.warnings.push_back(std::string("what runs now has no numbers: ") + error.what());
      workload_ = workload_of(std::move(workload_.config), limits_);
    }
  }

  /// Evaluates all on the threads; the order of the answers is that of the variants.
  void try_variants(const std::vector<Variant>& variants) {
    std::vector<std::optional<PlanCandidate>> made(variants.size());
    std::vector<std::string> why(variants.size());
    std::atomic<std::size_t> next = 0;
    const auto worker = [&](bool asks) {
      for (std::size_t i = next++; i < variants.size(); i = next++) {
        if (asks && options_.progress) options_.progress(variants[i].name, "");
        if (ended_) {
          why[i] = "not tried: the plan was ended before";
          continue;
        }
        try {
          made[i] = candidate_for(variants[i]);
        } catch (const Error& error) {
          why[i] = error.what();
        } catch (const Stopped& stopped) {
          why[i] = stopped.what();
        }
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < options_.threads; ++i) threads.emplace_back(worker, false);
      worker(true);
    }
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (made[i]) {
        take(std::move(*made[i]), variants[i].memory_of);
      } else {
        plan_.rejected.push_back({variants[i].name, why[i]});
      }
    }
  }

  [[nodiscard]] PlanCandidate candidate_for(const Variant& variant) const {
    Tried tried = with_best_prefetch(variant.config, options_,
                                     [&](const io::Config& config) { return evaluate(config, limits_); });
    return candidate_of({variant.name, std::move(tried.config), variant.memory_of}, std::move(tried.run));
  }

  /// Keeps what fits; of what does not, its shape for searches.
  void take(PlanCandidate candidate, const std::string& memory_of) {
    if (!options_.vary.has(Vary::Placement) && plan_.baseline &&
        candidate.placement != plan_.baseline->placement) {
      plan_.rejected.push_back({candidate.name,
                                "has other stages on its ranks, and --vary leaves placement out",
                                Refusal::LeftOut});
      return;
    }
    const std::string over = over_limit_text(candidate.run);
    if (over.empty()) {
      names_[candidate.name] = memory_of;
      plan_.candidates.push_back(std::move(candidate));
    } else {
      plan_.rejected.push_back({candidate.name, over, Refusal::OverLimit});
      over_.emplace_back(std::move(candidate), memory_of);
    }
  }

  /// What does not fit and would be faster than all that does, with some stages holding less. Targets say recomputation for all stages alike.
  void add_relieved() {
    if (options_.target != nullptr) return;
    Ticks shortest = kMaxTicks;
    for (const PlanCandidate& candidate : plan_.candidates)
      shortest = std::min(shortest, candidate.step_time);
    std::vector<const std::pair<PlanCandidate, std::string>*> from;
    for (const auto& over : over_)
      if (over.first.step_time < shortest) from.push_back(&over);
    std::ranges::stable_sort(from, {}, [](const auto* over) { return over->first.step_time; });
    from.resize(std::min(from.size(), kRelieved));
    std::vector<Relieved> found;
    for (const auto* over : from) {
      if (options_.progress && !options_.progress(over->first.name + " with less", "")) break;
      std::ranges::move(relieved(over->first, over->second, options_, limits_, plan_.rejected),
                        std::back_inserter(found));
    }
    for (Relieved& one : found) take(std::move(one.candidate), one.memory_of);
  }

  /// The best schedules with layers dealt out for them; where none fits, those that come nearest to it.
  void add_balanced() {
    std::vector<PlanCandidate> found;
    std::vector<std::pair<const PlanCandidate*, std::string>> from;
    for (const PlanCandidate* one : best_first()) from.emplace_back(one, names_[one->name]);
    if (from.empty()) {
      for (const auto& [candidate, memory_of] : over_) from.emplace_back(&candidate, memory_of);
      std::ranges::stable_sort(from, {}, [](const auto& one) { return one.first->peak; });
    }
    from.resize(std::min(from.size(), kDealtOut));
    for (const auto& [one, memory_of] : from) {
      if (options_.progress && !options_.progress("layers of " + one->name, "")) break;
      try {
        if (auto candidate = balanced_candidate(*one, limits_)) {
          names_[candidate->name] = memory_of;
          found.push_back(std::move(*candidate));
        }
      } catch (const Error& error) {
        plan_.rejected.push_back({one->name + ", balanced", error.what()});
      }
    }
    std::ranges::move(found, std::back_inserter(plan_.candidates));
  }

  [[nodiscard]] std::vector<const PlanCandidate*> best_first() const {
    std::vector<const PlanCandidate*> out;
    for (const PlanCandidate& candidate : plan_.candidates) out.push_back(&candidate);
    std::ranges::stable_sort(out, [this](const auto* a, const auto* b) {
      return key_of(*a, options_.objective) < key_of(*b, options_.objective);
    });
    return out;
  }

  /// Candidates between which orders can be carried over: on one placement with the same memory and layers.
  using Kin = std::tuple<std::string, int, std::string, std::vector<int>>;

  void add_searched() {
    if (options_.target != nullptr && options_.target->files == FilePlacements::None) return;
    std::map<Kin, std::vector<const PlanCandidate*>> families;
    const auto add = [&](const PlanCandidate& candidate, const std::string& memory_of) {
      if (is_searchable(*candidate.run.schedule))
        families[{candidate.placement, candidate.chunks, memory_of, candidate.layers}].push_back(&candidate);
    };
    for (const PlanCandidate& candidate : plan_.candidates) add(candidate, names_[candidate.name]);
    for (const auto& [candidate, memory_of] : over_) add(candidate, memory_of);
    if (families.empty()) return;
    std::vector<Searched> searched;
    for (auto& [family, kin] : families) searched.push_back({std::move(kin), std::nullopt});
    const bool in_rounds = searched.size() > kSearchedOn;
    const double seconds = options_.seconds / (in_rounds ? 4 : 2);
    search(searched, seconds);
    if (in_rounds) {
      std::ranges::stable_sort(searched, [this](const Searched& a, const Searched& b) {
        return a.found &&
               (!b.found || key_of(*a.found, options_.objective) < key_of(*b.found, options_.objective));
      });
      search(std::span(searched).first(kSearchedOn), seconds);
    }
    for (Searched& one : searched)
      if (one.found) plan_.candidates.push_back(std::move(*one.found));
    std::vector<const PlanCandidate*> over;
    for (const auto& [candidate, memory_of] : over_) over.push_back(&candidate);
    if (auto best = codesigned_candidate(best_first(), over, options_, limits_))
      plan_.candidates.push_back(std::move(*best));
  }

  /// Of the steps that are as good as the best, orders that hold less.
  void add_lightest() {
    if (plan_.candidates.empty()) return;
    if (options_.target != nullptr && options_.target->files == FilePlacements::None) return;
    if (options_.objective == PlanObjective::PeakBytes || options_.objective == PlanObjective::P95) return;
    std::vector<std::pair<std::size_t, PlanCandidate>> found;
    const std::vector<const PlanCandidate*> all = best_first();
    for (const PlanCandidate* one : to_squeeze())
      if (auto less = squeezed_candidate(*one, all, options_, limits_))
        found.emplace_back(one - plan_.candidates.data(), std::move(*less));
    for (auto& [from, less] : found) take_lighter(plan_.candidates[from], std::move(less));
  }

  /// Of the steps that are as good as the best those on stages of published schedules, which are the same under every limit; where none is, the best
  /// whose orders are searched for.
  [[nodiscard]] std::vector<const PlanCandidate*> to_squeeze() const {
    std::set<Kin> published;
    for (const PlanCandidate& one : plan_.candidates)
      if (!one.searched()) published.insert(kin_of(one));
    for (const auto& [one, memory_of] : over_)
      published.insert({one.placement, one.chunks, memory_of, one.layers});
    std::vector<const PlanCandidate*> out;
    const std::vector<const PlanCandidate*> best = best_first();
    for (const PlanCandidate* one : best) {
      if (!is_same(*one, *best.front(), options_.objective) || out.size() == kSqueezed) break;
      if (is_searchable(*one->run.schedule) && published.erase(kin_of(*one)) > 0) out.push_back(one);
    }
    const auto first =
        std::ranges::find_if(best, [](const auto* one) { return is_searchable(*one->run.schedule); });
    if (out.empty() && first != best.end()) out.push_back(*first);
    return out;
  }

  [[nodiscard]] Kin kin_of(const PlanCandidate& one) const {
    const auto found = names_.find(one.name);
    return {one.placement, one.chunks, found == names_.end() ? "" : found->second, one.layers};
  }

  /// An order that was found is replaced by one that is no longer and holds less.
  void take_lighter(PlanCandidate& from, PlanCandidate less) {
    if (!from.searched() || less.step_time > from.step_time)
      return plan_.candidates.push_back(std::move(less));
    less.name = from.name;
    from = std::move(less);
  }

  /// A family, and the order found for it.
  struct Searched {
    std::vector<const PlanCandidate*> kin;
    std::optional<PlanCandidate> found;
  };

  /// Searches, each from what it found before, in so many seconds together.
  void search(std::span<Searched> all, double seconds) {
    const std::int64_t work = search_work(seconds / static_cast<double>(all.size()), options_.threads);
    for (Searched& one : all) {
      std::vector<const PlanCandidate*> kin = one.kin;
      if (one.found) kin.push_back(&*one.found);
      if (auto better = searched_candidate(kin, options_, limits_, work, plan_.warnings))
        one.found = std::move(better);
    }
  }

  void measure_peaks() {
    for (auto& [candidate, memory_of] : over_) plan_.over.push_back(std::move(candidate));
    if (plan_.baseline || !plan_.candidates.empty()) {
      const PlanCandidate& own = plan_.baseline ? *plan_.baseline : plan_.candidates.front();
      const MemoryModel& memory = *own.run.memory;
      if (counts_activations(memory))
        plan_.activation = own.said(std::ranges::max(memory.activation) * memory.passes);
    }
  }

  /// Leaves out what the target does not run.
  void judge_all() {
    if (options_.target != nullptr) judge(plan_.candidates, options_, limits_, plan_.rejected);
  }

  void say_how_to_run() {
    if (!plan_.candidates.empty()) plan_.to_run = verdicts_of(plan_.candidates.front(), options_);
    plan_.not_taken = not_taken(plan_, options_);
  }

  void sort_out() {
    judge_all();
    measure_peaks();
    std::ranges::stable_sort(plan_.candidates, {}, [](const PlanCandidate& c) { return c.step_time; });
    tell_apart();
    find_p95();
    rank(plan_.candidates, options_.objective);
    find_baseline_among();
    if (!options_.runs_now) plan_.baseline.reset();
    find_changes();
    find_front();
    say_how_to_run();
  }

  void find_changes() {
    const PlanCandidate* other = compared_with(plan_);
    if (other == nullptr) return;
    const auto step = static_cast<double>(other->step_time);
    const auto compare = [&](PlanCandidate& one) {
      one.change = static_cast<double>(one.step_time) / step - 1;
    };
    std::ranges::for_each(plan_.candidates, compare);
    std::ranges::for_each(plan_.over, compare);
    if (plan_.baseline) compare(*plan_.baseline);
  }

  /// Names that several candidates have say how these differ.
  void tell_apart() {
    std::map<std::string, int> uses;
    for (const PlanCandidate& candidate : plan_.candidates) ++uses[candidate.name];
    for (PlanCandidate& candidate : plan_.candidates)
      if (uses[candidate.name] > 1 && !candidate.layers.empty())
        candidate.name +=
            shortened(fmt::format(", layers {}", fmt::join(candidate.layers, ",")), kLongestLayers);
    uses.clear();
    for (PlanCandidate& candidate : plan_.candidates)
      if (const int use = ++uses[candidate.name]; use > 1) candidate.name += fmt::format(" ({})", use);
  }

  void find_baseline_among() {
    if (!plan_.baseline || !options_.runs_now) return;
    const Assignments own = assignments_of(plan_.baseline->config);
    const auto same = [&](const PlanCandidate& candidate) {
      return candidate.schedule == plan_.baseline->schedule && assignments_of(candidate.config) == own;
    };
    const auto found = std::ranges::find_if(plan_.candidates, same);
    if (found != plan_.candidates.end())
      plan_.baseline_among = static_cast<std::size_t>(found - plan_.candidates.begin());
  }

  /// Steps under costs.noise, of the best by the step without it.
  void find_p95() {
    if (!workload_.config.costs.noise) return;
    for (std::size_t i = 0; i < std::min(kScenarioCandidates, plan_.candidates.size()); ++i) {
      PlanCandidate& candidate = plan_.candidates[i];
      try {
        if (!candidate.p95) candidate.p95 = p95_of(candidate.run, options_.seed);
      } catch (const InputError& error) {
        plan_.warnings.push_back(candidate.name + ": no p95: " + error.what());
      }
    }
  }

  void find_front() {
    std::vector<std::size_t> all(plan_.candidates.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto& of = plan_.candidates;
    std::ranges::stable_sort(all, {}, [&](std::size_t i) { return std::pair(of[i].step_time, of[i].peak); });
    double least = std::numeric_limits<double>::infinity();
    for (const std::size_t i : all) {
      if (of[i].peak >= least) continue;
      least = of[i].peak;
      plan_.pareto.push_back(i);
    }
  }

  Workload workload_;
  PlanOptions options_;
  const Limits& limits_;
  std::atomic<bool> ended_ = false;  // progress said so
  Plan plan_;
  std::map<std::string, std::string> names_;  // candidate -> what is the same for its kin
  std::vector<std::pair<PlanCandidate, std::string>> over_;
};

}  // namespace

std::string_view name_of(PlanObjective objective) {
  return kObjectives[static_cast<std::size_t>(objective)];
}
std::optional<PlanObjective> objective_named(std::string_view name) {
  return named<PlanObjective>(kObjectives, name);
}
std::string_view name_of(Refusal refusal) {
  return kRefusalNames[static_cast<std::size_t>(refusal)];
}
std::string_view name_of(Vary vary) {
  return kVaryNames[static_cast<std::size_t>(vary)];
}
std::optional<Vary> vary_named(std::string_view name) {
  return named<Vary>(kVaryNames, name);
}

Plan make_plan(const io::Config& workload, const PlanOptions& options, const Limits& limits) {
  return Planner(workload, options, limits).run();
}

}  // namespace pipeloom::study
