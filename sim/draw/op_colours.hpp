#pragma once

// The colour of each op of one timeline, for any way of colouring.

#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/draw/palette.hpp"

namespace pipeloom::draw {

/// Looks colours up by slot, so that a picture costs no more per op than a table access. Keeps a pointer to the schedule.
class OpColours {
 public:
  OpColours(const Schedule& schedule, Theme theme, ColourBy by, Palette palette = Palette::Default);

  /// `rank` is where the op ran.
  [[nodiscard]] Colour of(Op op, Rank rank) const;
  /// Number of the op's stage among its rank's stages of the same replica.
  [[nodiscard]] Chunk chunk_of(Op op) const { return chunk_of_slot_[schedule_->slot_of(op).at()]; }
  /// Shade of its kind that an op has: those of the first replica's chunks come first.
  [[nodiscard]] int shade_of(Op op) const { return shade_of_slot_[schedule_->slot_of(op).at()]; }

  /// Most chunks that a rank has of one replica.
  [[nodiscard]] int chunks() const { return chunks_; }
  /// Shades of one kind: chunks * replicas.
  [[nodiscard]] int shades() const { return chunks_ * schedule_->placement().replicas(); }
  /// Number of stages, microbatches or ranks to colour; 0 for ColourBy::Kind.
  [[nodiscard]] int series_length() const;

 private:
  const Schedule* schedule_;
  Theme theme_;
  ColourBy by_;
  Palette palette_;
  int chunks_ = 1;
  std::vector<Chunk> chunk_of_slot_;
  std::vector<int> shade_of_slot_;
};

}  // namespace pipeloom::draw
