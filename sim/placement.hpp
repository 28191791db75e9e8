#pragma once

// Which rank holds which stage, for each replica of the model.

#include <span>
#include <vector>

#include "sim/base/ids.hpp"

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
  /// A rank may hold no stage (validate() then says so). Throws InputError if a rank is out of range.
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

}  // namespace pipeloom
