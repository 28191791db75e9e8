#pragma once

// A sweep on all ranks: what each reads, what rank 0 does, and what the others do.

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "cli/mpi/mail.hpp"
#include "cli/sweep/sweep_options.hpp"
#include "study/sweep/result/line_writer.hpp"
#include "study/sweep/run/piece.hpp"

namespace pipeloom::cli::mpi {

/// What every rank reads for itself from the same command line: the grid must lie where all can read it.
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

/// All of rank 0: reads the grid, opens the file, runs a Master. The other ranks are left waiting for Tag::Stop, also by what it throws.
[[nodiscard]] sweep::SweepSummary run_master(Mail& mail, const SweepArguments& arguments,
                                             Clock::duration patience, const std::atomic<bool>& stop,
                                             std::function<void(const sweep::Progress&)> progress);

/// A rank that evaluates what rank 0 sends, until that says stop; then it ends the process. What is wrong with the sweep is for rank 0
/// to say. The exit status is 3 if rank 0 is gone, or silent for several times `patience`.
[[noreturn]] void run_worker(Mail& mail, const SweepArguments& arguments, Clock::duration patience);

}  // namespace pipeloom::cli::mpi
