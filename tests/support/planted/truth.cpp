// What planted causes are worth, and how far noise spreads that.

#include <algorithm>
#include <cmath>

#include "study/explain/robust.hpp"
#include "support/planted/plot.hpp"

namespace pipeloom::test {
namespace {

/// Shapley's values of `players`, by all their orders. `lengths` by set of them.
std::vector<double> shares_of(std::size_t players, const std::vector<double>& lengths) {
  std::vector<std::size_t> order(players);
  for (std::size_t i = 0; i < players; ++i) order[i] = i;
  std::vector<double> shares(players, 0);
  double orders = 0;
  do {
    unsigned set = 0;
    for (const std::size_t i : order) {
      const unsigned more = set | 1U << i;
      shares[i] += lengths[more] - lengths[set];
      set = more;
    }
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  for (double& share : shares) share /= orders;
  return shares;
}

double spread(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

}  // namespace

std::vector<double> Plot::seen_in(const std::vector<double>& log_shifts) const {
  const std::size_t n = causes.size();
  std::vector<double> matrix(n * n, 0);
  std::vector<double> right(n, 0);
  for (std::size_t op = 0; op < schedule->num_ops(); ++op) {
    // Causes of microbatches are seen within cells.
    const auto covers = [&](const Planted& cause) {
      return is_of_ops(cause.kind) && !cause.microbatch && meets(cause, net.rank_of(op), schedule->ops()[op]);
    };
    for (std::size_t i = 0; i < n; ++i) {
      if (!covers(causes[i])) continue;
      right[i] += log_shifts[op];
      for (std::size_t k = 0; k < n; ++k) matrix[i * n + k] += covers(causes[k]) ? 1 : 0;
    }
  }
  return study::explain::solve(std::move(matrix), std::move(right));
}

void Plot::measure_truth() {
  std::vector<double> lengths;
  for (unsigned set = 0; set < 1U << players(); ++set) lengths.push_back(static_cast<double>(length(set)));
  const std::vector<double> shares = shares_of(players(), lengths);
  for (std::size_t i = 0; i < causes.size(); ++i) causes[i].truth = shares[i];
}

void Plot::measure_spreads(PlantedRun& run) {
  constexpr int kDraws = 16;
  if (world.sigma == 0 && world.jitter == 0 && world.wrong_costs == 0) return;
  std::vector<std::vector<double>> effects(causes.size() + 1);
  const unsigned all = (1U << players()) - 1;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> noise(schedule->num_ops());
    for (double& of : noise) of = std::exp(world.sigma * gauss(random));
    std::vector<double> late(schedule->num_ops());
    for (double& of : late) of = std::exp(world.jitter * gauss(random));
    const std::vector<double> shifts =
        world.wrong_costs > 0 ? draw_shifts() : std::vector<double>(schedule->num_ops(), 0);
    const std::vector<double> seen = seen_in(shifts);
    // What a cause is seen too large by, the costs of its cells are seen too small by.
    const auto noisy = [&](unsigned set, bool as_seen) {
      Conditions conditions = with(set);
      for (std::size_t op = 0; op < noise.size(); ++op) {
        for (std::size_t i = 0; as_seen && i < causes.size(); ++i) {
          if (seen[i] == 0 || !meets(causes[i], net.rank_of(op), schedule->ops()[op])) continue;
          if ((set >> i & 1U) != 0) conditions.factor[op] *= std::exp(seen[i]);
          if ((set >> causes.size() & 1U) != 0) conditions.factor[op] /= std::exp(seen[i]);
        }
        conditions.factor[op] *= noise[op];
        conditions.latency[op] = std::llround(static_cast<double>(conditions.latency[op]) * late[op]);
      }
      return static_cast<double>(play(net, *costs, conditions)->length);
    };
    effects.back().push_back(noisy(all, false));
    std::vector<double> lengths;
    for (unsigned set = 0; set <= all; ++set) lengths.push_back(noisy(set, true));
    const std::vector<double> shares = shares_of(players(), lengths);
    for (std::size_t i = 0; i < causes.size(); ++i) effects[i].push_back(shares[i]);
  }
  const double steps = std::sqrt(static_cast<double>(world.steps));
  for (std::size_t i = 0; i < causes.size(); ++i) causes[i].sd = spread(effects[i]) / steps;
  run.step_sd = spread(effects.back()) / steps;
}

}  // namespace pipeloom::test
