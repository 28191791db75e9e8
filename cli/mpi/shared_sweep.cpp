#include "cli/mpi/shared_sweep.hpp"

#include <algorithm>

#include "study/sweep/result/result.hpp"

namespace pipeloom::cli::mpi {

SharedSweep SharedSweep::read(const SweepArguments& arguments) {
  sweep::SweepOptions options = read_sweep_options(arguments);
  options.threads = std::max(1, options.threads);
  sweep::Grid grid = read_grid(arguments);
  std::vector<std::string> metrics = sweep::metrics_of(grid, options.metrics);
  sweep::LineWriter lines(options.format, grid, metrics);
  return {std::move(grid), std::move(options), std::move(metrics), std::move(lines)};
}

std::vector<sweep::PieceWorker> SharedSweep::workers() const {
  const auto cache = sweep::Evaluator::make_cache();
  std::vector<sweep::PieceWorker> out;
  for (int i = 0; i < options.threads; ++i)
    out.emplace_back(grid, sweep::Evaluator(metrics, options.limits, cache, grid.scenarios()), lines,
                     options.shard);
  return out;
}

std::string SharedSweep::identity() const {
  // The number of points follows from the grid, and takes a while to count.
  return lines.preamble(sweep::Header::of(grid, metrics, 0, options.shard));
}

}  // namespace pipeloom::cli::mpi
