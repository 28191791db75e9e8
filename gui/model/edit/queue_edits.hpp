#pragma once

// A schedule's queues while they are edited: the schedule as it was, and copies of those queues that differ from it. Every edit is one
// stretch of one queue replaced by another, so that undoing costs as much as the edit, and not a whole schedule.
//
// Positions count a queue's entries from 0, as Move of sim/analysis/hang.hpp does; an overlapped group is one entry. Ops are named: an index
// into the schedule's ops would change with every edit.

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>

namespace pipeloom::gui {

/// The queues at one time: cheap to copy, safe to hand to a job.
struct QueueSnapshot {
  std::shared_ptr<const Schedule> base;
  /// By rank: the queues that differ, with their `joined` bits.
  std::map<int, std::shared_ptr<const std::vector<Op>>> queues;

  [[nodiscard]] std::span<const Op> queue(Rank rank) const;
  /// O(ops).
  [[nodiscard]] Schedule build() const;
};

/// A queue as one line: "0F0 0F1+ 0B0", where + joins an op and the next one in a group, and a comma joins ops that run one after the other.
[[nodiscard]] std::string queue_line(std::span<const Op> queue);
/// Throws InputError for a word that is no op.
[[nodiscard]] std::vector<Op> parse_queue_line(std::string_view line);

/// One entry of a queue.
struct QueueEntry {
  std::size_t position = 0;  ///< among the queue's entries
  std::size_t first = 0;     ///< ops [first, last) of the queue
  std::size_t last = 0;
  [[nodiscard]] std::size_t count() const { return last - first; }
  friend bool operator==(const QueueEntry&, const QueueEntry&) = default;
};

class QueueEdits {
 public:
  /// REQUIRES: `base` is not null.
  explicit QueueEdits(std::shared_ptr<const Schedule> base);

  [[nodiscard]] const QueueSnapshot& snapshot() const { return now_; }
  [[nodiscard]] std::span<const Op> queue(Rank rank) const { return now_.queue(rank); }
  /// The entry that holds an op; no value if the rank's queue has none. O(queue).
  [[nodiscard]] std::optional<QueueEntry> find(Rank rank, Op op) const;
  /// Returns nullopt past the end. O(queue).
  [[nodiscard]] std::optional<QueueEntry> entry_at(Rank rank, std::size_t position) const;
  [[nodiscard]] std::size_t num_entries(Rank rank) const;

  // The edits. Each throws InputError, and changes nothing, where it cannot be done: it names the rank and the allowed values.
  // validate() checks that the schedule still runs afterwards.

  /// Puts the entry of `op` at `position`, its place after the edit. The entries between move up by one.
  void move(Rank rank, Op op, std::size_t position);
  /// Takes a W out of its queue, alone or out of its group.
  void remove_weight(Rank rank, Op op);
  /// Puts a W before the entry at `position`; the number of entries puts it at the end. REQUIRES: no queue has it.
  void insert_weight(Rank rank, Op op, std::size_t position);
  /// Every op of the group becomes an entry of its own, in the group's order.
  void split(Rank rank, Op op);
  /// Joins the entry of `op` and the next one in one overlapped group; forwards come first, as everywhere.
  void join_next(Rank rank, Op op);

  /// The whole queue in another order, as it was kept; W may be missing. Throws InputError for an op that the queue had not, or had once.
  void take_queue(Rank rank, const std::vector<Op>& queue);

  /// The W that remove_weight() took out and that no queue has now, with their ranks, in order of removal. O(edits).
  [[nodiscard]] std::vector<std::pair<Rank, Op>> removed_weights() const;

  [[nodiscard]] bool can_undo() const { return done_ > 0; }
  [[nodiscard]] bool can_redo() const { return done_ < edits_.size(); }
  void undo();
  void redo();
  [[nodiscard]] std::size_t num_edits() const { return done_; }
  /// "move 0F7 on rank 0 from 7 to 5": the edit that undo() would take back, "" if none.
  [[nodiscard]] std::string last_edit() const;

 private:
  struct Edit {
    Rank rank;
    std::size_t at = 0;  ///< index among the queue's ops
    std::vector<Op> before;
    std::vector<Op> after;
    std::string what;
  };
  [[nodiscard]] QueueEntry require(Rank rank, Op op) const;
  [[nodiscard]] std::size_t op_index(Rank rank, std::size_t position) const;
  void apply(Edit edit);
  void replace(Rank rank, std::size_t at, std::size_t count, const std::vector<Op>& with);

  QueueSnapshot now_;
  std::vector<Edit> edits_;  ///< [0, done_) are in the queues, the others were undone
  std::size_t done_ = 0;
};

}  // namespace pipeloom::gui
