#include "sim/orders/designs/design_move.hpp"

#include <algorithm>

namespace pipeloom::orders {
namespace {

std::ptrdiff_t at(std::size_t i) {
  return static_cast<std::ptrdiff_t>(i);
}

int least_layers(std::size_t stage, std::size_t stages, const DesignOptions& options) {
  return stage == 0 || stage + 1 == stages ? options.least_at_ends : 1;
}

std::size_t stages_on(const Design& design, std::size_t rank) {
  return static_cast<std::size_t>(std::ranges::count(design.rank, rank));
}

/// A layer from one stage to another, all between passing one on; half of the time to a neighbour.
bool move_layer(Design& design, const DesignOptions& options, Random& random) {
  const std::size_t stages = design.layers.size();
  const std::size_t from = random.below(stages);
  std::size_t to = random.below(stages);
  if (random.below(2) == 0) to = random.below(2) == 0 ? from + 1 : from - 1;  // wraps below the first
  if (to >= stages || from == to || design.layers[from] <= least_layers(from, stages, options)) return false;
  --design.layers[from];
  ++design.layers[to];
  return true;
}

bool swap_ranks(Design& design, Random& random) {
  std::size_t& a = design.rank[random.below(design.rank.size())];
  std::size_t& b = design.rank[random.below(design.rank.size())];
  if (a == b) return false;
  std::swap(a, b);
  return true;
}

bool move_stage(Design& design, std::size_t ranks, Random& random) {
  std::size_t& rank = design.rank[random.below(design.rank.size())];
  const std::size_t to = random.below(ranks);
  if (rank == to || stages_on(design, rank) == 1 || stages_on(design, to) == kMaxChunks) return false;
  rank = to;
  return true;
}

bool cut_stage(Design& design, Policy& policy, std::size_t ranks, std::size_t most, Random& random) {
  const std::size_t stage = random.below(design.layers.size());
  const std::size_t to = random.below(ranks);
  if (design.layers[stage] < 2 || design.layers.size() >= most || stages_on(design, to) == kMaxChunks)
    return false;
  const int first = 1 + static_cast<int>(random.below(static_cast<std::size_t>(design.layers[stage]) - 1));
  design.layers.insert(design.layers.begin() + at(stage) + 1, design.layers[stage] - first);
  design.layers[stage] = first;
  design.rank.insert(design.rank.begin() + at(stage) + 1, to);
  for (std::vector<std::uint8_t>* of_stages : {&design.recomputes, &design.copied}) {
    if (of_stages->empty()) continue;
    const std::uint8_t same = (*of_stages)[stage];
    of_stages->insert(of_stages->begin() + at(stage), same);
  }
  const StagePolicy like = policy.stages[stage];
  policy.stages.insert(policy.stages.begin() + at(stage), like);
  return true;
}

/// A stage and the next, on the rank of the first.
bool join_stages(Design& design, Policy& policy, Random& random) {
  if (design.layers.size() < 2) return false;
  const std::size_t stage = random.below(design.layers.size() - 1);
  if (stages_on(design, design.rank[stage + 1]) == 1) return false;
  design.layers[stage] += design.layers[stage + 1];
  design.layers.erase(design.layers.begin() + at(stage) + 1);
  design.rank.erase(design.rank.begin() + at(stage) + 1);
  for (std::vector<std::uint8_t>* of_stages : {&design.recomputes, &design.copied})
    if (!of_stages->empty()) of_stages->erase(of_stages->begin() + at(stage) + 1);
  policy.stages.erase(policy.stages.begin() + at(stage) + 1);
  return true;
}

/// A stage, or one with some after it, gets what `other` makes of what the first has.
template <class Other>
void change_some(std::vector<std::uint8_t>& of_stages, Random& random, const Other& other) {
  const std::size_t stages = of_stages.size();
  const std::size_t first = random.below(stages);
  const std::size_t length = random.below(3) == 0 ? 1 + random.below(stages) : 1;
  const std::uint8_t to = other(of_stages[first]);
  for (std::size_t s = first; s < std::min(stages, first + length); ++s) of_stages[s] = to;
}

/// Some stages recompute or no longer do; or all that do so in one way do it in another.
void change_recomputes(Design& design, std::size_t ways, Random& random) {
  design.recomputes.resize(design.layers.size());
  const std::size_t used = std::ranges::max(design.recomputes);
  if (used > 0 && ways > 1 && random.below(8) == 0) {
    const auto other = static_cast<std::uint8_t>(1 + (used + random.below(ways - 1)) % ways);
    for (std::uint8_t& one : design.recomputes) one = one == 0 ? one : other;
    return;
  }
  change_some(design.recomputes, random, [&](std::uint8_t now) {
    return static_cast<std::uint8_t>(now > 0 ? 0 : used > 0 ? used : 1 + random.below(ways));
  });
}

/// The activations of some stages go to the host or no longer do.
void change_copied(Design& design, Random& random) {
  design.copied.resize(design.layers.size());
  change_some(design.copied, random, [](std::uint8_t now) { return static_cast<std::uint8_t>(1 - now); });
}

void change_relief(Design& design, const DesignOptions& options, Random& random) {
  if (options.copies && (options.recomputations == 0 || random.below(2) == 0))
    change_copied(design, random);
  else
    change_recomputes(design, options.recomputations, random);
}

/// Room for a pass more or less, or reloads issued an op earlier or later.
bool change_copying(Copying& copying, Random& random) {
  constexpr std::int32_t kMostRoom = 12;
  const std::int32_t by = random.below(2) == 0 ? 1 : -1;
  const bool room = random.below(2) == 0;
  std::int32_t& count = room ? copying.room : copying.prefetch;
  const std::int32_t before = count;
  count = std::clamp(count + by, room ? 0 : 1, room ? kMostRoom : kMostAhead);
  return count != before;
}

void change_rank_policy(RankPolicy& rank, bool pairs, Random& random) {
  const std::size_t what = random.below(pairs ? 5 : 3);
  if (what == 0) rank.patience = random.between(0, 150);
  if (what == 1) rank.yield = std::max(0, random.between(-30, 100));
  if (what == 2) rank.shallow_inputs = !rank.shallow_inputs;
  if (what > 2) rank.partner = std::max(0, random.between(-50, 200));
}

/// One more or less under way, on a run of stages or all after one.
void change_stage_policy(std::vector<StagePolicy>& stages, std::int32_t microbatches, Random& random) {
  const std::size_t first = random.below(stages.size());
  const std::size_t length = random.below(3) == 0 ? stages.size() : 1 + random.below(2);
  const bool target = random.below(2) == 0;
  const std::int32_t by = random.below(2) == 0 ? 1 : -1;
  for (std::size_t s = first; s < std::min(stages.size(), first + length); ++s) {
    std::int32_t& count = target ? stages[s].target : stages[s].cap;
    count = std::clamp(count + by, 1, microbatches);
  }
}

void change_policy(Policy& policy, const Problem& problem, Random& random) {
  if (random.below(4) == 0)
    change_rank_policy(policy.ranks[random.below(policy.ranks.size())], !problem.pairs.empty(), random);
  else
    change_stage_policy(policy.stages, static_cast<std::int32_t>(problem.microbatches), random);
}

/// Changes of each kind in a hundred; the rest change the policy.
constexpr std::size_t kLayerMoves = 45;
constexpr std::size_t kRankMoves = 15;
constexpr std::size_t kStageMoves = 6;
constexpr std::size_t kReliefMoves = 12;

enum class Kind : std::uint8_t { Layers, Ranks, Stages, Relief, Copying, Policy };

/// One that may change; where layers may not, half of their share goes to relief. Where there are copies, every eighth is theirs.
Kind draw_kind(const DesignOptions& options, bool copies, Random& random) {
  if (copies && random.below(8) == 0) return Kind::Copying;
  const std::size_t draw = random.below(100);
  const bool relief = options.recomputations > 0 || options.copies;
  if (draw < kLayerMoves && options.layers) return Kind::Layers;
  if (draw < kLayerMoves) return relief && random.below(2) == 0 ? Kind::Relief : Kind::Policy;
  if (draw < kLayerMoves + kRankMoves) return options.ranks ? Kind::Ranks : Kind::Policy;
  if (draw < kLayerMoves + kRankMoves + kStageMoves)
    return options.layers && options.ranks && options.stages ? Kind::Stages : Kind::Policy;
  return draw >= 100 - kReliefMoves && relief ? Kind::Relief : Kind::Policy;
}

}  // namespace

Changed change_design(Design& design, Policy& policy, const DesignOptions& options, const Problem& problem,
                      Random& random) {
  const std::size_t ranks = problem.ranks();
  bool done = false;
  switch (draw_kind(options, problem.has_copies(), random)) {
    case Kind::Layers:
      done = move_layer(design, options, random);
      break;
    case Kind::Ranks:
      done = random.below(2) == 0 ? swap_ranks(design, random) : move_stage(design, ranks, random);
      break;
    case Kind::Stages:
      done = random.below(2) == 0 ? cut_stage(design, policy, ranks, options.most_stages, random)
                                  : join_stages(design, policy, random);
      break;
    case Kind::Relief:
      change_relief(design, options, random);
      return Changed::Design;
    case Kind::Copying:
      return change_copying(design.copying, random) ? Changed::Copying : Changed::Nothing;
    case Kind::Policy:
      change_policy(policy, problem, random);
      return Changed::Policy;
  }
  return done ? Changed::Design : Changed::Nothing;
}

}  // namespace pipeloom::orders
