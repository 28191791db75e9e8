#pragma once

// A plan as a picture: what every candidate takes in time and memory.

#include "sim/draw/scene.hpp"
#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// Step time over the fullest rank's peak: a point for each candidate, the front as steps through those that no other beats in both, named where
/// there is room; what runs now, and the limit where it is one for all ranks. Titles say what each point is. REQUIRES: a candidate.
[[nodiscard]] draw::Scene pareto_picture(const Plan& plan);

}  // namespace pipeloom::study
