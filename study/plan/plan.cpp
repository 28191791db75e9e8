#include "study/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/io/config/config.hpp"
#include "sim/memory.hpp"
#include "study/estimate/balance.hpp"
#include "study/plan/advice.hpp"
#include "study/plan/balanced_rows.hpp"
#include "study/plan/budget.hpp"
#include "study/plan/candidates.hpp"
#include "study/plan/judge.hpp"
#include "study/plan/ranking.hpp"
#include "study/plan/relief.hpp"
#include "study/plan/search/codesign.hpp"
#include "study/plan/search/orders.hpp"
#include "study/plan/search/squeeze.hpp"
#include "study/plan/workers.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/repeated/repeated_run.hpp"

namespace pipeloom::study {
namespace {

/// For how many of the best candidates a p95 is found.
constexpr std::size_t kScenarioCandidates = 8;
constexpr const char* kEnded = "not tried: the plan was ended before";
constexpr const char* kNoLayers =
    "layers stay where they are: which layers there are is not known; name a model, or say in costs.layers "
    "how many "
    "each stage of these costs has";
/// Other layers are not tried for what does not fit and takes so many times as long as what does.
constexpr double kHopeless = 1.05;
/// Of what does not fit, so many of the fastest are tried with single stages that hold less.
constexpr std::size_t kRelieved = 16;
/// As many numbers of layers are tried for one of these, about.
constexpr double kCounts = 6;
/// Of the steps that are as good as the best, so many on different stages are held in less.
constexpr std::size_t kSqueezed = 2;
/// Seconds that a search for an order takes at least, per op: bounds, a few orders of published schedules, and the simulation of what is found.
constexpr double kSearchPerOp = 0.3e-6;
/// The same on several stages of a rank that are no V: no blocks give orders there, so that policies are played with all microbatches.
constexpr double kLoopSearchPerOp = 1e-6;
/// Parts of what is left of the budget that orders on the ranks of candidates are searched for: where schedules vary, designs are sought too, in as
/// much time, and published orders leave little to find.
constexpr double kOrdersAlone = 0.5;
constexpr double kOrdersAmongOthers = 0.25;

class Planner {
 public:
  Planner(io::Config workload, const PlanOptions& options, const Limits& limits)
      : workload_{std::move(workload), 1},
        options_(options),
        limits_(limits),
        budget_(options.seconds, options.threads) {
    plan_.objective = options.objective;
    plan_.seconds = options.seconds;
    plan_.seed = options.seed;
    options_.progress = [this, &options](const std::string& doing, const std::string& best) {
      if (!ended_ && options.progress && !options.progress(doing, best)) ended_ = true;
      return !is_ended();
    };
    // The budget never ends the run of what runs now, which all others are compared with, nor that of an order that was found where nothing else fits.
    limits_.stop = [this, &limits] {
      if (!ended_ && limits.stop && limits.stop()) ended_ = true;
      return plan_.baseline && !nothing_fits_ ? is_ended() : ended_.load();
    };
    limits_.progress = [this](double) { return !limits_.stop(); };
  }
  Planner(const Planner&) = delete;  // what it hands down points at it
  Planner& operator=(const Planner&) = delete;
  ~Planner() = default;

  Plan run() {
    require_workload();
    plan_.room = leave_headroom(workload_.config, options_.headroom);
    require_within(options_.seconds, workload_.config);
    find_baseline();
    plan_.workload = workload_.config;
    const Run* now = plan_.baseline ? &plan_.baseline->run : nullptr;
    try_variants(variants_of(workload_, now, options_, plan_.rejected));
    judge_all();
    try {
      add_relieved();
      if (options_.vary.has(Vary::Layers)) balance_layers_of_rows();
      if (options_.vary.has(Vary::Order)) {
        add_searched();
        add_lightest();
      }
    } catch (const Stopped&) {
      // What was found before stays.
    }
    sort_out();
    add_advice();
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
      Run run = totals_of(workload_.config, limits_);
      workload_ = workload_of(std::move(workload_.config), *run.schedule);
      const Variant variant{"", workload_.config, "", true};
      plan_.baseline_fits = over_limit_text(run).empty();
      plan_.baseline = candidate_of(variant, std::move(run));
      plan_.baseline->name = plan_.baseline->schedule;
    } catch (const ScheduleError& error) {
      if (options_.runs_now)
        plan_.warnings.push_back(std::string("what runs now has no numbers: ") + error.what());
      workload_ = workload_of(std::move(workload_.config), limits_);
    }
  }

