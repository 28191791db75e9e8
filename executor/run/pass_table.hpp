#pragma once

// The state of each pass of a rank, and the ops that it allows (PassStep, sim/kinds.hpp): what ranks check before an op, whatever holds
// their tensors.

#include <cstddef>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"

namespace pipeloom::executor {

/// Ops of different passes may ask and advance at once; begin_step() and require_ended() want to be alone.
class PassTable {
 public:
  PassTable(const Schedule& schedule, Rank rank);

  /// As Placement::slots_of().
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  [[nodiscard]] std::size_t units() const { return units_; }
  [[nodiscard]] std::size_t size() const { return passes_.size(); }
  /// Index of slots(). Throws std::runtime_error if the op's stage is on another rank.
  [[nodiscard]] std::size_t local_of(Op op) const;
  [[nodiscard]] std::size_t unit_of(Op op) const;
  /// local_of() * units() + unit_of().
  [[nodiscard]] std::size_t pass_of(Op op) const { return local_of(op) * units_ + unit_of(op); }

  [[nodiscard]] PassState state_of(std::size_t pass) const { return passes_[pass].state; }
  [[nodiscard]] bool is_recomputed(std::size_t pass) const { return passes_[pass].is_recomputed; }
  /// Takes the op. Throws std::runtime_error, "rank 1 was given 1I0 before what it needs, or twice", where it has no place.
  void advance(Op op);
  /// Throws the error of advance() for an op that has no place.
  [[noreturn]] void refuse(Op op) const;
  /// All passes are open again.
  void begin_step();
  /// Throws std::runtime_error, naming the unit and stage, if a pass was begun and not ended.
  void require_ended(int step) const;

 private:
  struct Pass {
    PassState state = PassState::Open;
    bool is_recomputed = false;
    bool is_on_host = false;
  };
  [[nodiscard]] PassState behind_forward(const Pass& pass) const;

  Rank rank_;
  int stages_;
  int slices_;
  bool forward_only_;
  std::size_t units_;
  std::vector<Slot> slots_;
  std::vector<Replica> replica_of_microbatch_;
  std::vector<Pass> passes_;  // [local slot * units + unit]
};

}  // namespace pipeloom::executor
