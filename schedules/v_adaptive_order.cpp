#include "schedules/v_adaptive_order.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "schedules/generator.hpp"
#include "schedules/registry.hpp"
#include "schedules/zbv_auto_order.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/orders/search/search.hpp"

namespace pipeloom::schedules {
namespace {

/// The least bytes with which a rank can run anything: one microbatch, each W right after its I.
Bytes least_bytes(const orders::Problem& problem, std::size_t rank) {
  const orders::StageWork& first = problem.at(rank, 0);
  const orders::StageWork& last = problem.at(rank, 1);
  return std::max(first.held + std::max(last.held, last.kept), first.kept);
}

/// One microbatch after another.
orders::Order serial(const orders::Problem& problem) {
  using orders::letter;
  std::vector<orders::Letter> word;
  for (std::size_t k = 0; k < problem.microbatches; ++k)
    for (const auto next :
         {letter(0, orders::kForward), letter(1, orders::kForward), letter(1, orders::kInput),
          letter(1, orders::kWeight), letter(0, orders::kInput), letter(0, orders::kWeight)})
      word.push_back(next);
  return {.words = std::vector(problem.ranks(), word)};
}

/// The facts that need no search.
std::vector<orders::StartOrder> starts(const orders::Problem& problem, const Terms& terms, int ranks,
                                       int microbatches, std::span<const Bytes> limit) {
  std::vector<orders::StartOrder> out = {{"one microbatch after another", serial(problem)}};
  const auto add = [&](const std::string& name, const Schedule& schedule) {
    if (auto order = orders::order_of(problem, schedule)) out.push_back({name, std::move(*order)});
  };
  for (Generator (*const schedule)() : {v_min, v_half, v_zb, zbv}) {
    const Generator generator = schedule();
    add(generator.name, make(generator, {.ranks = ranks, .microbatches = microbatches, .chunks = 2}));
  }
  if (!terms.costs.microbatch_scale.empty()) return out;  // it looks at equal microbatches only
  const auto found = zbv_auto_order(terms, ranks, microbatches, limit);
  if (const auto* order = std::get_if<ZbvAutoResult>(&found)) add("zbv-auto", order->schedule);
  return out;
}

/// The work of the search: what small orders take hardly shows, and large ones are worth no more than about a second.
orders::SearchOptions options_for(const orders::Problem& problem) {
  constexpr std::int64_t kTimings = 600;  // of an order by each chain
  constexpr std::int64_t kLeast = 100'000;
  constexpr std::int64_t kMost = 1'000'000;
  constexpr std::int64_t kLarge =
      20'000;  // ops from which half of that will do: what else a search does takes longer
  constexpr std::int64_t kBlocks = 20;  // times as much of orders that begin with blocks
  constexpr std::int64_t kFirst = 4;    // the first search has a quarter of the work
  const auto ops = static_cast<std::int64_t>(problem.num_ops());
  const std::int64_t most = ops < kLarge ? kMost : kMost / 2;
  orders::SearchOptions out{.work = std::clamp(kTimings * ops, kLeast, most)};
  out.block_work = kBlocks * out.work;
  out.first_work = out.work / kFirst;
  return out;
}

Ticks cost_of(const Schedule& schedule, const Terms& terms) {
  Simulator simulator;
  const auto outcome = simulator.evaluate(schedule, terms.costs, terms.memory);
  const auto& totals = std::get<Totals>(outcome);
  Ticks cost = 0;
  for (std::size_t rank = 0; rank < totals.last_end.size(); ++rank)
    cost = std::max(cost, totals.last_end[rank] - totals.first_start[rank]);
  return cost;
}

/// Of the order found, and, where microbatches differ, of those it began with, the cheapest at the times of each.
VAdaptiveOrder cheapest(const orders::Problem& problem, orders::FoundOrder found,
                        std::vector<orders::StartOrder> starts, const Terms& terms) {
  const Placement placement = Placement::wave(static_cast<int>(problem.ranks()), 2);
  const auto made = [&](const orders::Order& order, std::string origin) {
    Schedule schedule = orders::schedule_of(problem, placement, order);
    const Ticks cost = cost_of(schedule, terms);
    return VAdaptiveOrder{std::move(schedule), cost, std::move(origin)};
  };
  VAdaptiveOrder best = made(found.order, std::move(found.origin));
  if (terms.costs.microbatch_scale.empty()) return best;
  for (orders::StartOrder& start : starts) {
    if (!orders::keeps_limits(problem, start.order)) continue;
    VAdaptiveOrder other = made(start.order, std::move(start.name));
    if (other.cost < best.cost) best = std::move(other);
  }
  return best;
}

}  // namespace

std::variant<VAdaptiveOrder, LeastLimit, SearchCancelled> v_adaptive_order(const Terms& terms, int ranks,
                                                                           int microbatches,
                                                                           std::span<const Bytes> limit,
                                                                           const SearchProgress& progress,
                                                                           SearchPart part) {
  const orders::Problem problem =
      orders::make_problem(Placement::wave(ranks, 2), microbatches, terms, {limit.begin(), limit.end()},
                           orders::Objective::Window);
  LeastLimit least;
  bool fits_all = true;
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank) {
    least.bytes.push_back(least_bytes(problem, rank));
    fits_all &= least.bytes.back() <= problem.limit[rank];
  }
  if (!fits_all) return least;
  if (progress && !progress(0)) return SearchCancelled{};
  orders::SearchOptions options = options_for(problem);
  bool cancelled = false;
  bool ended_early = false;
  options.progress = [&](const orders::SearchProgress& now) {
    const double of = part == SearchPart::First ? orders::kFirstPart : 1;
    cancelled = cancelled || (progress && !progress(now.done / of));
    ended_early = part == SearchPart::First && now.done == of;
    return !cancelled && !ended_early;
  };
  std::vector<orders::StartOrder> known = starts(problem, terms, ranks, microbatches, limit);
  auto found = orders::search_in_two(problem, known, options);
  if (cancelled) return SearchCancelled{};
  VAdaptiveOrder out = cheapest(problem, std::move(found.value()), std::move(known), terms);
  out.ended_early = ended_early;
  return out;
}

}  // namespace pipeloom::schedules
