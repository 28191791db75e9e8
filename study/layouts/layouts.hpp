#pragma once

// Which layout of a model on a number of devices: every one that a framework runs is bounded, the promising are simulated, and the best of each split
// are ranked.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/layouts/measured.hpp"
#include "study/layouts/search.hpp"
#include "study/plan/plan.hpp"

namespace pipeloom::study {

struct LayoutOptions {
  int devices = 1;
  int max_context = 8;
  Fixed fixed = {};
  const Target* target = nullptr;       ///< that must run the answer; null: any framework of targets()
  std::optional<double> headroom = {};  ///< as PlanOptions::headroom
  std::size_t top = 5;                  ///< splits in the answer
  /// Seconds in which orders of the first rows are searched for, about; 0: their layers alone are dealt out anew.
  double seconds = 0;
  std::uint64_t seed = 1;                     ///< of these searches
  std::vector<MeasuredLayout> measured = {};  ///< steps that say terms of the forecast
  int threads = 1;
  bool simulates_all = false;  ///< as LayoutSearch::simulates_all
  /// As LayoutSearch::progress.
  std::function<bool(const std::string& doing)> progress = {};
};

/// The best layout if no exchange of the layers, or all of them, were hidden.
struct IfHidden {
  double hidden = 0;  ///< share of the exchanges that products hide
  ParallelLayout best;
};

/// The best layout of all frameworks, where it is faster than the best of the one that was asked for.
struct Elsewhere {
  ParallelLayout layout;
  double change = 0;                        ///< of the step, below 0
  std::vector<const Target*> targets = {};  ///< that take it
};

struct LayoutPlan {
  /// `candidates`: the best layout of each split, the recommended one first; `baseline` is never there.
  Plan plan;
  std::vector<ParallelLayout> layouts = {};  ///< of plan.candidates
  Space space = {};                          ///< its `layouts` are empty
  std::size_t simulated = 0;
  int devices = 1;
  int global_batch = 1;
  std::optional<Elsewhere> elsewhere = {};
  std::vector<IfHidden> sensitivities = {};   ///< without measured steps
  std::optional<FittedForecast> fitted = {};  ///< with measured steps
  bool ended = false;                         ///< by `progress`: the best so far
};

/// Of layouts whose steps are within this share of each other none counts as faster.
inline constexpr double kEqualSteps = 0.02;

/// Layouts of the workload's model. Each row is the fastest layout of its split; of those within 0.3 % of it the one with the smallest number of chunks, the
/// plainer order and least that runs again. The first row is, of those within kEqualSteps of the fastest, the one whose fullest rank holds a tenth of the
/// device less than the others, then that with the smallest tp, pp, the plainer order, and least that runs again; the other rows are in the order of
/// their steps. Layers, and under LayoutOptions::seconds orders, of the first three are then chosen as make_plan() does. Throws as fit_forecast(), and InputError where the workload names no model, no hardware or no global batch, where the model has no sizes, and where nothing is
/// left of the space.
[[nodiscard]] LayoutPlan make_layouts(io::Config workload, const LayoutOptions& options);

/// Where a layout's order is among those of targets(), from plain to intricate: 1F1B, interleaved 1F1B, all others.
[[nodiscard]] int plainness_of(const ParallelLayout& layout);

}  // namespace pipeloom::study
