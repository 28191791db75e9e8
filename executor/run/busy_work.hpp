#pragma once

// Work that takes given times and computes nothing: schedules under the simulator's own costs, on a real clock.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include <pipeloom/costs.hpp>
#include "executor/run/work.hpp"

namespace pipeloom::executor {

struct BusyOptions {
  std::size_t message_elements = 1;  ///< of every tensor between ranks
  /// Look at the clock for the last part of each op instead of sleeping: exact, but only where every rank has a core of its own.
  bool spin = false;
};

/// Time for which every op of a rank keeps it busy, by Op::key(): as long as its whole entry, or as itself under the rule Sequential.
[[nodiscard]] std::unordered_map<std::uint64_t, Ticks> busy_times(const Costs& costs,
                                                                  const Schedule& schedule, Rank rank);
/// The value of every element of an op's output: it tells producer and step, and is below 2^24, so that a float holds it.
[[nodiscard]] float busy_mark(Op op, int step);
/// The value of every element of the tensor that `op` takes from another stage. REQUIRES: it takes one.
[[nodiscard]] float busy_mark_of_input(Op op, int step);

/// Every op lasts as long as `costs` says, by the clock: ranks that outnumber the cores do not slow each other down. Each part of an
/// overlapped group lasts as long as the whole group, unless the rule is Sequential: run these with GroupRule::InTurn.
///
/// All elements of a tensor hold a number that tells its producer and step, so that a tensor at the wrong place is noticed: run() then throws
/// std::runtime_error.
class BusyWork : public Work {
 public:
  /// REQUIRES: the costs fit the schedule that is run; costs.unit is not the abstract one.
  explicit BusyWork(Costs costs, BusyOptions options = {});

  [[nodiscard]] std::size_t message_elements(const Schedule& schedule, Op producer) const override;
  [[nodiscard]] std::unique_ptr<RankWork> rank_work(const Schedule& schedule, Rank rank) override;

 private:
  Costs costs_;
  BusyOptions options_;
};

}  // namespace pipeloom::executor
