#pragma once

// What every rank did in a stretch of time: busy by kind, idle by cause.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "gui/model/session/session.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/tick_sum.hpp"

namespace pipeloom::gui {

/// One rank in [from, to). Exact: busy + idle is the part of [from, to) within the run.
struct RankRange {
  Ticks busy = 0;
  /// By index_of(kind). Ops of an overlapped group take equal parts of the group's time, the first ones the ticks left over. Copies are
  /// here too, though not in `busy`: they run beside it.
  std::array<Ticks, kOpKinds> busy_of{};
  Ticks idle = 0;
  /// `idle` of the first step by cause; later steps have no causes.
  IdleCauses idle_of;
  /// Work ops that overlap the stretch.
  std::size_t ops = 0;
  friend bool operator==(const RankRange&, const RankRange&) = default;
};

/// All ranks together; fields as above.
struct RangeTotal {
  TickSum busy;
  std::array<TickSum, kOpKinds> busy_of;
  TickSum idle;
  CauseSums idle_of;
  std::size_t ops = 0;
  void add(const RankRange& rank);
};

/// Sums over any stretch in O(steps log ops): sums up to every 64th op are kept, about one byte per op.
class RangeSums {
 public:
  /// O(ops).
  explicit RangeSums(RunPtr run);
  [[nodiscard]] RankRange of(Rank rank, Ticks from, Ticks to) const;
  [[nodiscard]] const RunModel& run() const { return *run_; }

 private:
  using KindSums = std::array<Ticks, kOpKinds>;
  /// Ops of a rank in one step that run one after another: its work, or its copies.
  struct Lane {
    std::size_t begin = 0;             // position of the rank's first op
    std::size_t size = 0;              // ops in the lane
    std::vector<std::uint32_t> order;  // [i] is where op i stands in the queue; empty: i itself
    std::vector<KindSums> before;      // [block]: of all ops in front of op 64 * block
    [[nodiscard]] std::size_t at(std::size_t i) const { return begin + (order.empty() ? i : order[i]); }
  };
  void fill(Lane& lane, int step, Rank rank, bool copies) const;
  [[nodiscard]] KindSums up_to(const Lane& lane, std::size_t i) const;
  [[nodiscard]] Ticks part_of_op(std::size_t position, Ticks from, Ticks to) const;
  std::size_t add(RankRange& out, const Lane& lane, Ticks from, Ticks to) const;
  [[nodiscard]] IdleCauses idle_up_to(std::size_t rank, std::size_t i) const;
  [[nodiscard]] IdleCauses idle_in(std::size_t rank, Ticks from, Ticks to) const;

  RunPtr run_;
  std::vector<Lane> work_;                            // [step * ranks + rank]
  std::vector<Lane> copies_;                          // the same; empty where there are none
  std::vector<std::vector<IdleCauses>> idle_before_;  // [rank][block]: of all gaps in front of gap 64 * block
};

/// The measured range of the active run: [rank], made again when run or range change.
class RangeStats : public Part {
 public:
  explicit RangeStats(Session&) {}
  /// Null while nothing is measured, or the sums of a large run are being made.
  [[nodiscard]] const std::vector<RankRange>* of_range(Session& session);
  /// The sum over all ranks of what of_range() gave last.
  [[nodiscard]] const RangeTotal& total() const { return total_; }
  [[nodiscard]] std::string_view state_key() const override { return "statistics"; }
  /// Of the measured range: [{"busy": 1.0, "idle": 2.5, "ops": 3, "warmup": ...}], by rank, in the run's unit; null without one.
  void write_state(const Session& session, io::JsonWriter& out) const override;
  bool update(Session& session) override;

 private:
  [[nodiscard]] const RangeSums* sums_of(Session& session, const RunPtr& run);

  std::shared_ptr<const RangeSums> sums_;
  std::uint64_t under_way_ = 0;
  std::uint64_t run_ = 0;
  std::optional<MeasuredRange> range_;
  std::vector<RankRange> ranks_;
  RangeTotal total_;
};

/// A line per rank with tabs, heading first: rank, busy, a column per kind of the schedule, idle, a column per cause, ops.
[[nodiscard]] std::string to_text(const RunModel& run, const std::vector<RankRange>& ranks);

}  // namespace pipeloom::gui
