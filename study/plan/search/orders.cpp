#include "study/plan/search/orders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "sim/orders/designs/design.hpp"
#include "study/plan/ranking.hpp"
#include "study/plan/relief.hpp"
#include "study/plan/search/problem.hpp"
#include "study/run/evaluate.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::study {
namespace {

/// "25.0, bound 24.75, gap 1.0 %".
std::string progress_text(const orders::SearchProgress& now, TimeUnit unit) {
  if (now.value == kMaxTicks) return "";
  std::string out = time_text(now.value, unit);
  if (now.bound > 0)
    out += fmt::format(", bound {}, gap {}", time_text(now.bound, unit),
                       percent_text(static_cast<double>(now.value) / static_cast<double>(now.bound) - 1));
  return out;
}

/// What the search knows of all orders, where its problem is the whole truth about the run: nothing that it leaves to the simulation, and no
/// memory that it only keeps free. It is on orders without pairs, as bounds of runs are on orders of their pairs.
void take_bound(const orders::Bound& bound, const Run& like, PlanCandidate& candidate) {
  if (!is_exact(like) || bound.value <= candidate.bound.value || bound.value > candidate.makespan) return;
  candidate.bound = {bound.value, std::string(bound.name)};
  weigh_bound(candidate);
}

/// Orders on the ranks of some candidates, each a candidate of its own.
class Searcher {
 public:
  /// `most`: what activations may take of a rank, where that is less than the limits.
  Searcher(const std::vector<const PlanCandidate*>& kin, Bytes most, const PlanOptions& options,
           const Limits& limits)
      : kin_(kin),
        like_(*kin.front()),
        most_(most),
        options_(options),
        limits_(limits),
        name_(searched_name(like_)) {}

  std::optional<PlanCandidate> run(std::int64_t work, std::vector<std::string>& warnings) const {
    auto problem = problem_of(like_.run);
    if (!problem) return std::nullopt;
    auto paired = problem_of(like_.run, true);
    orders::tighten(*problem, most_);
    orders::tighten(*paired, most_);
    const bool has_pairs = !paired->pairs.empty();
    const std::int64_t share = has_pairs ? work / 2 : work;
    auto best = problem->needs_entries() ? as_design(*problem, share) : plain(*problem, share);
    if (has_pairs) take(as_design(*paired, share), best);
    const PlanCandidate* kin = shortest_kin();
    if (!best || (kin != nullptr && !is_better(*best, *kin, options_))) return std::nullopt;
    if (!like_.run.costs->microbatch_scale.empty() || !like_.run.costs->per_op.empty()) {
      std::string warning =
          name_ +
          ": searched with the durations of stages; what single microbatches take counts in "
          "the simulation of it";
      if (std::ranges::find(warnings, warning) == warnings.end()) warnings.push_back(std::move(warning));
    }
    return best;
  }

 private:
  void take(std::optional<PlanCandidate> one, std::optional<PlanCandidate>& best) const {
    if (one && (!best || is_better(*one, *best, options_))) best = std::move(one);
  }

  [[nodiscard]] std::optional<PlanCandidate> plain(const orders::Problem& problem, std::int64_t work) const {
    const auto found = orders::search_in_two(problem, start_orders(problem, kin_), search_options(work));
    if (!found) return std::nullopt;
    auto out = best_made(
        *found, [&](const orders::Order& order) { return candidate(problem, order, like_.config); },
        options_);
    if (out && most_ == orders::kNoLimit) take_bound(found->bound, like_.run, *out);
    return out;
  }

