#pragma once

// The regular placements, as Generator::placement wants them, and helpers of schedules on a V.

#include <string>
#include <utility>

#include "schedules/generator.hpp"

namespace pipeloom::schedules {

[[nodiscard]] inline Placement linear_placement(const Params& params) {
  return Placement::linear(params.ranks);
}
[[nodiscard]] inline Placement loop_placement(const Params& params) {
  return Placement::loop(params.ranks, params.chunks);
}
/// Down and up once.
[[nodiscard]] inline Placement v_placement(const Params& params) {
  return Placement::wave(params.ranks, 2);
}
/// The requirements of a schedule on a V that splits its backward and has no other wishes.
[[nodiscard]] inline Requirements split_v_requirements(
    std::string text = "any ranks, any microbatches, chunks = 2") {
  return {.min_chunks = 2,
          .max_chunks = 2,
          .default_chunks = 2,
          .splits_backward = true,
          .text = std::move(text)};
}
/// Down and up as often as there are chunks.
[[nodiscard]] inline Placement wave_placement(const Params& params) {
  return Placement::wave(params.ranks, params.chunks);
}
[[nodiscard]] inline Placement bidirectional_placement(const Params& params) {
  return Placement::bidirectional(params.ranks);
}

}  // namespace pipeloom::schedules
