#include "executor/layers/gradient_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <pipeloom/error.hpp>

namespace pipeloom::executor {
namespace {

constexpr double kUnitRoundoff = 1.0 / (1 << 24);
constexpr double kMostTerms = 1 << 20;

/// N of Reference::tolerance().
double terms_of(const LayersConfig& config, const PipelineSizes& sizes) {
  return static_cast<double>(config.rows) * sizes.microbatches + 1.0;
}

Tensor magnitudes_of(Tensor tensor) {
  for (float& value : tensor) value = std::fabs(value);
  return tensor;
}

/// One microbatch after another through all stages and back, its slices forward in order and backward in the opposite order.
class UnpipelinedRun {
 public:
  explicit UnpipelinedRun(Reference& reference) : to_(reference) {
    for (Stage stage{0}; stage < Stage(to_.sizes.stages); ++stage) {
      parameters_.push_back(stage_parameters(to_.config, stage));
      to_.gradients.stages.emplace_back(parameters_.back().size());
      to_.magnitudes.emplace_back(parameters_.back().size());
      keys_.push_back(no_keys_yet(to_.config, to_.sizes.slices));
    }
  }

  void add_microbatch(Microbatch microbatch) {
    std::vector<Pass> passes;
    for (int slice = 0; slice < to_.sizes.slices; ++slice) passes.push_back(forward(microbatch, slice));
    for (; !passes.empty(); passes.pop_back()) backward(passes.back());
  }

 private:
  struct Pass {
    int slice = 0;
    std::vector<std::vector<BlockTape>> tapes;  // [stage]
    Tensor error;
  };

  Pass forward(Microbatch microbatch, int slice) {
    const RowRange rows = rows_of_slice(to_.config, slice, to_.sizes.slices);
    Pass pass{slice, std::vector<std::vector<BlockTape>>(parameters_.size()), {}};
    Tensor x = input_rows(to_.config, microbatch, rows);
    for (std::size_t s = 0; s < parameters_.size(); ++s)
      x = stage_forward(to_.config, parameters_[s], std::move(x), pass.tapes[s], {&keys_[s], slice});
    to_.gradients.losses.push_back(squared_error(x, target_rows(to_.config, microbatch, rows)));
    pass.error = std::move(x);
    return pass;
  }

  void backward(Pass& pass) {
    Tensor e = std::move(pass.error);
    for (std::size_t s = parameters_.size(); s-- > 0;) {
      e = stage_input_gradient(to_.config, parameters_[s], std::move(e), pass.tapes[s],
                               {&keys_[s], pass.slice});
      add_magnitudes(s, pass.tapes[s]);
      stage_weight_gradient(to_.config, pass.tapes[s], to_.gradients.stages[s]);
    }
  }

  /// Every factor of every product without its sign, then the same additions.
  void add_magnitudes(std::size_t stage, std::vector<BlockTape> tapes) {
    for (BlockTape& tape : tapes)
      for_each_tensor(tape, [](Tensor& tensor) { tensor = magnitudes_of(std::move(tensor)); });
    stage_weight_gradient(to_.config, tapes, to_.magnitudes[stage]);
  }