  /// Orders with copies, pairs or forwards that run again are searched as designs of which nothing may change but the order, and when reloads are issued; what comes of that,
  /// and those that the kin run, are changed entry by entry.
  [[nodiscard]] std::optional<PlanCandidate> as_design(const orders::Problem& problem,
                                                       std::int64_t work) const {
    orders::Design design{.layers = std::vector(problem.stages.size(), 1), .rank = {}};
    for (const orders::StageWork& stage : problem.stages) design.rank.push_back(stage.rank);
    const orders::EntrySearchOptions search =
        entry_search(options_, work / 2, name_, like_.run.timeline.unit);
    const auto made =
        orders::search_design({design}, [&](const orders::Design&) { return std::optional(problem); },
                              {.layers = false,
                               .ranks = false,
                               .stages = false,
                               .work = search.work,
                               .seed = search.seed,
                               .threads = search.threads,
                               .progress = search.progress});
    std::vector<orders::EntryStart> starts;
    if (made) starts.push_back({made->order, made->design.copying.prefetch});
    for (const PlanCandidate* one : kin_)
      if (auto start = entry_start(problem, *one)) starts.push_back(std::move(*start));
    if (problem.needs_entries())
      if (auto stays = without_copies(problem, work / 8)) starts.push_back({std::move(*stays)});
    const auto found = orders::search_entries(problem, starts, search);
    if (!found) return std::nullopt;
    return best_made(
        *found,
        [&](const orders::EntryStart& one) {
          return candidate(problem, one.order,
                           problem.has_copies() ? with_prefetch(like_.config, one.prefetch) : like_.config);
        },
        options_);
  }

  /// What fits where everything stays fits with copies, too: it only holds less.
  [[nodiscard]] std::optional<orders::Order> without_copies(orders::Problem problem,
                                                            std::int64_t work) const {
    for (orders::StageWork& stage : problem.stages) stage.is_copied = false;
    problem.pairs.clear();
    auto found = orders::search_order(orders::eased(problem, 0), {}, search_options(work));
    return found ? std::optional(std::move(found->order)) : std::nullopt;
  }

  /// The one with the shortest step among those that fit; null where none does.
  [[nodiscard]] const PlanCandidate* shortest_kin() const {
    const PlanCandidate* out = nullptr;
    for (const PlanCandidate* one : kin_)
      if (over_limit_text(one->run).empty() && (out == nullptr || one->step_time < out->step_time)) out = one;
    return out;
  }

  [[nodiscard]] orders::SearchOptions search_options(std::int64_t work) const {
    orders::SearchOptions out = order_search(options_, work);
    if (options_.progress)
      out.progress = [this](const orders::SearchProgress& now) {
        return options_.progress(name_, progress_text(now, like_.run.timeline.unit));
      };
    return out;
  }

  /// Nothing where its run does not fit.
  [[nodiscard]] std::optional<PlanCandidate> candidate(const orders::Problem& problem,
                                                       const orders::Order& order,
                                                       const io::Config& config) const {
    auto schedule = std::make_shared<const Schedule>(
        orders::schedule_of(problem, like_.run.schedule->placement(), order));
    Run run = evaluate_schedule(schedule, name_, config, limits_);
    if (!over_limit_text(run).empty()) return std::nullopt;
    PlanCandidate out = candidate_of({name_, searched_config(config, options_), ""}, std::move(run));
    out.order = std::move(schedule);
    return out;
  }

  const std::vector<const PlanCandidate*>& kin_;
  const PlanCandidate& like_;
  Bytes most_;
  const PlanOptions& options_;
  const Limits& limits_;
  std::string name_;
};

/// Of the families that orders are searched for, so many of the best are searched on where there are more.
constexpr std::size_t kSearchedOn = 3;
/// Tighter limits that are searched under too, and the most work of these searches together, as a multiple of that under the limits.
constexpr std::size_t kTighter = 4;
constexpr std::size_t kTighterWork = 2;

/// The parts that `count` searches share time by: the next power of two, or three quarters of one. Limits decide how many searches may win; without
/// steps one more would change how far each gets, and more memory might make a plan worse.
std::size_t parts_for(std::size_t count) {
  const std::size_t power = std::bit_ceil(count);
  return power >= 4 && count <= power / 4 * 3 ? power / 4 * 3 : power;
}

/// Searches on the placements of families, each from what it found before.
class FamilySearch {
 public:
  FamilySearch(const std::vector<const PlanCandidate*>& candidates, const PlanOptions& options,
               const Limits& limits, std::vector<std::string>& warnings)
      : options_(options), limits_(limits), warnings_(warnings) {
    for (const PlanCandidate* one : candidates) shortest_ = std::min(shortest_, time_of(*one));
  }

