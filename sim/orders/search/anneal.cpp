#include "sim/orders/search/anneal.hpp"

#include <algorithm>
#include <cmath>

#include "sim/orders/search/retimer.hpp"

namespace pipeloom::orders {
namespace {

struct Move {
  std::size_t rank = 0;
  std::size_t from = 0;
  std::size_t to = 0;
};

/// A move of an op of the chain: out of its block, within it, or a little way.
class Mover {
 public:
  Mover(const Retimer& times, Random& random) : times_(times), random_(random) {}

  Move draw() {
    times_.critical_chain(chain_, [this] { return random_.next(); });
    const std::size_t at = random_.below(chain_.size());
    const auto [last, first] = block(at);
    const Retimer::Place op = chain_[at];
    const std::size_t length = times_.length(op.rank);
    const std::size_t style = random_.below(8);
    if (style < 2) return {op.rank, op.at, nearby(op.at, length)};
    if (style < 4) return {op.rank, op.at, last.at};
    if (style < 6) return {op.rank, op.at, first.at};
    if (style == 6) return {op.rank, op.at, first.at + random_.below(last.at - first.at + 1)};
    return {op.rank, beyond(last.at, length), op.at};
  }

 private:
  struct Block {
    Retimer::Place last;
    Retimer::Place first;
  };
  /// The neighbours of chain_[at] on its rank. The chain runs from the end to the start.
  [[nodiscard]] Block block(std::size_t at) const {
    std::size_t late = at;
    std::size_t early = at;
    const auto follows = [this](std::size_t i) {
      return chain_[i].rank == chain_[i + 1].rank && chain_[i].at == chain_[i + 1].at + 1;
    };
    while (late > 0 && follows(late - 1)) --late;
    while (early + 1 < chain_.size() && follows(early)) ++early;
    return {chain_[late], chain_[early]};
  }
  std::size_t nearby(std::size_t at, std::size_t length) {
    const std::size_t by = 1 + random_.below(3);
    return random_.below(2) == 0 ? (at < by ? 0 : at - by) : std::min(length - 1, at + by);
  }
  /// One of the ops that come soon after the block, to be drawn into it.
  std::size_t beyond(std::size_t last, std::size_t length) {
    return std::min(length - 1, last + 1 + random_.below(4));
  }

  const Retimer& times_;
  Random& random_;
  std::vector<Retimer::Place> chain_;
};

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