  /// Whether somebody ended the plan, or it takes much longer than its budget.
  [[nodiscard]] bool is_ended() const { return ended_ || (options_.ends_by_clock && budget_.is_over()); }

  [[nodiscard]] bool may_be_placed(const std::string& placement) const {
    return options_.vary.has(Vary::Placement) || !plan_.baseline || placement.empty() ||
           placement == plan_.baseline->placement;
  }

  /// Evaluates on the threads; the order of the answers is that of the variants.
  void try_variants(const std::vector<Variant>& variants) {
    std::vector<std::optional<PlanCandidate>> made(variants.size());
    std::vector<PlanRejected> why(variants.size());
    const Run* now = plan_.baseline ? &plan_.baseline->run : nullptr;
    const std::vector<Affordable> order = affordable(
        variants, now, [this](const std::string& placement) { return may_be_placed(placement); }, budget_,
        why);
    on_threads(options_.threads, order.size(), [&](std::size_t at, bool is_caller) {
      const auto [i, share] = order[at];
      if (is_caller) (void)options_.progress(variants[i].name, "");
      if (is_ended()) {
        why[i] = {variants[i].name, kEnded, Refusal::NotTried};
        return;
      }
      try {
        made[i] = candidate_for(variants[i], share);
      } catch (const Error& error) {
        why[i] = {variants[i].name, error.what()};
      } catch (const Stopped&) {
        why[i] = {variants[i].name, kEnded, Refusal::NotTried};
      }
    });
    for (std::size_t i = 0; i < variants.size(); ++i) {
      if (variants[i].now && plan_.baseline) made[i] = baseline_row(variants[i].name);
      if (made[i]) {
        take(std::move(*made[i]), variants[i].memory_of);
      } else {
        plan_.rejected.push_back(std::move(why[i]));
      }
    }
  }

  /// What runs now, as a row.
  [[nodiscard]] PlanCandidate baseline_row(const std::string& name) const {
    PlanCandidate out = *plan_.baseline;
    out.name = name;
    return out;
  }

  [[nodiscard]] PlanCandidate candidate_for(const Variant& variant, double share) const {
    if (share < 1) {
      Made made = made_within(variant, share, limits_);
      return candidate_of(made.variant, std::move(made.run));
    }
    Tried tried = with_best_prefetch(variant.config, options_,
                                     [&](const io::Config& config) { return totals_of(config, limits_); });
    return candidate_of({variant.name, std::move(tried.config), variant.memory_of, variant.now},
                        std::move(tried.run));
  }

