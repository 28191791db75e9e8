#include "study/plan/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/number_text.hpp"
#include "sim/memory.hpp"
#include "study/estimate/balance.hpp"
#include "study/plan/candidates.hpp"
#include "study/plan/relief.hpp"
#include "study/plan/search/orders.hpp"
#include "study/plan/search/problem.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {
namespace {

constexpr double kWorthSaying = 0.001;
constexpr double kGigabyte = 1e9;
/// Splits that are simulated for advice.
constexpr std::size_t kMostMoves = 400;
/// Ops that the search with more memory may time.
constexpr std::int64_t kWork = 3'000'000;

double saved(const PlanCandidate& winner, Ticks step) {
  return 1 - static_cast<double>(step) / static_cast<double>(winner.step_time);
}

/// The winner with another configuration, its order again where it was searched for; nothing where that does not fit.
std::optional<Run> run_with(const PlanCandidate& winner, const io::Config& config, const Limits& limits) {
  try {
    Run run = winner.searched() && winner.order != nullptr
                  ? evaluate_schedule(winner.order, winner.name, config, limits)
                  : totals_of(config, limits);
    if (!over_limit_text(run).empty()) return std::nullopt;
    return run;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The single layer whose move saves most.
void add_layer_move(const PlanCandidate& winner, const Limits& limits, std::vector<PlanAdvice>& out) {
  const std::vector<int>& layers = winner.layers;
  if (layers.size() < 2 || layers.size() * (layers.size() - 1) > kMostMoves) return;
  PlanAdvice best;
  for (std::size_t a = 0; a < layers.size(); ++a)
    for (std::size_t b = 0; b < layers.size(); ++b) {
      if (a == b || layers[a] <= 1) continue;
      std::vector<int> moved = layers;
      --moved[a];
      ++moved[b];
      auto run =
          run_with(winner, with_layers(winner.config, winner.run.schedule->placement(), moved), limits);
      if (!run) continue;
      const double saves = saved(winner, run->metrics->step_time);
      if (saves > best.saves)
        best = {fmt::format("moving one layer from stage {} to stage {} saves {}", a, b, percent_text(saves)),
                saves, std::move(*run)};
    }
  if (best.saves >= kWorthSaying) out.push_back(std::move(best));
}

/// Whether all ranks keep their limits where one has so much more.
bool fits_with(const Run& run, std::size_t rank, Bytes more) {
  for (std::size_t r = 0; r < run.metrics->ranks.size(); ++r)
    if (run.metrics->ranks[r].memory.peak_bytes > run.memory->limit[r] + (r == rank ? more : 0)) return false;
  return true;
}

/// The best found for this problem from the winner's own order.
std::optional<orders::EntryStart> order_for(const orders::Problem& problem, const PlanCandidate& winner,
                                            const PlanOptions& options) {
  const auto start = entry_start(problem, winner);
  if (problem.needs_entries()) {
    if (!start) return std::nullopt;
    const auto found = orders::search_entries(
        problem, {*start}, {.work = kWork, .seed = options.seed, .threads = options.threads});
    return found ? std::optional(found->best) : std::nullopt;
  }
  std::vector<orders::StartOrder> starts;
  if (start) starts.push_back({"", start->order});
  const auto found = orders::search_order(problem, starts,
                                          {.work = kWork, .seed = options.seed, .threads = options.threads});
  return found ? std::optional(orders::EntryStart{found->order}) : std::nullopt;
}

/// What more memory on the rank that has least left would save, by an order that is searched for it.
void add_memory(const PlanCandidate& winner, const PlanOptions& options, const Limits& limits,
                std::vector<PlanAdvice>& out) {
  if (winner.run.memory->limit.empty() || winner.run.program) return;
  auto problem = problem_of(winner.run);
  if (!problem) return;
  std::size_t tight = 0;
  const auto left = [&](std::size_t rank) {
    return winner.run.memory->limit[rank] - winner.run.metrics->ranks[rank].memory.peak_bytes;
  };
  for (std::size_t rank = 1; rank < problem->ranks(); ++rank)
    if (left(rank) < left(tight)) tight = rank;
  const bool relative = counts_activations(*winner.run.memory);
  const MemoryModel& memory = *winner.run.memory;
  const Bytes more = relative ? std::ranges::max(memory.activation) * memory.passes
                              : static_cast<Bytes>(kGigabyte) * memory.parts;
  problem->limit[tight] += more;
  const auto rest = winner.step_time - winner.makespan;
  const double least = static_cast<double>(bound_on(*problem, winner.run, limits) + rest);
  if (least > (1 - kWorthSaying) * static_cast<double>(winner.step_time)) return;
  const auto found = order_for(*problem, winner, options);
  if (!found) return;
  const io::Config config =
      problem->has_copies() ? with_prefetch(winner.config, found->prefetch) : winner.config;
  auto schedule = std::make_shared<const Schedule>(
      orders::schedule_of(*problem, winner.run.schedule->placement(), found->order));
  Run run = evaluate_schedule(std::move(schedule), winner.name, config, limits);
  const double saves = saved(winner, run.metrics->step_time);
  if (saves < kWorthSaying || !fits_with(run, tight, more)) return;
  out.push_back({fmt::format("{} more on rank {} saves {}", relative ? "one activation" : "1 GB", tight,
                             percent_text(saves)),
                 saves, std::move(run)});
}

}  // namespace

std::vector<PlanAdvice> advice_of(const Plan& plan, const PlanOptions& options, const Limits& limits) {
  std::vector<PlanAdvice> out;
  const PlanCandidate& winner = plan.candidates.front();
  if (has_layers(winner.config)) add_layer_move(winner, limits, out);
  if (options.vary.has(Vary::Order)) add_memory(winner, options, limits, out);
  std::ranges::stable_sort(out, [](const PlanAdvice& a, const PlanAdvice& b) { return a.saves > b.saves; });
  return out;
}

}  // namespace pipeloom::study