  std::vector<PlanCandidate> run(std::vector<Family> families, double seconds) {
    std::vector<Searched> all;
    for (Family& family : families) {
      if (limits_.stop && limits_.stop()) throw Stopped();
      const Ticks bound = bound_of(family);
      Searched one{.kin = std::move(family), .bound = bound, .levels = {{orders::kNoLimit, bound}}};
      if (may_win(one)) all.push_back(std::move(one));
    }
    std::ranges::stable_sort(all, {}, shortest_run);
    const bool in_rounds = all.size() > kSearchedOn;
    if (in_rounds) seconds /= 2;
    if (!all.empty()) search(all, seconds);
    if (in_rounds) {
      std::ranges::stable_sort(all, [this](const Searched& a, const Searched& b) {
        return a.found() && (!b.found() ||
                             key_of(*a.found(), options_.objective) < key_of(*b.found(), options_.objective));
      });
      search(std::span(all).first(kSearchedOn), seconds);
    }
    std::vector<PlanCandidate> out;
    for (Searched& one : all)
      if (const PlanCandidate* found = one.found()) out.push_back(*found);
    return out;
  }

 private:
  /// The limits, or a tighter one.
  struct Level {
    Bytes most = orders::kNoLimit;
    Ticks bound = 0;  ///< of steps
    std::optional<PlanCandidate> found = {};
  };
  struct Searched {
    Family kin;
    Ticks bound = 0;
    std::vector<Level> levels;

    /// The shortest of all levels; null where there is none.
    [[nodiscard]] const PlanCandidate* found() const {
      const PlanCandidate* out = nullptr;
      for (const Level& level : levels)
        if (level.found && (out == nullptr || level.found->step_time < out->step_time)) out = &*level.found;
      return out;
    }
  };

  static Ticks shortest_run(const Searched& of) {
    return (*std::ranges::min_element(of.kin, {}, &PlanCandidate::makespan))->makespan;
  }

  /// What the objective is about.
  [[nodiscard]] Ticks time_of(const PlanCandidate& one) const {
    return options_.objective == PlanObjective::Makespan ? one.makespan : one.step_time;
  }

  /// What no order on the ranks of these takes less than.
  [[nodiscard]] Ticks bound_of(const Family& kin) const {
    Ticks makespan = 0;
    for (const PlanCandidate* one : kin)
      if (bounds_searched_orders(one->run)) makespan = std::max(makespan, one->bound.value);
    const PlanCandidate& like = *kin.front();
    if (const auto problem = problem_of(like.run))
      makespan = std::max(makespan, bound_on(*problem, like.run, limits_));
    return makespan + time_of(like) - like.makespan;  // the optimizer is the same for all orders
  }

  /// Whether an order could be better than all that is there.
  [[nodiscard]] bool may_win(const Searched& one) const { return !is_about_time() || one.bound < shortest_; }
  [[nodiscard]] bool is_about_time() const {
    return options_.objective == PlanObjective::StepTime || options_.objective == PlanObjective::Makespan;
  }

  /// Searches for about that many seconds together. An order that fits in less fits here, and a search with less room may find a shorter one:
  /// orders found under tighter limits count, so that more memory seldom makes a step longer.
  void search(std::span<Searched> all, double seconds) {
    const std::size_t parts = parts_for(all.size());
    const std::int64_t work = search_work(seconds / static_cast<double>(parts), options_.threads);
    std::size_t left = kTighterWork * parts;
    try {
      for (Searched& one : all)
        if (may_win(one)) search(one.kin, one.levels.front(), work);
      for (Searched& one : all) add_tighter(one);
      for (std::size_t i = 1; i <= kTighter; ++i)
        for (Searched& one : all)
          if (i < one.levels.size() && is_worth(one.levels[i]) && left > 0 && left-- > 0)
            search(one.kin, one.levels[i], work);
    } catch (const Stopped&) {
      return;  // with what was found
    }
  }

  void search(Family kin, Level& level, std::int64_t work) {
    if (level.found) kin.push_back(&*level.found);
    if (auto better = Searcher(kin, level.most, options_, limits_).run(work, warnings_)) {
      shortest_ = std::min(shortest_, time_of(*better));
      level.found = std::move(better);
    }
  }

  /// Once.
  void add_tighter(Searched& one) const {
    if (one.levels.size() > 1 || !is_about_time() || !is_worth(one.levels.front())) return;
    const PlanCandidate& like = *one.kin.front();
    auto problem = problem_of(like.run);
    if (!problem) return;
    for (const Bytes most : orders::tighter_limits(*problem, kTighter)) {
      orders::tighten(*problem, most);
      const Ticks bound = bound_on(*problem, like.run, limits_) + time_of(like) - like.makespan;
      one.levels.push_back({most, std::max(bound, one.bound)});
    }
  }

