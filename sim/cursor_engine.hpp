#pragma once

// The inside of Simulator: the cursor loop and its tables. Not for users; see sim/simulator.hpp.
//
// A tensor lives from its producer's end until its one consumer takes it, so few are under way at a time. The cells of one
// tensor row (a stage's outputs, or its gradients) form a ring indexed by microbatch modulo the ring's length, and each cell names the
// microbatch it holds. In steady state everything that the loop touches besides the queue and the times fits the first-level cache.
// If a producer finds its cell still taken, the ring is too short for this order: the run starts again with a longer one. A ring of m cells always
// suffices.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/costs.hpp"
#include "sim/memory.hpp"
#include "sim/schedule.hpp"
#include "sim/timeline.hpp"
#include "sim/wait_for.hpp"

namespace pipeloom {

class CursorEngine {
 public:
  /// Where op times go; null when nobody wants them.
  struct Times {
    Ticks* start = nullptr;
    Ticks* end = nullptr;
  };

  /// A rank between two visits.
  struct alignas(64) Cursor {
    std::size_t next = 0;
    std::size_t end = 0;
    std::size_t waits_for = kNotWaiting;  // a cell
    Ticks clock = 0;
    Ticks busy = 0;
    Bytes held = 0;
    Bytes peak_held = 0;
    std::int32_t live = 0;
    std::int32_t peak_live = 0;
    Ticks first_start = kNotStarted;
    Ticks copy_clock = 0;  // when the rank's copy stream is free
  };
  static constexpr Ticks kNotStarted = -1;

  /// Runs every rank as far as it goes. Returns the number of ops run.
  std::size_t run(const Schedule& schedule, const Costs& costs, const MemoryModel& memory,
                  const std::vector<Ticks>& ready, Times times);

  [[nodiscard]] const std::vector<Cursor>& cursors() const { return cursors_; }
  /// Ranks that stand still before the end of their queue.
  [[nodiscard]] std::vector<Wait> waits(const Schedule& schedule) const;

 private:
  static constexpr std::size_t kNotWaiting = std::numeric_limits<std::size_t>::max();

  static constexpr std::int32_t kEmpty = -1;

  /// The end of a tensor's producer, until the consumer takes it.
  struct Cell {
    Ticks produced = 0;
    std::int32_t microbatch = kEmpty;  // or unit, where microbatches are sliced
  };

  /// What the loop must know about the ops of one kind on one slot; one cache line. Ops without input read, and ops without
  /// output write, a row of their own that nobody else uses, so that the loop need not ask.
  struct alignas(64) Action {
    std::size_t input_ring = 0;  // first cell
    std::size_t output_ring = 0;
    Ticks duration = 0;
    Ticks delay = 0;            // from the producer's end to the tensor's arrival
    Bytes bytes_taken = 0;      // at the start
    Bytes bytes_given = 0;      // at the end
    std::int32_t consumer = 0;  // rank that takes the output
    std::int8_t live_taken = 0;
    std::int8_t live_given = 0;
    bool needs_input = false;
    bool has_output = false;
  };

  /// What one visit to a rank ended with.
  enum class Stop : std::uint8_t { Blocked, RingTooShort };

  void prepare_actions(const Schedule& schedule, const Costs& costs, const MemoryModel& memory);
  void prepare_cursors(const Schedule& schedule, const std::vector<Ticks>& ready);
  void clear_cells(std::size_t rows, std::size_t ring);
  void find_bytes_per_live(const Schedule& schedule, const MemoryModel& memory);
  void prepare_extras(const Schedule& schedule, const MemoryModel& memory);
  bool run_all(const Schedule& schedule, const Costs& costs, Times times);
  template <bool kTimes, bool kBytes, bool kReplicas>
  Stop run_plain(const Schedule& schedule, Times times);
  void note_first_start(const Schedule& schedule, Cursor& cursor) const;
  Stop run_general(const Schedule& schedule, const Costs& costs, Cursor& cursor, Times times);
  void run_copy(const Schedule& schedule, const Costs& costs, Cursor& cursor, Times times);
  void account_entry(const Schedule& schedule, std::size_t first, std::size_t last, Span entry,
                     Cursor& cursor);
  bool finish_entry(const Schedule& schedule, const Costs& costs, std::size_t first, std::size_t last,
                    Span entry, Times times);
  bool publish(const Action& action, std::int32_t unit, Ticks end);

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

  /// F, B, I and W of a slot lie side by side, so that plain schedules touch few cache lines; R, O and L come behind all of them.
  static constexpr std::size_t kPlainKinds = 4;
  [[nodiscard]] std::size_t position_of(OpKind kind, std::size_t slot) const {
    const std::size_t k = index_of(kind);
    return k < kPlainKinds ? slot * kPlainKinds + k
                           : extras_begin_ + slot * (kOpKinds - kPlainKinds) + (k - kPlainKinds);
  }
  [[nodiscard]] const Action& action_of(const Schedule& schedule, Op op) const {
    return actions_[position_of(op.kind(), schedule.slot_of(op).at())];
  }

  std::vector<Action> actions_;         // [position_of(kind, slot)]
  std::size_t extras_begin_ = 0;        // of R, O and L in actions_
  std::vector<Cell> cells_;             // [row * ring + microbatch % ring]
  std::vector<Cursor> cursors_;         // [rank]
  std::vector<std::int32_t> runnable_;  // a stack; a rank is on it at most once, so p places suffice
  std::size_t num_runnable_ = 0;
  std::size_t num_rows_ = 0;   // of cells_
  std::size_t ring_mask_ = 0;  // a ring has ring_mask_ + 1 cells, a power of two
  bool cells_are_clean_ = false;
  bool bytes_follow_live_ = false;  // every activation has the same size and goes at once
  Bytes bytes_per_live_ = 0;
  // Only for extended schedules (Schedule::is_extended).
  std::optional<ActivationEffects> effects_;
  std::vector<Ticks> reload_end_;             // [stage * units + unit]; empty without copies
  std::vector<PeakWithCopies> copied_peaks_;  // [rank]; empty without copies
};

}  // namespace pipeloom
