#include "executor/small_layers.hpp"

#include <fmt/format.h>

#include <map>
#include <tuple>

namespace pipeloom::executor {

LayersConfig small(Arithmetic arithmetic) {
  LayersConfig config;
  config.width = 3;
  config.hidden = 12;
  config.rows = 6;
  config.seed = 7;
  config.arithmetic = arithmetic;
  return config;
}

LayersConfig tiny() {
  LayersConfig config;
  config.width = 5;
  config.hidden = 7;
  config.rows = 4;
  config.seed = 3;
  return config;
}

LayersConfig small_with_attention(int heads) {
  LayersConfig config = small(Arithmetic::Float);
  config.heads = heads;
  return config;
}

const Reference& reference_of(const LayersConfig& config, const PipelineSizes& sizes) {
  static std::map<std::tuple<Arithmetic, int, int, int, int, int>, Reference> made;
  const std::tuple key(config.arithmetic, config.blocks, config.heads, sizes.stages, sizes.microbatches,
                       sizes.slices);
  const auto found = made.find(key);
  return found != made.end() ? found->second
                             : made.emplace(key, reference_gradients(config, sizes)).first->second;
}

std::string wrong_copy(const Schedule& schedule, const Reference& right,
                       std::span<const RankGradients> ranks) {
  const Placement& placement = schedule.placement();
  const bool has_sums = placement.replicas() > 1 && !schedule.is_forward_only();
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) {
    const RankGradients& own = ranks[rank.at()];
    if (own.is_reduced != has_sums) return fmt::format("rank {}: sums {}", rank.value(), own.is_reduced);
    const auto slots = placement.slots_of(rank);
    for (std::size_t local = 0; has_sums && local < slots.size(); ++local) {
      const std::size_t stage = placement.stage_of(slots[local]).at();
      const std::vector<float>& wanted = right.gradients.stages[stage];
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (!(std::fabs(static_cast<double>(own.slots.at(local).at(i)) - static_cast<double>(wanted[i])) <=
              right.tolerance(stage, i)))
          return fmt::format("rank {}, stage {}, element {}: {} instead of {}", rank.value(), stage, i,
                             own.slots[local][i], wanted[i]);
    }
  }
  return "";
}

}  // namespace pipeloom::executor
