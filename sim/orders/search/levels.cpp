#include "sim/orders/search/levels.hpp"

#include <algorithm>
#include <cmath>

namespace pipeloom::orders {
namespace {

// Found by trying: of 3360 on 135 problems of 8 to 32 ranks with room for 0.25 to 0.9 p, the five that together leave least; and of 4000 on 108 of
// V placements and as many of loops, 4 to 16 ranks, with room for 0.36 to 1 p.
constexpr Levels kLinear[] = {
    {.first = {0.7, 0.65}, .rank = {.patience = 90, .yield = 60}},
    {.first = {0.85, 0.5}, .rank = {.patience = 60, .yield = 45}},
    {.first = {1, 0.8}, .extra_cap = 1, .rank = {.patience = 60, .yield = 30}},
    {.first = {0.85, 0.65}, .extra_cap = 1, .rank = {.patience = 90, .yield = 45}},
    {.first = {0.85, 0.65}, .rank = {.patience = 120, .yield = 45}},
};
constexpr Levels kFolded[] = {
    {{0.63, 1.33}, {0.82, 0.75}, 0, {.patience = 80, .shallow_inputs = true}},
    {{1.17, 0.30}, {0.79, 0.81}, 0, {.patience = 80}},
    {{0.74, 0.34}, {0.37, 0.49}, 1, {.patience = 60, .yield = 35, .shallow_inputs = true}},
    {{1.10, 0.24}, {0.79, 0.78}, 0, {.patience = 80}},
    {{0.79, 0.48}, {0.70, 0.80}, 0, {.patience = 85, .yield = 6}},
    {{0.50, 0.30}, {0.87, 0.47}, 1, {.patience = 85}},
    {{1.07, 0.82}, {0.67, 1.25}, 0, {.patience = 85, .shallow_inputs = true}},
    {{1.19, 0.29}, {0.44, 0.31}, 0, {.patience = 85, .shallow_inputs = true}},
};
constexpr Levels kLooped[] = {
    {{0.47, 1.01}, {0.63, 0.89}, 0, {.patience = 95}},
    {{0.44, 0.67}, {0.20, 0.58}, 1, {.patience = 80, .yield = 18, .shallow_inputs = true}},
    {{0.50, 0.57}, {0.25, 0.64}, 1, {.patience = 80, .yield = 55, .shallow_inputs = true}},
    {{0.58, 0.80}, {0.32, 0.31}, 0, {.patience = 45}},
    {{0.65, 1.29}, {0.51, 1.40}, 0, {.patience = 35}},
};

double room_of(const Problem& problem, std::size_t stage) {
  const StageWork& work = problem.stages[stage];
  const Bytes limit = problem.limit[work.rank];
  const bool is_limited = limit != kNoLimit && work.held > 0;
  return is_limited ? static_cast<double>(limit) / static_cast<double>(work.held) : HUGE_VAL;
}

Level level_of(const Problem& problem, const Levels& levels, std::size_t stage) {
  const StageWork& work = problem.stages[stage];
  const std::size_t chunks = problem.stages_of[work.rank].size();
  if (chunks == 1) return levels.first;
  const double part = static_cast<double>(work.chunk) / static_cast<double>(chunks - 1);
  return {std::lerp(levels.first.share, levels.last.share, part),
          std::lerp(levels.first.slope, levels.last.slope, part)};
}

}  // namespace

bool is_tight(const Problem& problem) {
  for (std::size_t s = 0; s < problem.stages.size(); ++s)
    if (room_of(problem, s) < static_cast<double>(problem.stages.size() - s)) return true;
  return false;
}

Policy policy_of(const Problem& problem, const Levels& levels) {
  const auto most = static_cast<double>(problem.microbatches);
  const auto clamped = [most](double count) {
    return static_cast<std::int32_t>(std::clamp(count, 1.0, most));
  };
  Policy out;
  out.ranks.assign(problem.ranks(), levels.rank);
  for (std::size_t s = 0; s < problem.stages.size(); ++s) {
    const Level level = level_of(problem, levels, s);
    const auto from_here = static_cast<double>(problem.stages.size() - s);
    const double count = std::ceil(std::min(level.share * room_of(problem, s), level.slope * from_here));
    out.stages.push_back({clamped(count), clamped(levels.extra_cap < 0 ? most : count + levels.extra_cap)});
  }
  return out;
}

std::span<const Levels> first_levels(const Problem& problem) {
  if (problem.stages.size() == problem.ranks()) return kLinear;
  const bool is_folded = problem.stages.front().rank == problem.stages.back().rank;
  return is_folded ? std::span<const Levels>(kFolded) : std::span<const Levels>(kLooped);
}

Levels random_levels(Random& random) {
  Levels out;
  out.first.share = 0.3 + 0.9 * random.unit();
  out.first.slope = 0.2 + 1.2 * random.unit();
  out.last.share = 0.1 + 0.9 * random.unit();
  out.last.slope = 0.2 + 1.5 * random.unit();
  out.extra_cap = random.between(-1, 1);
  out.rank.patience = random.between(10, 140);
  out.rank.yield = std::max(0, random.between(-40, 100));
  out.rank.shallow_inputs = random.below(2) == 0;
  return out;
}

}  // namespace pipeloom::orders
