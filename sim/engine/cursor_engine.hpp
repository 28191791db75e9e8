#pragma once

// The inside of Simulator: the cursor loop and its tables. Not for users; see sim/engine/simulator.hpp.
//
// A tensor lives from its producer's end until its one consumer takes it, so few are under way at a time. The cells of one
// tensor row (a stage's outputs, or its gradients) form a ring indexed by microbatch modulo the ring's length, and each cell names the
// microbatch it holds. In steady state everything that the loop touches, other than the queue and the times, fits the first-level cache.
// A producer that finds its cell still taken waits for space. When no other rank can go on, those whose cells are free by then go on; if they are
// few, the rings are too short for this order, double, and the run continues. A ring of m cells always suffices, so that a rank that waits at
// the end waits for a tensor. 1F1B on p ranks runs without such waits in rings of p cells, but 16 do for 512 ranks, where rings of 512 would
// fill 8.4 MB and take twice as long.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/engine/entry_times.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"

namespace pipeloom {

class CursorEngine {
  struct Cell;

 public:
  /// Where op times go, null where they are not asked for, and the source of the entries' durations.
  struct Times {
    Ticks* start = nullptr;
    Ticks* end = nullptr;
    const EntryTimes* entry_times = nullptr;  // null: the costs' durations
  };

  /// A rank between two visits. The fields that every visit touches fill one cache line.
  struct alignas(64) Cursor {
    std::size_t next = 0;
    std::size_t end = 0;
    const Cell* waits_for = nullptr;  // a tensor's
    Ticks clock = 0;
    Ticks busy = 0;
    Ticks first_start = kNotStarted;
    std::int32_t live = 0;
    std::int32_t peak_live = 0;
    Ticks copy_clock = 0;  // when the rank's copy stream is free
    Bytes held = 0;
    Bytes peak_held = 0;
    Ticks after = 0;  // of the last entry's lane times: `clock` is that much after its end
  };
  static constexpr Ticks kNotStarted = -1;

  /// Lengths of rings. Tests set them to see ranks wait for space.
  struct Rings {
    std::size_t first = 16;  ///< cells of a ring to begin with; a power of two
    /// Cells that rings may grow to before any rank waits for space: a quarter of a second-level cache of 1 MB, the rest of which
    /// cursors, actions, queues and times share.
    std::size_t cheap_cells = std::size_t{1} << 14;
  };

  CursorEngine() = default;
  explicit CursorEngine(const Rings& rings) : rings_(rings) {}

  /// `stop` is asked before a run, before its rings grow, and now and then while entries have groups, copies or times of their own: true ends the run with
  /// Stopped. Null: never.
  void set_stop(const std::function<bool()>* stop) { stop_ = stop; }

  /// Runs every rank as far as it goes. Returns the number of ops run.
  std::size_t run(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                  const std::vector<Ticks>& ready, Times times);

  [[nodiscard]] const std::vector<Cursor>& cursors() const { return cursors_; }
  /// Ranks that wait before the end of their queue.
  [[nodiscard]] std::vector<Wait> waits(const Schedule& schedule) const;
  /// Cells of a ring at the end of the last run.
  [[nodiscard]] std::size_t ring() const { return ring_mask_ + 1; }

 private:
  static constexpr std::int32_t kEmpty = -1;
  static constexpr std::int8_t kNotShared = -1;

  /// The end of a tensor's producer, until the consumer takes it.
  struct Cell {
    Ticks produced = 0;
    std::int32_t microbatch = kEmpty;  // or unit, where microbatches are sliced
  };

  /// Constants of the ops of one kind on one slot; one cache line. Ops without input read, and ops without
  /// output write, a row of their own that no other op uses, so that the loop need not ask.
  struct alignas(64) Action {
    Cell* input_ring = nullptr;  // first cell
    Cell* output_ring = nullptr;
    Ticks duration = 0;
    Ticks delay = 0;             // from the producer's end to the tensor's arrival
    Bytes bytes_taken = 0;       // at the start
    Bytes bytes_given = 0;       // at the end
    Cursor* consumer = nullptr;  // of the rank that takes the output
    std::int8_t live_taken = 0;
    std::int8_t live_given = 0;
    bool needs_input = false;
    bool has_output = false;
    std::int8_t shared_input = kNotShared;  // TensorIndex::shared_row; its tensors have no ring
    std::int8_t shared_output = kNotShared;
  };

  /// A rank that waits before an op whose output finds its cell taken.
  struct SpaceWait {
    const Cell* cell = nullptr;
    Cursor* cursor = nullptr;
  };

