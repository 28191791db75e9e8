#pragma once

// Small timelines that several tests draw.

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/draw/scene.hpp"
#include "sim/engine/simulator.hpp"

namespace pipeloom::draw {

inline constexpr Ticks kUnit = 1'000'000'000;  // ticks of the abstract unit

/// F 1, B 2, I 1, W 1 units; groups F + B; `delay` per hop.
inline Costs unit_costs(const Placement& placement, Ticks delay = 0) {
  UniformCosts costs;
  costs.forward = kUnit;
  costs.backward = 2 * kUnit;
  costs.backward_input = kUnit;
  costs.backward_weight = kUnit;
  costs.delay = delay;
  return uniform_costs(placement, costs);
}

inline Timeline run(std::string_view text, Ticks delay = 0) {
  auto schedule = std::make_shared<const Schedule>(parse_schedule(text));
  const Costs costs = unit_costs(schedule->placement(), delay);
  return simulate(std::move(schedule), costs);
}

// rank 0: F0 0-1, F1 1-2, B0 4-6, B1 7-9
// rank 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7
inline constexpr const char* kTwoRanks = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";

/// The scene's shapes of one type and role, in painting order.
template <class Kind>
std::vector<Kind> shapes_of(const Scene& scene, Role role) {
  std::vector<Kind> found;
  for (const Shape& shape : scene.shapes) {
    const auto* const one = std::get_if<Kind>(&shape);
    if (one != nullptr && one->role == role) found.push_back(*one);
  }
  return found;
}

}  // namespace pipeloom::draw
