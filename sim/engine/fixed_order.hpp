#pragma once

// The same schedule under other costs: a branch-free pass over a fixed topological order.
//
// Built once per schedule (the cursor engine proves that it does not hang and gives the order), evaluated many times: by
// planners, sweeps over cost axes, confidence bands. Records are sorted by dependency level, so that neighbours are
// independent and the processor overlaps them.
//
//   end[i] = max(end[previous[i]], end[producer[i]] + delay[cost[i]]) + duration[cost[i]]
//
// An entry that waits for several tensors (an overlapped group) is a chain of records, the earlier ones without duration.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/engine/simulator.hpp"

namespace pipeloom {

class FixedOrder {
 public:
  /// Throws ScheduleError if the schedule hangs, InputError beyond 2^32 - 1 records. Keeps no reference to it. `per_op`: for costs with
  /// Costs::per_op too, which takes 4 bytes more per record.
  /// REQUIRES: no structural errors (validate_structure), not extended (Schedule::is_extended).
  explicit FixedOrder(const Schedule& schedule, bool per_op = false);

  /// True if an order made with or without `per_op` can be run under these costs: no microbatch_scale unless per_op overrides
  /// it, no Sequential overlap, no rank_time. REQUIRES for all functions below: it can; costs fit the schedule; durations and delays are never
  /// negative.
  [[nodiscard]] static bool supports(const Costs& costs, bool per_op = false);

  [[nodiscard]] std::size_t num_records() const { return records_.size(); }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// A record of the order, for engines of their own: an entry, or one of the ops of a group whose tensors it waits for. Positions:
  /// 0 .. ranks - 1 are the ranks' ready times, `ranks` is long ago, record i is ranks + 1 + i.
  struct Step {
    std::uint32_t previous = 0;  ///< position of the record before it on its rank
    std::uint32_t producer = 0;  ///< position of the producer of its tensor
    std::uint32_t row =
        0;  ///< records of one row have the same delay and, but for single ops' costs, the same duration
    OpKind kind = OpKind::Forward;
    Slot slot;                 ///< of the op that waits
    std::size_t first_op = 0;  ///< of the entry
    bool ends_entry = false;   ///< the entry's duration counts here
  };
  /// REQUIRES: made with per_op.
  [[nodiscard]] Step step(std::size_t record) const;
  /// Position of the last record of each rank, [rank].
  [[nodiscard]] std::span<const std::uint32_t> last_of_rank() const { return last_of_rank_; }

  /// Makespan under these costs. `last_end`, if given, receives the last end of every rank, [rank]. `scratch` keeps its
  /// memory between calls: 8 bytes per record.
  [[nodiscard]] Ticks makespan(const Costs& costs, std::vector<Ticks>& scratch,
                               std::vector<Ticks>* last_end = nullptr) const;

  /// Writes the totals that Simulator::evaluate() gives for these costs, except peaks: those do not depend on time and are left alone. `scratch` as
  /// above.
  void totals(const Costs& costs, std::vector<Ticks>& scratch, Totals& out) const;
  /// Bytes of memory that this object takes.
  [[nodiscard]] std::size_t bytes() const;

  /// Scenarios evaluated together by makespans().
  static constexpr std::size_t kLanes = 4;

  /// out[i] = makespan(costs[i]), kLanes scenarios per pass: the order is read once for all of them.
  /// REQUIRES: out.size() == costs.size().
  void makespans(std::span<const Costs> costs, std::span<Ticks> out, std::vector<Ticks>& scratch) const;

 private:
  /// Positions in end[]: 0 .. p-1 are the ranks' ready times, p is "long ago", records follow.
  struct Record {
    std::uint32_t previous = 0;
    std::uint32_t producer = 0;
    std::uint32_t cost = 0;
  };
  /// The values of the cost tables that a record uses: its duration and the delay of its tensor.
  struct CostRow {
    OpKind kind = OpKind::BackwardWeight;
    Slot slot;                       // of the op that waits for the tensor
    std::vector<Costs::Part> parts;  // of the entry; empty: no duration
    friend bool operator<(const CostRow& a, const CostRow& b) {
      return std::tie(a.kind, a.slot, a.parts) < std::tie(b.kind, b.slot, b.parts);
    }
  };
  class Builder;
  /// A CostRow in ticks, [lane].
  template <std::size_t kCount>
  struct RowTimes {
    std::array<Ticks, kCount> delay;
    std::array<Ticks, kCount> duration = {};
  };

  template <std::size_t kCount>
  void run(std::span<const Costs* const, kCount> costs, std::vector<Ticks>& end) const;
  template <bool kPerOp, std::size_t kCount>
  void run_records(std::span<const Costs* const, kCount> costs, std::vector<Ticks>& end) const;
  template <bool kPerOp, std::size_t kCount>
  [[gnu::noinline]] void follow_records(std::span<const Costs* const, kCount> costs,
                                        const RowTimes<kCount>* table, Ticks* ends) const;
  [[nodiscard]] Ticks duration_of(std::size_t record, const Costs& costs) const;

  int ranks_ = 0;
  std::vector<Record> records_;
  std::vector<CostRow> rows_;
  std::vector<std::uint32_t>
      first_op_;  // of the entry whose duration a record gives, [record]; empty unless per_op
  std::vector<std::uint32_t> first_of_rank_;  // position of the last record of the rank's first entry, [rank]
  std::vector<std::uint32_t> last_of_rank_;   // position of the rank's last record, [rank]
  // All entries whose duration a row gives are on one rank: that of their slots.
  std::vector<Rank> rank_of_row_;
  std::vector<std::int64_t> uses_of_row_;
};

// An order of all entries in which each comes after those that it waits for.

/// First ops of all entries by start time when every op takes one tick: neighbours rarely depend on each other. Takes one
/// evaluation and a counting sort. Throws HangError if the schedule hangs. REQUIRES: no structural errors, fewer than 2^32 ops.
[[nodiscard]] std::vector<std::uint32_t> entries_by_level(const Schedule& schedule);

}  // namespace pipeloom
