#pragma once

// What every rank did in a stretch of time: busy by kind, idle by cause.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/session.hpp"

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

/// Sums over any stretch in O(steps log ops): sums up to every 64th op are kept, about one byte per op.
class RangeSums {
 public:
  /// O(ops).
  explicit RangeSums(RunPtr run);
  [[nodiscard]] RankRange of(Rank rank, Ticks from, Ticks to) const;
  [[nodiscard]] const RunModel& run() const { return *run_; }

 private:
  using KindSums = std::array<Ticks, kOpKinds>;
  struct RankSums {
    std::vector<KindSums> ops;      // [block]: of all ops in front of op 64 * block of the rank's queue
    std::vector<IdleCauses> spans;  // [block]: of all gaps in front of gap 64 * block
  };
  void add_op(KindSums& sums, std::size_t position, Ticks from, Ticks to) const;
  void add_step(RankRange& out, Rank rank, int step, Ticks from, Ticks to) const;
  void add_idle(RankRange& out, Rank rank, Ticks from, Ticks to) const;

  RunPtr run_;
  std::vector<RankSums> sums_;  // [step * ranks + rank]; gaps in step 0 only
};

/// The measured range of the active run: [rank], made again when run or range change.
class RangeStats : public Part {
 public:
  explicit RangeStats(Session&) {}
  /// Null while nothing is measured, or the sums of a large run are being made.
  [[nodiscard]] const std::vector<RankRange>* of_range(Session& session);
  [[nodiscard]] std::string_view state_key() const override { return "range"; }
  /// {"start": "1.0", "end": "3.5", "length": "2.5", "ranks": [{"busy": ..., "idle": ...}]} in the run's unit, or null.
  [[nodiscard]] std::string state_json(const Session& session) const override;

 private:
  std::shared_ptr<const RangeSums> sums_;
  std::uint64_t under_way_ = 0;
  std::uint64_t run_ = 0;
  std::optional<MeasuredRange> range_;
  std::vector<RankRange> ranks_;
};

/// The difference between neighbouring marks, by time: marks.size() - 1 of them.
[[nodiscard]] std::vector<Ticks> mark_differences(const std::vector<Mark>& marks);
/// Adds a mark, keeps them in order of time. A mark at the same time gives way.
void add_mark(Session& session, Mark mark);

}  // namespace pipeloom::gui
