#pragma once

// The best layouts of a space, without a simulation of all of them.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include "study/layouts/bounds.hpp"
#include "study/layouts/space.hpp"

namespace pipeloom::study {

/// A layout's run.
struct LayoutResult {
  ParallelLayout layout;
  std::vector<int> layers = {};  ///< as LayoutBounds::layers_of() says
  Ticks step = 0;                ///< of a step
  double peak = 0;               ///< bytes of the fullest rank
};

struct LayoutSearch {
  io::Config base;            ///< names the model; with the limit of a rank
  estimate::Setting setting;  ///< of any layout of it
  const Target* target = nullptr;
  Bytes limit = 0;         ///< bytes that a rank may hold
  std::size_t splits = 5;  ///< whose best are wanted
  double near = 0.02;      ///< and all layouts of these that take so much longer than their split's best
  std::optional<double> at_most = {};  ///< seconds: longer steps are not wanted
  int threads = 1;
  bool simulates_all = false;  ///< for tests: bounds leave nothing out
  /// Asked now and then, with what is being done: false ends the search with what was found. May be empty.
  std::function<bool(const std::string& doing)> progress = {};
};

struct LayoutsFound {
  std::vector<LayoutResult> results =
      {};  ///< that fit, in the order of their steps; equal ones in that of the space
  std::size_t simulated = 0;
};

/// Best first: layouts are taken in the order of their bounds, each simulated when no other's bound is below its own, until the next bound is above
/// what the wanted splits' steps and `near` leave. The answer does not depend on the threads. Adds to `space.excluded` what is left out.
[[nodiscard]] LayoutsFound search_layouts(Space& space, const LayoutSearch& search);

}  // namespace pipeloom::study