  void prepare_actions(const Schedule& schedule, const Costs& costs, const MemoryModel& memory);
  void prepare_cursors(const Schedule& schedule, const std::vector<Ticks>& ready);
  void prepare_cells(const Schedule& schedule);
  void find_bytes_per_live(const Schedule& schedule, const MemoryModel& memory);
  void prepare_extras(const Schedule& schedule, const MemoryModel& memory);
  void run_all(const Schedule& schedule, const Costs& costs, Times times);
  void run_runnable(const Schedule& schedule, const Costs& costs, Times times);
  template <bool kExtended>
  void run_visits(const Schedule& schedule, const Costs& costs, Times times);
  void end_if_stopped() const;
  bool find_space();
  void wake_where_space();
  void double_rings();
  void wait_for_space(const Cell& cell, Cursor& cursor) {
    space_waits_[num_space_waits_++] = {&cell, &cursor};
  }
  template <bool kTimes, bool kBytes, bool kReplicas, bool kPerOp>
  [[gnu::noinline]] void run_plain(const Schedule& schedule, Times times, const Ticks* per_op);
  void note_first_start(const Schedule& schedule, Cursor& cursor) const;
  template <bool kExtended>
  void run_general(const Schedule& schedule, const Costs& costs, Cursor& cursor, Times times);
  void run_copy(const Schedule& schedule, const Costs& costs, Cursor& cursor, Times times);
  template <bool kExtended>
  void account_entry(const Schedule& schedule, std::size_t first, std::size_t last, Span entry,
                     Cursor& cursor);
  [[nodiscard]] Ticks end_of_entry(const Schedule& schedule, const Costs& costs, const Cursor& cursor,
                                   std::size_t last, Ticks start, const EntryTimes* entry_times);
  void finish_entry(const Schedule& schedule, const Costs& costs, std::size_t first, std::size_t last,
                    Span entry, Ticks after, Times times);
  void publish(const Action& action, std::int32_t unit, Ticks end);
  void publish_part(std::size_t cell, std::int32_t unit, Ticks end);
  void prepare_shared(const Schedule& schedule);

  /// The cell that an op of a unit waits for. Shared tensors are there for others too when one has read them.
  [[nodiscard]] const Cell& input_of(const Action& action, std::int32_t unit) const {
    return action.shared_input == kNotShared ? action.input_ring[place_of(unit)]
                                             : shared_cells_[shared_place(action.shared_input, unit)];
  }
  [[nodiscard]] std::size_t shared_place(std::int8_t row, std::int32_t unit) const {
    return static_cast<std::size_t>(row) * shared_units_ + static_cast<std::size_t>(unit);
  }
  [[nodiscard]] bool is_there(const Schedule& schedule, Op op) const;
  [[nodiscard]] std::size_t place_of(std::int32_t unit) const {
    return static_cast<std::size_t>(unit) & ring_mask_;
  }
  [[nodiscard]] static std::int32_t unit_of(const Schedule& schedule, Op op) {
    return static_cast<std::int32_t>(schedule.unit_of(op));
  }
  /// Position in reload_end_.
  [[nodiscard]] static std::size_t pass_of(const Schedule& schedule, Op op) {
    return op.stage().at() * static_cast<std::size_t>(schedule.units()) + schedule.unit_of(op);
  }

  /// F, B, I and W of a slot lie side by side, so that plain schedules touch few cache lines; R, O and L come after all of them.
  static constexpr std::size_t kPlainKinds = 4;
  static_assert([] {
    for (const KindRow& row : kKinds)
      if (row.extra != (index_of(row.kind) >= kPlainKinds)) return false;
    return true;
  }());
  [[nodiscard]] std::size_t position_of(OpKind kind, std::size_t slot) const {
    const std::size_t k = index_of(kind);
    return k < kPlainKinds ? slot * kPlainKinds + k
                           : extras_begin_ + slot * (kOpKinds - kPlainKinds) + (k - kPlainKinds);
  }
  [[nodiscard]] const Action& action_of(const Schedule& schedule, Op op) const {
    return actions_[position_of(op.kind(), schedule.slot_of(op).at())];
  }

  std::vector<Action> actions_;    // [position_of(kind, slot)]
  std::size_t extras_begin_ = 0;   // of R, O and L in actions_
  std::vector<Cell> cells_;        // [row * ring + microbatch % ring]
  std::vector<Cursor> cursors_;    // [rank]
  std::vector<Cursor*> runnable_;  // a stack; a rank is on it at most once, so p places suffice
  std::size_t num_runnable_ = 0;
  std::vector<SpaceWait> space_waits_;  // a rank is there at most once, too
  std::size_t num_space_waits_ = 0;
  Rings rings_;
  std::size_t num_rows_ = 0;   // of cells_
  std::size_t ring_mask_ = 0;  // a ring has ring_mask_ + 1 cells, a power of two
  bool cells_are_clean_ = false;
  const std::function<bool()>* stop_ = nullptr;
  bool bytes_follow_live_ = false;  // every activation has the same size and goes at once
  Bytes bytes_per_live_ = 0;
  std::vector<Ticks> turn_ends_;  // of the parts of the group that runs, Sequential overlap only
  // Only for extended schedules (Schedule::is_extended).
  std::optional<ActivationEffects> effects_;
  std::vector<Ticks> reload_end_;             // [stage * units + unit]; empty without copies
  std::vector<PeakWithCopies> copied_peaks_;  // [rank]; empty without copies
  std::vector<Cell> shared_cells_;         // [shared * units + unit]; empty where no output layer is shared
  std::vector<std::int32_t> shared_left_;  // parts that are missing, as shared_cells_
  std::size_t shared_units_ = 0;
};

}  // namespace pipeloom
