#include "study/plan/search/squeeze.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/orders/bounds/bounds.hpp"
#include "sim/orders/search/search.hpp"
#include "study/plan/ranking.hpp"
#include "study/plan/search/orders.hpp"
#include "study/plan/search/problem.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/repeated/repeated_run.hpp"

namespace pipeloom::study {
namespace {

/// Times that a search under one limit may time all ops, and the shares of the budget that this is at least and at most.
constexpr std::int64_t kTimings = 150;
constexpr double kLeastShare = 1.0 / 32;
constexpr double kMostShare = 1.0 / 12;
/// The share of the budget that all searches of one candidate may take together, and what one is reckoned at: policies, which are played whatever the work
/// allowed, and the chains (sim/orders/search), most of which go on for a quarter longer.
constexpr double kWholeShare = 0.75;
constexpr std::int64_t kPlays = 100;
constexpr std::int64_t kChains = 4;

/// Searches on the stages of one candidate under smaller and smaller limits.
class Squeezer {
 public:
  Squeezer(const PlanCandidate& from, const std::vector<const PlanCandidate*>& kin,
           const PlanOptions& options, const Limits& limits)
      : from_(from), kin_(kin), options_(options), limits_(limits) {}

  std::optional<PlanCandidate> run() const {
    const Bytes one = microbatch();
    const auto problem = problem_of(from_.run);
    if (one <= 0 || !problem || problem->needs_entries() || !is_uniform()) return std::nullopt;
    const auto order = orders::order_of(*problem, *from_.run.schedule);
    const auto value = order ? orders::value_of(*problem, *order) : std::nullopt;
    if (!value) return std::nullopt;
    const Ticks enough = *value + static_cast<Ticks>(kSameStep * static_cast<double>(from_.step_time));
    std::optional<PlanCandidate> best;
    std::int64_t left = kChains * search_work(kWholeShare * options_.seconds, options_.threads);
    Bytes fails = 0;
    Bytes works = (*std::ranges::max_element(from_.peaks) + one - 1) / one;
    while (works - fails > 1) {
      const Bytes middle = fails + (works - fails) / 2;
      const auto tighter = within(middle * one);
      const bool may_be = tighter && orders::best_bound(*tighter).value <= enough;
      if (may_be && (left -= reckoned(*tighter)) < 0) break;
      auto found = may_be ? searched(*tighter, start_orders(*tighter, kin_), enough) : std::nullopt;
      (found ? works : fails) = middle;
      if (found) best = std::move(found);
    }
    if (!best || best->peak >= from_.peak) return std::nullopt;
    const bool may_win = is_same(from_, *kin_.front(), options_.objective);
    if (const auto tighter = within(works * one); may_win && left > 0) shorten(*best, *tighter);
    return best;
  }

 private:
  /// What one microbatch holds on the rank where it holds most.
  [[nodiscard]] Bytes microbatch() const {
    const Placement& placement = from_.run.schedule->placement();
    Bytes most = 0;
    for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
      Bytes bytes = 0;
      for (const Slot slot : placement.slots_of(rank)) bytes += from_.run.memory->activation[slot.at()];
      most = std::max(most, bytes);
    }
    return most;
  }

  /// Whether a search's times are the run's, so that what is enough for the one is enough for the other.
  [[nodiscard]] bool is_uniform() const {
    const Costs& costs = *from_.run.costs;
    return costs.per_op.empty() && costs.microbatch_scale.empty() && !from_.run.program;
  }

  /// What is asked of orders where no rank holds more; nothing where a rank has no room for one microbatch.
  [[nodiscard]] std::optional<orders::Problem> within(Bytes most) const {
    const Run& run = from_.run;
    const Placement& placement = run.schedule->placement();
    MemoryModel memory = *run.memory;
    if (memory.limit.empty()) memory.limit.assign(static_cast<std::size_t>(placement.ranks()), most);
    for (Bytes& limit : memory.limit) limit = std::min(limit, most);
    return problem_of({placement, microbatches_of(run), *run.costs, memory, run.effective->step.rule});
  }

  /// Of orders that hold as little the shortest that is found.
  void shorten(PlanCandidate& best, const orders::Problem& problem) const {
    auto order = orders::order_of(problem, *best.schedule_of_all());
    if (!order) return;
    auto found = searched(problem, {{best.name, std::move(*order)}}, 0);
    if (found && found->step_time < best.step_time) best = std::move(*found);
  }

  /// The order that a search finds, which ends where one is short enough; nothing where none fits.
  [[nodiscard]] std::optional<PlanCandidate> searched(const orders::Problem& problem,
                                                      const std::vector<orders::StartOrder>& from,
                                                      Ticks enough) const {
    const std::string doing = from_.name + " with less memory";
    if (options_.progress && !options_.progress(doing, "")) return std::nullopt;
    orders::SearchOptions search{
        .work = work_on(problem), .seed = options_.seed, .threads = options_.threads, .enough = enough};
    if (options_.progress)
      search.progress = [&](const orders::SearchProgress&) { return options_.progress(doing, ""); };
    const auto found = orders::search_in_two(problem, from, search);
    if (!found || (enough > 0 && found->value > enough)) return std::nullopt;
    return candidate(problem, found->order);
  }

  [[nodiscard]] std::int64_t reckoned(const orders::Problem& problem) const {
    return kPlays * static_cast<std::int64_t>(problem.num_ops()) + kChains * work_on(problem) * 5 / 4;
  }

  [[nodiscard]] std::int64_t work_on(const orders::Problem& problem) const {
    const auto share = [this](double of) { return search_work(of * options_.seconds, options_.threads); };
    return std::clamp(kTimings * static_cast<std::int64_t>(problem.num_ops()), share(kLeastShare),
                      share(kMostShare));
  }

  [[nodiscard]] std::optional<PlanCandidate> candidate(const orders::Problem& problem,
                                                       const orders::Order& order) const {
    const std::string name = fmt::format("{}, {}", from_.name, kLeastMemory);
    auto schedule = std::make_shared<const Schedule>(
        orders::schedule_of(problem, from_.run.schedule->placement(), order));
    Run run = evaluate_schedule(schedule, name, from_.config, limits_);
    if (!over_limit_text(run).empty()) return std::nullopt;
    PlanCandidate out = candidate_of({name, searched_config(from_.config, options_), ""}, std::move(run));
    out.order = std::move(schedule);
    if (from_.bound.value > out.bound.value && from_.bound.value <= out.makespan) {
      out.bound = from_.bound;  // of any order on these stages
      weigh_bound(out);
    }
    return out;
  }

  const PlanCandidate& from_;
  const std::vector<const PlanCandidate*>& kin_;
  const PlanOptions& options_;
  const Limits& limits_;
};

}  // namespace

std::optional<PlanCandidate> squeezed_candidate(const PlanCandidate& from,
                                                const std::vector<const PlanCandidate*>& kin,
                                                const PlanOptions& options, const Limits& limits) {
  return Squeezer(from, kin, options, limits).run();
}

}  // namespace pipeloom::study
