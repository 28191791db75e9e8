#pragma once

// The regular placements, as Generator::placement wants them.

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
/// Down and up as often as there are chunks.
[[nodiscard]] inline Placement wave_placement(const Params& params) {
  return Placement::wave(params.ranks, params.chunks);
}
[[nodiscard]] inline Placement bidirectional_placement(const Params& params) {
  return Placement::bidirectional(params.ranks);
}

}  // namespace pipeloom::schedules
