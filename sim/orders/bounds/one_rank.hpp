#pragma once

// A lower bound on the end of one rank, whatever the others do.

#include <queue>
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
  /// The least possible max of end + tail. O(n log n). REQUIRES: at least one job. Sorts `jobs`.
  [[nodiscard]] Ticks bound(std::vector<Job>& jobs);

 private:
  struct Waiting {
    Ticks tail = 0;
    Ticks left = 0;
    friend bool operator<(const Waiting& a, const Waiting& b) { return a.tail < b.tail; }
  };
  std::priority_queue<Waiting> waiting_;
};

}  // namespace pipeloom::orders
