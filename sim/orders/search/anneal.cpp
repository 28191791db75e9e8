#include "sim/orders/search/anneal.hpp"

#include <cmath>
#include <utility>

#include "sim/orders/search/mover.hpp"
#include "sim/orders/search/retimer.hpp"

namespace pipeloom::orders {
namespace {

double energy_of(const Retimer& times) {
  return orders::energy_of(times.value(), times.mean_lateness());
}

}  // namespace

double mean_duration(const Problem& problem) {
  double sum = 0;
  for (const StageWork& stage : problem.stages) sum += static_cast<double>(stage.work());
  return sum / static_cast<double>((problem.cut ? 3 : 2) * problem.stages.size());
}

bool accepts(double worse, double hot, Chain& chain) {
  return worse <= 0 || chain.random.unit() < std::exp(-worse / (hot * std::pow(0.01, chain.share())));
}

Best anneal(const Problem& problem, const Order& from, double heat, Chain& chain) {
  Retimer times(problem, from);
  Mover mover(times, chain.random);
  Best best{.order = from, .value = times.value(), .mean = times.mean_lateness()};
  double now = energy_of(times);
  const double hot = heat * mean_duration(problem);
  std::int64_t before = times.work();
  const auto cost = [&] {
    const std::int64_t timed = times.work() - before;
    before = times.work();
    return timed + static_cast<std::int64_t>(problem.num_ops() / problem.ranks() / 4) +
           8;  // the chain, a refused move
  };
  chain.reached(best.value);
  while (chain.spend(cost())) {
    const Move move = mover.draw();
    if (move.from == move.to || !times.move(move.rank, move.from, move.to)) continue;
    const double worse = energy_of(times) - now;
    if (!accepts(worse, hot, chain)) {
      times.undo();
      continue;
    }
    now += worse;
    if (!best.improves(times.value(), times.mean_lateness())) continue;
    const bool shorter = times.value() < best.value;
    best = {.order = shorter ? times.order() : std::move(best.order),
            .value = times.value(),
            .mean = times.mean_lateness(),
            .work = chain.done()};
    if (shorter) chain.reached(best.value);
  }
  return best;
}

}  // namespace pipeloom::orders
