#pragma once

// The outcome of a point, and the lines of a piece of points: evaluators hand them to the writer.

#include <cstdint>
#include <string>
#include <vector>

#include "study/run/run_status.hpp"

namespace pipeloom::sweep {

using study::Status;

/// Outcome of one point. Reused between calls.
struct Outcome {
  Status status = Status::Ok;
  /// Value texts as the report writes them, kNoValue where a point has none, parallel to the metrics asked for; empty unless status is Ok or OverMemory.
  std::vector<std::string> metrics;
  /// The error of OverMemory, Illegal, Hang and Failed: one line, as Error::line() where it is one ("file:line:column: error: ...").
  std::string error;
};

/// Counts per status, for progress and the summary.
struct Counts {
  std::uint64_t ok = 0;
  std::uint64_t illegal = 0;
  std::uint64_t hang = 0;
  std::uint64_t over_memory = 0;
  std::uint64_t failed = 0;
  void add(Status status);
  void add(const Counts& other);
  [[nodiscard]] std::uint64_t total() const { return ok + illegal + hang + over_memory + failed; }
};

/// Lines of a piece.
struct PieceText {
  std::string lines;
  Counts counts;
  std::uint64_t end_point =
      0;                 ///< one above the last point of the grid that was looked at, other shards' included
  bool complete = true;  ///< false if `stop` cut it short: nothing may be written after it
};

}  // namespace pipeloom::sweep
