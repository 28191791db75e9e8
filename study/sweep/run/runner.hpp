#pragma once

// Runs a grid into a file that is a prefix of the whole result at any moment.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/run/make_schedule.hpp"
#include "study/sweep/grid/grid.hpp"
#include "study/sweep/result/result.hpp"
#include "study/sweep/result/result_file.hpp"
#include "study/sweep/run/piece.hpp"

namespace pipeloom::sweep {

struct Progress {
  std::uint64_t done =
      0;  ///< points of the grid that are done, in order; those of other shards and of earlier runs included
  std::uint64_t total = 0;    ///< points of the grid
  std::uint64_t resumed = 0;  ///< of `done`, those that an earlier run passed
  double seconds = 0;         ///< since the first piece was handed out
  Counts counts;              ///< of lines written by this run
};

struct SweepOptions {
  std::string out;  ///< file, or "-"
  ResultFormat format = ResultFormat::JsonLines;
  int threads = 0;  ///< 0: as many as the process may use
  Existing existing = Existing::Refuse;
  std::optional<Shard> shard;
  std::vector<std::string> metrics;  ///< empty: the grid's, else default_metrics()
  Limits limits;
  /// About ten times a second, from the thread that called run_sweep(); may be empty.
  std::function<void(const Progress&)> progress;
  /// Set by a signal: every worker ends after its current point, pieces that are next in order are written, run_sweep() returns.
  const std::atomic<bool>* stop = nullptr;
};

struct SweepSummary {
  std::uint64_t points = 0;   ///< of the grid
  std::uint64_t lines = 0;    ///< in the file now
  std::uint64_t resumed = 0;  ///< of these, those that were there before
  std::uint64_t dropped = 0;  ///< bytes of the file that --resume cut off
  std::uint64_t reached = 0;  ///< points of the grid that are done; less than `points` if it was stopped
  Counts counts;              ///< of this run
  bool stopped = false;
  double seconds = 0;
};

/// Metrics that a sweep reports: the options', else the grid's, else default_metrics() and, with scenarios, theirs. Throws InputError for unknown names, those
/// given twice, metrics of scenarios that there are none of, and scenarios that no metric is of.
[[nodiscard]] std::vector<std::string> metrics_of(const Grid& grid, const std::vector<std::string>& asked);

/// Processors that this process may use, at least 1.
[[nodiscard]] int usable_processors();

/// Threads take pieces in grid order from one counter, so that none is idle while there is one; finished text that has to wait for an
/// earlier piece is bounded (kMaxWaitingBytes), so memory does not depend on the number of points. The calling thread writes.
///
/// fsync: once a second and at the end, not per line: a crash of the process loses nothing that was written, a crash of the machine at
/// most about a second of results, and --resume drops torn lines.
///
/// Throws InputError and SystemError as ResultFile does; SystemError too if memory runs out. Errors of a worker pass: the file then
/// holds a prefix of the result, and --resume goes on.
SweepSummary run_sweep(const Grid& grid, const SweepOptions& options);

inline constexpr std::size_t kMaxWaitingBytes = std::size_t{32} << 20;

}  // namespace pipeloom::sweep
