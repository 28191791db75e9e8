#pragma once

// Runs a grid into a file that is a prefix of the whole result at any moment.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/make_schedule.hpp"
#include "study/sweep/grid.hpp"
#include "study/sweep/piece.hpp"
#include "study/sweep/result.hpp"

namespace pipeloom::sweep {

enum class ResultFormat : unsigned char { JsonLines, Csv };

struct Progress {
  std::uint64_t done = 0;   ///< points written, those of an earlier run included
  std::uint64_t total = 0;  ///< of this shard where that is known, else of the grid
  std::uint64_t resumed = 0;
  double seconds = 0;  ///< since this run began
  Counts counts;
};

struct SweepOptions {
  std::string out;  ///< file, or "-"
  ResultFormat format = ResultFormat::JsonLines;
  int threads = 0;  ///< 0: as many as the process may use
  bool resume = false;
  bool force = false;  ///< overwrite
  std::optional<Shard> shard;
  std::vector<std::string> metrics;  ///< empty: the grid's, else default_metrics()
  study::Limits limits;
  std::function<void(const Progress&)>
      progress;  ///< about ten times a second, from the writing thread; may be empty
  const std::atomic<bool>* stop =
      nullptr;  ///< set by a signal: finishes pieces under way, writes them, returns
};

struct SweepSummary {
  std::uint64_t points = 0;  ///< lines in the file now
  std::uint64_t resumed = 0;
  Counts counts;  ///< of this run
  bool stopped = false;
  double seconds = 0;
};

/// Throws InputError if the file exists (and neither resume nor force is set), belongs to another grid or version, or is locked by a
/// running sweep; SystemError (exit 3) if it cannot be written: what is on disk then is a prefix and --resume goes on.
///
/// fsync: once a second and at the end, not per line: a crash of the process loses nothing that was written, a crash of the machine at
/// most about a second of results, and what it tears --resume drops.
SweepSummary run_sweep(const Grid& grid, const SweepOptions& options);

}  // namespace pipeloom::sweep
