#pragma once

// From op to op: the ops that an op waits for, those that wait for it, its neighbours, and the op that ends a gap.
//
// Positions are those of OpRef: step * num_ops + op index. Every look-up stays within the step of its position.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "gui/model/session/session.hpp"
#include "sim/dependencies.hpp"
#include "sim/roots/root_causes.hpp"

namespace pipeloom::gui {

/// One end of a dependency, seen from an op.
struct Neighbour {
  std::size_t position = 0;  ///< the op at the other end
  DependencyKind link = DependencyKind::Queue;
  /// The time at which the later op's input is there: end of the earlier one, plus the transfer where costs are known.
  Ticks arrival = 0;
  /// A predecessor is binding if nothing else that the op's entry waited for came later.
  bool binding = false;
};

/// Dependencies of a schedule, with the times of a run of it. Answers take O(parts of a group).
///
/// REQUIRES: as Dependencies.
class OpWalk {
 public:
  static constexpr std::size_t kNone = Dependencies::kNone;

  /// O(ops).
  explicit OpWalk(std::shared_ptr<const Schedule> schedule);

  /// Op index; kNone if no queue has it.
  [[nodiscard]] std::size_t find(Op op) const { return dependencies_.find(op); }

  /// Everything that the op's entry waited for: the previous entry of work in the queue, for a copy the previous copy too, then
  /// the dependencies of the op, then those of the others in its group. Of a previous group the last op counts. Work does not wait for
  /// earlier copies.
  [[nodiscard]] std::vector<Neighbour> predecessors(const RunModel& run, std::size_t position) const;
  /// Everything that waits for the op: dependencies in order of their start, then the queue's next entry of its sort.
  [[nodiscard]] std::vector<Neighbour> successors(const RunModel& run, std::size_t position) const;

  /// The ops that `[` and `]` go to: the binding predecessor; of the successors the dependency that starts first, else the queue's. kNone at
  /// the ends.
  [[nodiscard]] std::size_t back(const RunModel& run, std::size_t position) const;
  [[nodiscard]] std::size_t forward(const RunModel& run, std::size_t position) const;

  /// All ops of a microbatch in one step, by start, then by position: positions. O(stages log stages).
  [[nodiscard]] std::vector<std::size_t> microbatch(const RunModel& run, Microbatch k, int step) const;

 private:
  [[nodiscard]] Ticks arrival(const RunModel& run, std::size_t base, std::size_t producer,
                              std::size_t consumer) const;

  std::shared_ptr<const Schedule> schedule_;
  Dependencies dependencies_;
};

// Without an index, O(log ops), or O(ops of the rank) for ops with copies between them.

[[nodiscard]] Op op_at(const RunModel& run, std::size_t position);
[[nodiscard]] int step_at(const RunModel& run, std::size_t position);
[[nodiscard]] Rank rank_at(const RunModel& run, std::size_t position);
/// The entry that holds the op, as positions [first, last).
[[nodiscard]] std::pair<std::size_t, std::size_t> entry_at(const RunModel& run, std::size_t position);
/// The next op of the rank's queue in the step; OpWalk::kNone at its end.
[[nodiscard]] std::size_t next_in_queue(const RunModel& run, std::size_t position);
[[nodiscard]] std::size_t previous_in_queue(const RunModel& run, std::size_t position);
/// The op of this rank that runs at `time`, or the nearest one; kNone if the rank has none.
[[nodiscard]] std::size_t op_near(const RunModel& run, Rank rank, Ticks time, int step = 0);
/// The first op of a rank of work (no copy) that starts at or after `time`; kNone if there is none.
[[nodiscard]] std::size_t first_op_from(const RunModel& run, Rank rank, Ticks time, int step = 0);

/// "2/0F7" or "0F7", or "2/(0F7;3B1)OVERLAP_F_B" for its first op. Throws InputError naming what is allowed. O(ops).
[[nodiscard]] std::size_t find_op(const RunModel& run, std::string_view text);
/// "2/3": gap 3 of rank 2. Throws InputError.
[[nodiscard]] GapRef find_gap(const RunModel& run, std::string_view text);
/// "2/0F7", as find_op reads it.
[[nodiscard]] std::string op_name(const RunModel& run, std::size_t position);

/// The cause of a gap of the first step.
struct GapCause {
  IdleSpan span;
  Rank rank;
  /// The op that the rank ran next; kNone: none is left.
  std::size_t before = OpWalk::kNone;
  /// The op that the next op's entry waited for longest, be it the reason or not; kNone: nothing but its own rank.
  std::size_t producer = OpWalk::kNone;
  DependencyKind link = DependencyKind::Queue;
  Ticks produced = 0;  ///< end of the producer
  Ticks arrival = 0;   ///< the same with its transfer
  /// The producer's result came after the gap began. False: a measured rank, or one that waits for messages in order, stood still for
  /// another reason.
  bool explains = false;
  /// By how much the producer may be faster until something else holds the op up; 0 where it does not help by itself.
  Ticks room = 0;
  /// The op that holds it up then; kNone: the rank itself is free no sooner.
  std::size_t next_producer = OpWalk::kNone;
};
[[nodiscard]] GapCause cause_of(const OpWalk& walk, const RunModel& run, const GapRef& gap);
/// One or two sentences: "Rank 3 waits for 2F0 of rank 2, which ends at 3.0 and arrives at 3.5. ...".
/// With its roots: the root causes of the chain of waits.
[[nodiscard]] std::string to_text(const GapCause& cause, const RunModel& run,
                                  std::span<const RootCause> roots = {});
/// The longest gap of a run, or of those that come after `after` in this order: length, then rank, then time. No value at the end.
[[nodiscard]] std::optional<GapRef> longest_gap(const RunModel& run, const std::optional<GapRef>& after = {});

/// The index of each run that needed one.
class OpWalks : public Part {
 public:
  explicit OpWalks(Session&) {}
  /// Runs `then` with the index: now if it is there or quickly made, else when a job has made it. Of several that wait, the last counts.
  void with(Session& session, const RunPtr& run, std::function<void(Session&, const OpWalk&)> then);
  /// Null until it is made; asks for it.
  [[nodiscard]] const OpWalk* find(Session& session, const RunPtr& run);
  bool update(Session& session) override;

 private:
  [[nodiscard]] const OpWalk* ready(std::uint64_t run) const;
  void make(Session& session, const RunPtr& run);

  std::vector<std::pair<std::uint64_t, std::shared_ptr<const OpWalk>>> made_;
  std::uint64_t under_way_ = 0;
  std::function<void(Session&, const OpWalk&)> then_;
};

/// Ops above which the index is made in a job.
inline constexpr std::size_t kWalkNow = 300'000;

}  // namespace pipeloom::gui
