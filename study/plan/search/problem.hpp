#pragma once

// The problem of a search for an order: what a run's ops cost and hold on its ranks, and what no order takes less than.

#include <cstddef>
#include <optional>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/run.hpp>
#include "sim/memory.hpp"
#include "sim/options.hpp"
#include "sim/orders/problem.hpp"

namespace pipeloom::study {

/// What orders on a run's ranks must respect, with backwards cut into I and W, from what its ops cost and hold: recomputation in the backward, activations within what static,
/// receive and logits bytes leave of the limits. Nothing where a rank has no room, or where the run is
/// not is_searchable() or has copies that no option put there. `pairs`: as ProblemParts has them.
[[nodiscard]] std::optional<orders::Problem> problem_of(const Run& run, bool pairs = false);

/// problem_of() a run that is not there yet.
struct ProblemParts {
  const Placement& placement;
  int microbatches = 1;
  const Costs& costs;
  const MemoryModel& memory;
  StepRule rule = StepRule::Barrier;
  std::vector<std::size_t> recomputed = {};  ///< stages whose forwards run again before their backwards
  OffloadOption offload = {};                ///< which activations wait in the host's memory
  bool pairs = false;  ///< whether to have orders::add_pairs(), where nothing runs again
};
[[nodiscard]] std::optional<orders::Problem> problem_of(const ProblemParts& parts);

/// True if the problem says all of the run: nothing is left to its simulation, and no memory is only kept free.
[[nodiscard]] bool is_exact(const Run& like);

/// What no order of the problem is shorter than, in a run like this one; 0 where the problem's times or ops are not all of the run's: pairs, copies,
/// forwards that run again, durations of single microbatches, steps that need not wait for each other. Less where `limits` stop it.
[[nodiscard]] Ticks bound_on(const orders::Problem& problem, const Run& like, const Limits& limits);

}  // namespace pipeloom::study
