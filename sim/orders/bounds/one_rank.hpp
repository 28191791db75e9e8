#pragma once

// A lower bound on the end of one rank, whatever the others do.

#include <cstddef>
#include <queue>
#include <span>
#include <vector>

#include <pipeloom/units.hpp>

namespace pipeloom::orders {

/// The preemptive one-machine bound: each moment the job with the longest tail of those that could have started runs (Jackson 1955; Carlier
/// 1982, European Journal of Operational Research 11). Keeps its memory between calls.
class OneRank {
 public:
  struct Job {
    Ticks head = 0;  ///< earliest start
    Ticks work = 0;
    Ticks tail = 0;  ///< from its end to the end of all; may be negative
  };
  /// Jobs of equal work in a line: none has an earlier head than the one before, and none a longer tail.
  struct Line {
    std::span<const Ticks> heads;  ///< of job k at `step * k`
    std::span<const Ticks> tails;
    std::size_t step = 1;
    Ticks work = 0;
  };
  /// The least possible max of end + tail. O(n log n). REQUIRES: at least one job. Sorts `jobs`.
  [[nodiscard]] Ticks bound(std::vector<Job>& jobs);
  /// The same of jobs in lines, of which only the first that has not run can be the next. O(n * lines). REQUIRES: no line is empty.
  [[nodiscard]] Ticks bound(std::span<const Line> lines);

 private:
  struct Waiting {
    Ticks tail = 0;
    Ticks left = 0;
    friend bool operator<(const Waiting& a, const Waiting& b) { return a.tail < b.tail; }
  };
  /// The first job of a line that has not ended.
  struct First {
    Ticks head = 0;  ///< kMaxTicks where the line has ended
    Ticks tail = 0;
    Ticks left = 0;
    std::size_t at = 0;  ///< of its head in Line::heads
  };
  /// Goes to the next job of the line; false where there is none.
  static bool advance(const Line& line, First& first);

  std::priority_queue<Waiting> waiting_;
  std::vector<First> first_;  // [line]
};

}  // namespace pipeloom::orders