  /// Keeps what fits; of what does not, its shape for searches.
  void take(PlanCandidate candidate, const std::string& memory_of) {
    if (!may_be_placed(candidate.placement)) {
      plan_.rejected.push_back({candidate.name, kOtherPlacement, Refusal::LeftOut});
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

  /// Where the budget has room for it.
  std::optional<Relieved> fewest_layers_again(const Row& over) {
    Promise promise = promise_of({over.first.name, over.first.config, ""}, nullptr);
    promise.seconds *= kCounts;
    if (budget_.take(promise) < 1) return std::nullopt;
    return with_layers_again(over.first, over.second, options_, limits_, plan_.rejected);
  }

  /// What does not fit and would be faster than all that does, with some layers of stages or some stages holding less. Targets say which stages
  /// recompute for all alike.
  void add_relieved() {
    Ticks shortest = kMaxTicks;
    for (const PlanCandidate& candidate : plan_.candidates)
      shortest = std::min(shortest, candidate.step_time);
    std::vector<const Row*> from;
    for (const auto& over : over_)
      if (over.first.step_time < shortest) from.push_back(&over);
    std::ranges::stable_sort(from, {}, [](const auto* over) { return over->first.step_time; });
    from.resize(std::min(from.size(), kRelieved));
    std::vector<Relieved> found;
    for (const auto* over : from) {
      if (!options_.progress(over->first.name + " with less", "")) break;
      if (auto one = fewest_layers_again(*over)) found.push_back(std::move(*one));
      if (options_.target == nullptr)
        std::ranges::move(relieved(over->first, over->second, options_, limits_, plan_.rejected),
                          std::back_inserter(found));
    }
    for (Relieved& one : found) take(std::move(one.candidate), one.memory_of);
  }

  /// Layers dealt out for every row. What runs now stays among the candidates as it is.
  void balance_layers_of_rows() {
    if (!has_layers(workload_.config)) {
      plan_.warnings.emplace_back(kNoLayers);
      return;
    }
    std::vector<Row> rows;
    for (PlanCandidate& candidate : plan_.candidates) {
      std::string memory_of = names_[candidate.name];
      rows.emplace_back(std::move(candidate), std::move(memory_of));
    }
    const std::size_t fitting = rows.size();
    std::ranges::move(over_, std::back_inserter(rows));
    Ticks shortest = kMaxTicks;
    for (std::size_t i = 0; i < fitting; ++i) shortest = std::min(shortest, rows[i].first.step_time);
    std::vector<const Row*> movable;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const PlanCandidate& one = rows[i].first;
      const bool is_hopeless = i >= fitting && !is_usual(one) &&
                               static_cast<double>(one.step_time) > kHopeless * static_cast<double>(shortest);
      if (!one.searched() && !is_hopeless) movable.push_back(&rows[i]);
    }
    std::vector<Row> balanced = balanced_rows(movable, options_, limits_, budget_);
    plan_.candidates.clear();
    over_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto better = std::ranges::find_if(
          balanced, [&](const Row& row) { return row.first.name == rows[i].first.name; });
      if (better != balanced.end() && i >= fitting)
        std::erase_if(plan_.rejected, [&](const auto& one) { return one.name == rows[i].first.name; });
      const bool stays = better == balanced.end() || rows[i].first.now;
      if (stays && i < fitting) plan_.candidates.push_back(std::move(rows[i].first));
      if (stays && i >= fitting) over_.push_back(std::move(rows[i]));
    }
    for (Row& row : balanced) plan_.candidates.push_back(std::move(row.first));
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

  /// Seconds that searching for an order on the candidate's stages takes at least.
  [[nodiscard]] double least_search(const PlanCandidate& one) const {
    constexpr double kPasses = 3;  // F, I and W
    const bool is_loop = one.chunks > 1 && one.placement != "v";
    return (is_loop ? kLoopSearchPerOp : kSearchPerOp) * kPasses * one.run.schedule->stages() *
           microbatches_of(one.run);
  }

  /// True if the budget has room for a search on the candidate's stages.
  [[nodiscard]] bool may_search(const PlanCandidate& one) const {
    return is_searchable(*one.run.schedule) && least_search(one) <= budget_.left();
  }

  /// Says on which stages no orders are searched for, as that takes more than is left.
  void say_unsearched(const PlanCandidate& one) {
    const std::string name = searched_name(one);
    const auto is_said = [&](const PlanRejected& other) { return other.name == name; };
    if (std::ranges::any_of(plan_.rejected, is_said)) return;
    plan_.rejected.push_back({name,
                              fmt::format("not tried: a search takes {:.2g} s at least, and {:.2g} s of the "
                                          "budget are left; give a larger --budget",
                                          least_search(one), budget_.left()),
                              Refusal::NotTried});
  }

  void add_searched() {
    if (options_.target != nullptr && options_.target->files == FilePlacements::None) return;
    std::map<Kin, Family> families;
    const auto add = [&](const PlanCandidate& candidate, const std::string& memory_of) {
      if (!is_searchable(*candidate.run.schedule)) return;
      if (may_search(candidate))
        families[{candidate.placement, candidate.chunks, memory_of, candidate.layers}].push_back(&candidate);
      else
        say_unsearched(candidate);
    };
    for (const PlanCandidate& candidate : plan_.candidates) add(candidate, names_[candidate.name]);
    for (const auto& [candidate, memory_of] : over_) add(candidate, memory_of);
    std::vector<Family> to_search;
    for (auto& [kin, family] : families) to_search.push_back(std::move(family));
    const double share = options_.vary.has(Vary::Schedule) ? kOrdersAmongOthers : kOrdersAlone;
    nothing_fits_ = plan_.candidates.empty();
    for (PlanCandidate& found : searched_candidates(std::move(to_search), best_first(), options_, limits_,
                                                    share * budget_.left(), plan_.warnings))
      plan_.candidates.push_back(std::move(found));
    nothing_fits_ = false;
    std::vector<const PlanCandidate*> over;
    for (const auto& [candidate, memory_of] : over_)
      if (may_search(candidate)) over.push_back(&candidate);
    const std::vector<const PlanCandidate*> candidates = best_first();
    const auto best =
        std::ranges::find_if(candidates, [](const auto* one) { return is_searchable(*one->run.schedule); });
    if (best != candidates.end() && !may_search(**best)) return;
    PlanOptions rest = options_;
    rest.seconds = 2 * kOrdersAmongOthers * budget_.left();
    if (auto found = codesigned_candidate(candidates, over, rest, limits_))
      plan_.candidates.push_back(std::move(*found));
  }

  /// Of the steps that are as good as the best, orders that hold less.
  void add_lightest() {
    if (plan_.candidates.empty() || is_ended()) return;
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
      if (may_search(*one) && published.erase(kin_of(*one)) > 0) out.push_back(one);
    }
    const auto first = std::ranges::find_if(best, [this](const auto* one) { return may_search(*one); });
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

  void add_advice() {
    if (plan_.candidates.empty() || is_ended()) return;
    PlanOptions asked = options_;
    if (!may_search(plan_.candidates.front())) asked.vary.drop(Vary::Order);
    try {
      plan_.advice = advice_of(plan_, asked, limits_);
    } catch (const Stopped&) {
      return;  // nobody waits for it any more
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
    if (options_.target == nullptr) return;
    Limits unhurried = limits_;  // what there is in the end is judged whole
    unhurried.stop = nullptr;
    unhurried.progress = nullptr;
    judge(plan_.candidates, options_, unhurried, plan_.rejected);
  }

  void say_how_to_run() {
    if (!plan_.candidates.empty()) plan_.to_run = verdicts_of(plan_.candidates.front(), options_);
    plan_.not_taken = not_taken(plan_, options_);
  }

  void sort_out() {
    judge_all();
    measure_peaks();
    std::ranges::stable_sort(plan_.candidates, {}, [](const PlanCandidate& c) { return c.step_time; });
    tell_apart(plan_.candidates);
    find_p95();
    rank(plan_.candidates, options_.objective);
    find_baseline_among();
    if (!options_.runs_now) plan_.baseline.reset();
    find_changes(plan_);
    find_front(plan_);
    say_how_to_run();
  }

  void find_baseline_among() {
    if (!options_.runs_now) return;
    const auto found = std::ranges::find_if(plan_.candidates, &PlanCandidate::now);
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

  Workload workload_;
  PlanOptions options_;
  Limits limits_;
  Budget budget_;
  std::atomic<bool> ended_ = false;  // progress said so
  bool nothing_fits_ = false;        // while orders are searched for
  Plan plan_;
  std::map<std::string, std::string> names_;  // candidate -> what is the same for its kin
  std::vector<Row> over_;
};

}  // namespace

Plan make_plan(const io::Config& workload, const PlanOptions& options, const Limits& limits) {
  return Planner(workload, options, limits).run();
}

}  // namespace pipeloom::study