  /// True if an order could be better by more than counts as the same.
  [[nodiscard]] bool is_worth(const Level& level) const {
    return (1 + kSameStep) * static_cast<double>(level.bound) < static_cast<double>(shortest_);
  }

  const PlanOptions& options_;
  const Limits& limits_;
  std::vector<std::string>& warnings_;
  Ticks shortest_ = kMaxTicks;
};

/// Orders near the best that a search keeps for best_made().
std::size_t runners_up(const PlanOptions& options) {
  constexpr std::size_t kRunnersUp = 8;
  return options.objective == PlanObjective::P95 ? kRunnersUp : 0;
}

template <class One, class Make>
std::optional<PlanCandidate> best_among(const One& first, const std::vector<One>& others, const Make& make,
                                        const PlanOptions& options) {
  if (others.empty()) return make(first);
  std::optional<PlanCandidate> best;
  const auto weigh = [&](const One& order) {
    auto one = make(order);
    if (!one) return;
    one->p95 = p95_if_any(*one, options);
    if (!best || is_better(*one, *best, options)) best = std::move(one);
  };
  weigh(first);
  for (const One& other : others) weigh(other);
  return best;
}

}  // namespace

std::string searched_name(const PlanCandidate& like) {
  std::string out = "searched " + like.placement;
  if (like.chunks > 1 && like.placement != "v") out += fmt::format(" v={}", like.chunks);
  const std::size_t comma = like.name.find(", ");
  return comma == std::string::npos ? out : out + like.name.substr(comma);
}

std::optional<orders::EntryStart> entry_start(const orders::Problem& problem,
                                              const PlanCandidate& candidate) {
  auto order = orders::order_of(problem, *candidate.schedule_of_all());
  if (!order) return std::nullopt;
  return orders::EntryStart{std::move(*order), candidate.run.effective->options.offload.prefetch};
}

std::vector<orders::StartOrder> start_orders(const orders::Problem& problem,
                                             const std::vector<const PlanCandidate*>& candidates) {
  std::vector<orders::StartOrder> out;
  for (const PlanCandidate* one : candidates)
    if (auto order = orders::order_of(problem, *one->schedule_of_all()))
      out.push_back({one->name, std::move(*order)});
  return out;
}

orders::EntrySearchOptions entry_search(const PlanOptions& options, std::int64_t work,
                                        const std::string& name, TimeUnit unit) {
  orders::EntrySearchOptions out{
      .work = work, .seed = options.seed, .threads = options.threads, .runners_up = runners_up(options)};
  if (options.progress)
    out.progress = [&options, name, unit](Ticks best) {
      return options.progress(name, best == kMaxTicks ? "" : time_text(best, unit));
    };
  return out;
}

orders::SearchOptions order_search(const PlanOptions& options, std::int64_t work) {
  return {.work = work, .seed = options.seed, .threads = options.threads, .runners_up = runners_up(options)};
}

std::optional<PlanCandidate> best_made(const orders::FoundOrder& found, const MakeCandidate& make,
                                       const PlanOptions& options) {
  return best_among(found.order, found.runners_up, make, options);
}

std::optional<PlanCandidate> best_made(const orders::FoundEntries& found, const MakeEntryCandidate& make,
                                       const PlanOptions& options) {
  return best_among(found.best, found.runners_up, make, options);
}

std::int64_t search_work(double seconds, int threads) {
  constexpr double kOpsPerSecond = 3e7;  // of a thread, about
  constexpr int kChains = 4;             // of a search
  return static_cast<std::int64_t>(seconds * kOpsPerSecond * std::clamp(threads, 1, kChains) / kChains);
}

std::vector<PlanCandidate> searched_candidates(std::vector<Family> families,
                                               const std::vector<const PlanCandidate*>& candidates,
                                               const PlanOptions& options, const Limits& limits,
                                               double seconds, std::vector<std::string>& warnings) {
  return FamilySearch(candidates, options, limits, warnings).run(std::move(families), seconds);
}

}  // namespace pipeloom::study
