#pragma once

// Facts of a layout before its run is simulated: a time that no step of it goes below, and bytes that its fullest rank needs at least.

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/estimate/estimate.hpp"
#include "study/layouts/layout.hpp"

namespace pipeloom::study {

/// Of one layout.
struct LayoutBound {
  double step = 0;  ///< seconds
  double peak = 0;  ///< bytes of the fullest rank
};

/// The default split of layers is kept where its longest stage takes no more than this share longer than that of any other.
inline constexpr double kEvenLayers = 0.01;

class LayoutBounds {
 public:
  /// `base`: of any layout of the model.
  explicit LayoutBounds(estimate::Setting base) : base_(std::move(base)) {}

  /// Seconds that a rank has work for in the mean: m (F + I + W + R) of all layers and both ends, over the ranks; without R where some of a stage's
  /// layers run again. O(kinds of layers) for each
  /// tensor, context, expert size, microbatch and recomputation, else O(log n).
  [[nodiscard]] double mean_work(const ParallelLayout& layout);

  /// Layers of each of that many stages: those whose longest stage is the shortest, the last stages filled first; empty where the default's is no more than
  /// kEvenLayers longer, and where there are more stages than layers. O(layers log).
  [[nodiscard]] std::vector<int> layers_of(const ParallelLayout& layout, int stages);

  /// A rank's work, and what is in front of its first forward and after its last backward: m sum(F + I + W + R) + sum F of the stages before its first
  /// and, where backwards are whole, + sum B of them (their R may run while they wait); the largest of the ranks, and the step's end. Bytes: what a stage always holds, and as many
  /// activations of the rank's smallest stage as the generator's closed form of peak_live says (none where it says nothing). O(stages).
  [[nodiscard]] LayoutBound of_stages(const ParallelLayout& layout, const schedules::Generator& generator,
                                      const Params& params);

 private:
  struct Known {
    estimate::LayerCosts costs;
    double whole = 0;                 ///< seconds of all layers and both ends for a microbatch
    std::vector<double> layers = {};  ///< of each layer, the ends with the first and the last
  };
  Known& known_of(const ParallelLayout& layout);

  using Key = std::tuple<int, int, int, int, int>;  // tensor, context, expert, samples, what runs again

  estimate::Setting base_;
  std::map<Key, Known> known_;
};

}  // namespace pipeloom::study
