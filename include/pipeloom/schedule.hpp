#pragma once

// The rank of each stage, and the order of every rank's ops. Nothing is reordered at run time.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/op.hpp>

namespace pipeloom {

/// An immutable map slot -> rank, slot = replica * stages() + stage.
///
/// A rank's stages are listed replica by replica, within a replica in model order, so
/// stages_of(r)[c] is the stage of chunk c when there is one replica.
class Placement {
 public:
  /// Stage s on rank s; S = p. (GPipe, 1F1B, zero bubble.)
  static Placement linear(int ranks);
  /// Stage s on rank s mod p; S = v p. (Megatron interleaving.)
  static Placement loop(int ranks, int chunks);
  /// Down and up again: chunk c of rank r is stage c p + r for even c, (c+1) p - 1 - r for odd c; S = v p.
  /// chunks = 2 is the V of ZB-V and DualPipeV; larger even numbers go down and up more often, as Hanayo does.
  static Placement wave(int ranks, int chunks);
  /// Two replicas in opposite directions: rank r holds stage r of replica 0 and stage p-1-r of
  /// replica 1; S = p. (DualPipe, Chimera.)
  static Placement bidirectional(int ranks);
  /// Any map. rank_of_slot[replica * stages + stage]; its size must be stages * replicas.
  /// A rank may hold no stage (validate() then reports it). Throws InputError if a rank is out of range.
  static Placement custom(int ranks, int stages, int replicas, std::vector<Rank> rank_of_slot);

  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int replicas() const { return replicas_; }
  [[nodiscard]] int slots() const { return stages_ * replicas_; }

  [[nodiscard]] Slot slot_of(Stage stage, Replica replica) const {
    return Slot(replica.value() * stages_ + stage.value());
  }
  [[nodiscard]] Stage stage_of(Slot slot) const { return Stage(slot.value() % stages_); }
  [[nodiscard]] Replica replica_of(Slot slot) const { return Replica(slot.value() / stages_); }
  [[nodiscard]] Rank rank_of(Slot slot) const { return rank_of_slot_[slot.at()]; }
  [[nodiscard]] Rank rank_of(Stage stage, Replica replica = Replica(0)) const {
    return rank_of(slot_of(stage, replica));
  }

  /// The rank's slots in the order described above.
  [[nodiscard]] std::span<const Slot> slots_of(Rank rank) const;
  /// The same as stages; a stage appears twice if both replicas put it on this rank.
  [[nodiscard]] std::vector<Stage> stages_of(Rank rank) const;
  /// Most stages of one replica on one rank: v for the regular placements.
  [[nodiscard]] int chunks() const;

  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  Placement(int ranks, int stages, int replicas, std::vector<Rank> rank_of_slot);

  int ranks_ = 0;
  int stages_ = 0;
  int replicas_ = 1;
  std::vector<Rank> rank_of_slot_;
  std::vector<Slot> slots_by_rank_;       // grouped by rank
  std::vector<std::int32_t> rank_begin_;  // slots_by_rank_[rank_begin_[r] .. rank_begin_[r+1])
};

/// Per-rank queues over one flat array.
///
/// An *entry* is one position of a queue: a single op, or a group of ops that run overlapped (all
/// but the last of a group are `joined`). Times, dependencies and counts of entries follow from this
/// array alone; `Schedule` holds no times.
///
/// A group of a forward and the backward of the same microbatch on the last stage cannot overlap and runs one op after
/// the other, as PyTorch runs it: it is two entries (the first op `in_turn`) that are written as one.
///
/// A Schedule only promises that every op's stage, microbatch and slice are in range. validate() checks that each op is
/// there once, on its rank and in a possible order.
class Schedule {
 public:
  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] int ranks() const { return placement_.ranks(); }
  [[nodiscard]] int stages() const { return placement_.stages(); }
  [[nodiscard]] int microbatches() const { return microbatches_; }
  /// n, the slices that every microbatch's sequence is cut into; 1 if it is not.
  [[nodiscard]] int slices() const { return slices_; }
  /// m n: the number of ops of each of F, B, I and W per stage. A unit is one slice of one microbatch.
  [[nodiscard]] int units() const { return microbatches_ * slices_; }
  /// k n + j for slice j of microbatch k: 0 .. units() - 1.
  [[nodiscard]] std::size_t unit_of(Op op) const {
    return op.microbatch().at() * static_cast<std::size_t>(slices_) + static_cast<std::size_t>(op.slice());
  }

  /// All ops, rank by rank in queue order. Op indices (`std::size_t`) everywhere refer to this array.
  [[nodiscard]] std::span<const Op> ops() const { return ops_; }
  [[nodiscard]] std::size_t num_ops() const { return ops_.size(); }
  [[nodiscard]] std::size_t num_entries() const { return num_entries_; }
  [[nodiscard]] bool has_groups() const { return num_entries_ != ops_.size(); }
  /// True if any op of this kind is in any queue. O(1).
  [[nodiscard]] bool contains(OpKind kind) const { return kinds_.has(kind); }
  [[nodiscard]] KindSet kinds() const { return kinds_; }
  /// True if there is no backward of any kind: an evaluation or inference pass, which keeps no activations.
  [[nodiscard]] bool is_forward_only() const { return kinds_ == KindSet{OpKind::Forward}; }
  /// True if there are ops other than the plain F, B, I, W of whole microbatches: R, O, L, S, T, or slices.
  [[nodiscard]] bool is_extended() const;
  /// True if there are O or L, which run beside the queue.
  [[nodiscard]] bool has_copies() const;
  /// True if there are S or T: an output layer that all stages share, each with one S and one T per microbatch. S waits for F of the last
  /// stage, T for the S of all stages.
  [[nodiscard]] bool shares_output() const;

