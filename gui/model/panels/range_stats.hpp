#pragma once

// The work of every rank in a stretch of time: busy by kind, idle by cause.

#include <array>
#include <cstdint>
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
  /// here too, though not in `busy`: they run in parallel with it.
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

/// O(steps log ops).
[[nodiscard]] RankRange range_of(const RunModel& run, Rank rank, Ticks from, Ticks to);

/// The measured range of the active run: [rank], made again when run or range change.
class RangeStats : public Part {
 public:
  explicit RangeStats(Session&) {}
  /// Null while nothing is measured.
  [[nodiscard]] const std::vector<RankRange>* of_range(Session& session);
  /// The sum over all ranks of the last result of of_range().
  [[nodiscard]] const RangeTotal& total() const { return total_; }
  [[nodiscard]] std::string_view state_key() const override { return "statistics"; }
  /// Writes the measured range: [{"busy": 1.0, "idle": 2.5, "ops": 3, "warmup": ...}], by rank, in the run's unit; null without one.
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  std::uint64_t run_ = 0;
  std::optional<MeasuredRange> range_;
  std::vector<RankRange> ranks_;
  RangeTotal total_;
};

/// A line per rank with tabs, heading first: rank, busy, a column per kind of the schedule, idle, a column per cause, ops.
[[nodiscard]] std::string to_text(const RunModel& run, const std::vector<RankRange>& ranks);

}  // namespace pipeloom::gui