  Reference& to_;
  std::vector<std::vector<float>> parameters_;  // [stage]
  std::vector<StageKeys> keys_;                 // [stage]
};

void require_same(const std::vector<float>& one, const std::vector<float>& other, Stage stage) {
  if (one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0)
    return;
  throw SystemError(fmt::format("replicas of stage {} do not hold the same gradients after their reduction",
                                stage.value()));
}

/// "W1[2][3], block 0 of stage 1"
std::string parameter_name(const BlockShape& shape, std::size_t stage, std::size_t element) {
  const std::size_t weights = shape.width * shape.hidden;
  struct Part {
    std::string_view name;
    std::size_t size;
    std::size_t columns;
  };
  const std::size_t square = shape.width * shape.width;
  const std::array<Part, 12> parts = {{{"gain", shape.width, 0},
                                       {"shift", shape.width, 0},
                                       {"W1", weights, shape.hidden},
                                       {"b1", shape.hidden, 0},
                                       {"W2", weights, shape.width},
                                       {"b2", shape.width, 0},
                                       {"attention gain", shape.width, 0},
                                       {"attention shift", shape.width, 0},
                                       {"Wqkv", 3 * square, 3 * shape.width},
                                       {"bqkv", 3 * shape.width, 0},
                                       {"Wo", square, shape.width},
                                       {"bo", shape.width, 0}}};
  std::string place = fmt::format("block {} of stage {}", element / shape.parameters(), stage);
  std::size_t at = element % shape.parameters();
  for (const Part& part : parts) {
    if (at < part.size)
      return part.columns == 0
                 ? fmt::format("{}[{}], {}", part.name, at, place)
                 : fmt::format("{}[{}][{}], {}", part.name, at / part.columns, at % part.columns, place);
    at -= part.size;
  }
  return place;
}

}  // namespace

double Reference::tolerance(std::size_t stage, std::size_t element) const {
  if (config.arithmetic == Arithmetic::Integer) return 0.0;
  const double error = terms_of(config, sizes) * kUnitRoundoff;
  const double g = error / (1.0 - error);
  return 2.0 * g / (1.0 - g) * static_cast<double>(magnitudes[stage][element]);
}

Gradients collect_gradients(const Schedule& schedule, std::span<const RankGradients> ranks) {
  const Placement& placement = schedule.placement();
  Gradients all;
  all.stages.resize(static_cast<std::size_t>(placement.stages()));
  all.losses.resize(static_cast<std::size_t>(schedule.units()));
  // Slots count the replicas up in the outer place.
  for (Slot slot{0}; slot < Slot(placement.slots()); ++slot) {
    const Rank rank = placement.rank_of(slot);
    const auto slots = placement.slots_of(rank);
    const auto local = static_cast<std::size_t>(std::find(slots.begin(), slots.end(), slot) - slots.begin());
    const std::vector<float>& gradient = ranks[rank.at()].slots.at(local);
    std::vector<float>& sum = all.stages[placement.stage_of(slot).at()];
    if (ranks[rank.at()].is_reduced && placement.replica_of(slot) > Replica(0)) {
      require_same(gradient, sum, placement.stage_of(slot));
      continue;
    }
    sum.resize(gradient.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  for (const RankGradients& rank : ranks)
    for (std::size_t unit = 0; unit < rank.losses.size(); ++unit) all.losses[unit] += rank.losses[unit];
  return all;
}

Reference reference_gradients(const LayersConfig& config, const PipelineSizes& sizes) {
  require_possible(config, sizes);
  if (terms_of(config, sizes) > kMostTerms)
    throw InputError(fmt::format(
        "layers: {} rows in each of {} microbatches are too many to compare sums over them; give fewer",
        config.rows, sizes.microbatches));
  Reference reference;
  reference.config = config;
  reference.sizes = sizes;
  UnpipelinedRun run(reference);
  for (Microbatch k{0}; k < Microbatch(sizes.microbatches); ++k) run.add_microbatch(k);
  return reference;
}

std::string first_mismatch(const Reference& reference, const Gradients& gradients) {
  const Gradients& right = reference.gradients;
  for (std::size_t unit = 0; unit < right.losses.size(); ++unit)
    if (gradients.losses[unit] != right.losses[unit])
      return fmt::format("loss of unit {}: {}; without a pipeline {}", unit, gradients.losses[unit],
                         right.losses[unit]);
  for (std::size_t s = 0; s < right.stages.size(); ++s)
    for (std::size_t i = 0; i < right.stages[s].size(); ++i) {
      const double found = gradients.stages[s][i];
      const double wanted = right.stages[s][i];
      // Written so that a NaN is a mismatch.
      if (!(std::fabs(found - wanted) <= reference.tolerance(s, i)))
        return fmt::format("gradient of {}: {}; without a pipeline {} (they may differ by {})",
                           parameter_name(reference.config.block(), s, i), found, wanted,
                           reference.tolerance(s, i));
    }
  return "";
}

}  // namespace pipeloom::executor
