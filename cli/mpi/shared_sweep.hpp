#pragma once

// What every rank reads for itself from the same command line: the grid must lie where all can read it.

#include <string>
#include <vector>

#include "cli/sweep/sweep_options.hpp"
#include "study/sweep/result/line_writer.hpp"
#include "study/sweep/run/piece.hpp"

namespace pipeloom::cli::mpi {

struct SharedSweep {
  sweep::Grid grid;
  sweep::SweepOptions options;  ///< `threads` is at least 1
  std::vector<std::string> metrics;
  sweep::LineWriter lines;

  /// Throws InputError.
  [[nodiscard]] static SharedSweep read(const SweepArguments& arguments);
  /// One per thread.
  [[nodiscard]] std::vector<sweep::PieceWorker> workers() const;
  /// Version, grid, metrics, shard and format: equal texts make equal lines.
  [[nodiscard]] std::string identity() const;
};

}  // namespace pipeloom::cli::mpi