  /// Op indices of rank r are queue_begin(r) .. queue_end(r) - 1.
  [[nodiscard]] std::size_t queue_begin(Rank rank) const { return rank_begin_[rank.at()]; }
  [[nodiscard]] std::size_t queue_end(Rank rank) const { return rank_begin_[rank.at() + 1]; }
  [[nodiscard]] std::span<const Op> queue(Rank rank) const {
    return std::span<const Op>(ops_).subspan(queue_begin(rank), queue_end(rank) - queue_begin(rank));
  }
  /// The rank whose queue holds op index i. O(log p).
  [[nodiscard]] Rank rank_of_op(std::size_t op_index) const;

  /// The copy of the model that runs this microbatch: 0 unless the placement has replicas.
  [[nodiscard]] Replica replica_of(Microbatch microbatch) const {
    return replica_of_microbatch_.empty() ? Replica(0) : Replica(replica_of_microbatch_[microbatch.at()]);
  }
  [[nodiscard]] Slot slot_of(Op op) const {
    return placement_.slot_of(op.stage(), replica_of(op.microbatch()));
  }
  /// The rank on which the placement wants this op.
  [[nodiscard]] Rank home_of(Op op) const { return placement_.rank_of(slot_of(op)); }

  friend bool operator==(const Schedule& a, const Schedule& b);

 private:
  friend class ScheduleBuilder;
  explicit Schedule(Placement placement) : placement_(std::move(placement)) {}

  Placement placement_;
  int microbatches_ = 0;
  int slices_ = 1;
  KindSet kinds_;  // of ops that are there
  std::size_t num_entries_ = 0;
  std::vector<std::uint8_t> replica_of_microbatch_;
  std::vector<Op> ops_;
  std::vector<std::size_t> rank_begin_;  // p + 1 offsets into ops_
};

/// Writes the queues one after another, rank 0 first.
///
///   ScheduleBuilder out(Placement::linear(2), 1);
///   out.begin_rank(Rank(0)).add(forward(Stage(0), Microbatch(0)));
///   out.begin_rank(Rank(1)).add(...)
///   Schedule schedule = std::move(out).build();
class ScheduleBuilder {
 public:
  /// REQUIRES: 1 <= microbatches <= kMaxIndex. `replica_of_microbatch` is empty (all replica 0) or has one
  /// entry per microbatch. With slices > 1 every op is with_slice(); microbatches * slices <= kMaxIndex.
  ScheduleBuilder(Placement placement, int microbatches, std::vector<std::uint8_t> replica_of_microbatch = {},
                  int slices = 1);

  /// Room for this many ops in all, to avoid growing; optional.
  void reserve(std::size_t ops);
  /// Starts the queue of `rank`. REQUIRES: called for 0, 1, .. p-1 in this order.
  ScheduleBuilder& begin_rank(Rank rank);
  /// Appends one op as an entry of its own.
  void add(Op op) {
    schedule_.ops_.push_back(op.with_joined(false).with_turn(false));
    schedule_.kinds_.add(op.kind());
    ++schedule_.num_entries_;
  }
  /// Appends one entry of several ops that run overlapped, forwards first by convention; or two that are written as one.
  void add_group(std::span<const Op> ops);
  void add_pair(Op first, Op second) {
    const Op both[] = {first, second};
    add_group(both);
  }

  /// Ops appended so far.
  [[nodiscard]] std::size_t size() const { return schedule_.ops_.size(); }
  [[nodiscard]] const Placement& placement() const { return schedule_.placement_; }

  /// REQUIRES: begin_rank was called for every rank.
  [[nodiscard]] Schedule build() &&;

 private:
  Schedule schedule_;
};

/// Calls fn(first, last) with op indices [first, last) of each entry of the range [begin, end).
template <class Fn>
void for_each_entry(const Schedule& schedule, std::size_t begin, std::size_t end, Fn&& fn) {
  const auto ops = schedule.ops();
  for (std::size_t first = begin; first < end;) {
    std::size_t last = first + 1;
    while (ops[last - 1].joined() && last < end) ++last;
    fn(first, last);
    first = last;
  }
}

/// The same for each entry as it is written: two that run in turn are one.
template <class Fn>
void for_each_written_entry(const Schedule& schedule, std::size_t begin, std::size_t end, Fn&& fn) {
  const auto ops = schedule.ops();
  for (std::size_t first = begin; first < end;) {
    std::size_t last = first + 1;
    while ((ops[last - 1].joined() || ops[last - 1].in_turn()) && last < end) ++last;
    fn(first, last);
    first = last;
  }
}

/// Blank cells of a drawn queue: [rank][i] blanks come before entry i of the rank's queue as it is written, [rank][entries] at its end.
/// They belong to the drawing, not to the schedule: no op waits for them.
using IdleCells = std::vector<std::vector<std::int32_t>>;

/// An empty builder for another order of the same run: placement, microbatches, replicas and slices of `schedule`.
[[nodiscard]] ScheduleBuilder builder_like(const Schedule& schedule);

/// The same schedule with only its forwards, groups reduced to their forwards.
[[nodiscard]] Schedule forward_only(const Schedule& schedule);

/// The entries of a rank's queue as they are written, separated by one space.
[[nodiscard]] std::string queue_text(const Schedule& schedule, Rank rank);

/// Reads a whole schedule: entries separated by spaces, ranks by `|`. Stages and microbatches are
/// as many as the text names. The placement puts each stage on the rank that has its ops; a stage found on two ranks
/// makes replicas, told apart by the microbatches that share the same ranks.
/// Throws InputError naming the word that does not parse.
[[nodiscard]] Schedule parse_schedule(std::string_view text);

}  // namespace pipeloom
