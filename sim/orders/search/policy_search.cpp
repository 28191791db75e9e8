#include "sim/orders/search/policy_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/orders/search/anneal.hpp"
#include "sim/orders/search/levels.hpp"

namespace pipeloom::orders {
namespace {

/// From the start of a stage's F until its I could start, when nothing else is in the way.
std::vector<Ticks> round_trips(const Problem& problem) {
  std::vector<Ticks> out(problem.stages.size());
  Ticks beyond = 0;
  for (std::size_t s = problem.stages.size(); s-- > 0;) {
    const StageWork& stage = problem.stages[s];
    out[s] = stage.forward + beyond + stage.gradient_delay;
    beyond += stage.forward + stage.input + stage.gradient_delay + stage.forward_delay;
  }
  return out;
}

/// At what pace microbatches follow each other on a rank: all of its work, without W, or forwards alone.
enum class Pace : std::uint8_t { Work, Passes, Forwards };

Ticks pace_of(const Problem& problem, std::size_t rank, Pace pace) {
  Ticks sum = 0;
  for (const std::size_t s : problem.stages_of[rank]) {
    const StageWork& stage = problem.stages[s];
    sum +=
        stage.forward + (pace == Pace::Forwards ? 0 : stage.input) + (pace == Pace::Work ? stage.weight : 0);
  }
  return std::max<Ticks>(sum, 1);
}

std::int32_t clamped(Ticks count, const Problem& problem) {
  return static_cast<std::int32_t>(std::clamp<Ticks>(count, 1, static_cast<Ticks>(problem.microbatches)));
}

/// Most microbatches that a stage's rank holds when the stages share its limit in proportion to how long each keeps one.
std::int32_t shared_cap(const Problem& problem, const std::vector<Ticks>& trips, std::size_t stage,
                        double extra) {
  const std::size_t rank = problem.stages[stage].rank;
  if (problem.limit[rank] == kNoLimit) return clamped(kMaxTicks, problem);
  double bytes = 0;
  for (const std::size_t s : problem.stages_of[rank])
    bytes += static_cast<double>(trips[s]) * static_cast<double>(problem.stages[s].held);
  if (bytes <= 0) return clamped(kMaxTicks, problem);
  const double share = static_cast<double>(problem.limit[rank]) * static_cast<double>(trips[stage]) / bytes;
  return clamped(static_cast<Ticks>(std::min(share + extra, 1e9)), problem);
}

/// Where a stage's target and cap come from.
enum class Counts : std::uint8_t {
  Fits,    ///< as many F as end before the first I can come
  Trips,   ///< how long its microbatches are away, at some pace
  Depths,  ///< how many stages come after it: a share of what the rank's limit holds, as the warm-ups of ZB-H1 and ZB-H2 fall
};

struct Guess {
  Counts counts = Counts::Trips;
  Pace pace = Pace::Forwards;
  double scale = 1;       // of the target
  double extra_cap = -1;  // below 0: memory alone is the cap
  RankPolicy rank = {};
};

/// F that end before the first I can come: one more would keep it waiting, and all stages before this one with it.
StagePolicy by_fit(const Problem& problem, const std::vector<Ticks>& trips, std::size_t stage,
                   const Guess& guess) {
  const Ticks forward = std::max<Ticks>(problem.stages[stage].forward, 1);
  const Ticks fits = trips[stage] / forward;
  const auto count = static_cast<Ticks>(guess.scale * static_cast<double>(fits));
  return {clamped(count - 1, problem), clamped(count, problem)};
}

/// Target and cap that fall evenly from what the rank's limit holds, or what twice the stages' number is, to one.
StagePolicy by_depth(const Problem& problem, std::size_t stage, const Guess& guess) {
  constexpr double kMost = 2;  // microbatches for each stage from here on: more never make a step shorter
  const StageWork& work = problem.stages[stage];
  const Bytes limit = problem.limit[work.rank];
  const auto stages = static_cast<double>(problem.stages.size());
  double share = kMost;
  if (limit != kNoLimit && work.held > 0)
    share = std::min(share, static_cast<double>(limit) / static_cast<double>(work.held) / stages);
  const auto count =
      static_cast<Ticks>(std::ceil(guess.scale * share * (stages - static_cast<double>(stage))));
  return {clamped(count - 1, problem), clamped(guess.extra_cap < 0 ? kMaxTicks : count, problem)};
}

Policy policy_of(const Problem& problem, const std::vector<Ticks>& trips, const Guess& guess) {
  Policy out;
  out.ranks.assign(problem.ranks(), guess.rank);
  for (std::size_t s = 0; s < problem.stages.size(); ++s) {
    if (guess.counts != Counts::Trips) {
      out.stages.push_back(guess.counts == Counts::Fits ? by_fit(problem, trips, s, guess)
                                                        : by_depth(problem, s, guess));
      continue;
    }
    const Ticks pace = pace_of(problem, problem.stages[s].rank, guess.pace);
    const double target = std::ceil(guess.scale * static_cast<double>(trips[s]) / static_cast<double>(pace));
    StagePolicy stage{clamped(static_cast<Ticks>(std::min(target, 1e9)), problem),
                      clamped(kMaxTicks, problem)};
    if (guess.extra_cap >= 0) stage.cap = shared_cap(problem, trips, s, guess.extra_cap);
    out.stages.push_back(stage);
  }
  return out;
}

std::vector<Guess> linear_guesses() {
  std::vector<Guess> out;
  for (const RankPolicy rank :
       {RankPolicy{.patience = 10}, {.patience = 60}, {.patience = 90}, {.patience = 0, .yield = 8}})
    out.push_back({.counts = Counts::Fits, .rank = rank});
  for (const RankPolicy rank : {RankPolicy{.patience = 60}, {.patience = 10}, {.patience = 0, .yield = 20}})
    out.push_back({.counts = Counts::Depths, .extra_cap = 0, .rank = rank});
  for (const std::int32_t yield : {8, 20})
    out.push_back({.counts = Counts::Depths, .scale = 0.5, .rank = {.patience = 0, .yield = yield}});
  for (const RankPolicy rank : {RankPolicy{.patience = 60},
                                {.patience = 90, .yield = 30},
                                {.patience = 90},
                                {.patience = 60, .yield = 30}})
    for (const Pace pace : {Pace::Forwards, Pace::Passes, Pace::Work})
      out.push_back({.pace = pace, .rank = rank});
  return out;
}

std::vector<Guess> looped_guesses() {
  std::vector<Guess> out;
  for (const double cap : {0.5, 0.99, 0.1, 1.5, -1.0})
    for (const Pace pace : {Pace::Forwards, Pace::Passes, Pace::Work})
      for (const bool shallow : {false, true})
        out.push_back({.pace = pace, .extra_cap = cap, .rank = {.shallow_inputs = shallow}});
  return out;
}

bool is_linear(const Problem& problem) {
  return problem.stages.size() == problem.ranks();
}

/// Changes a run of neighbours: most of what is wrong with a policy is wrong with several stages in the same way.
void change(Policy& policy, const Problem& problem, Random& random) {
  const bool by_rank = random.below(4) == 0;
  const std::size_t size = by_rank ? policy.ranks.size() : policy.stages.size();
  const std::size_t first = random.below(size);
  const std::size_t last = std::min(size, first + 1 + random.below(random.below(3) == 0 ? size : 2));
  const std::size_t what = random.below(by_rank ? 5 : 2);
  const std::int32_t patience = random.between(0, 150);
  const std::int32_t yield = std::max(0, random.between(-30, 100));
  const std::int32_t by = random.below(2) == 0 ? 1 : -1;
  const auto most = static_cast<std::int32_t>(problem.microbatches);
  for (std::size_t i = first; i < last; ++i) {
    if (!by_rank) {
      std::int32_t& count = what == 0 ? policy.stages[i].target : policy.stages[i].cap;
      count = std::clamp(count + by, 1, most);
    } else if (what < 2) {
      policy.ranks[i].patience = patience;
    } else if (what < 4) {
      policy.ranks[i].yield = yield;
    } else {
      policy.ranks[i].shallow_inputs = by > 0;
    }
  }
}

Policy random_policy(const Problem& problem, const std::vector<Ticks>& trips, Random& random) {
  if (is_tight(problem) && random.below(4) == 0) return policy_of(problem, random_levels(random));
  return policy_of(problem, trips,
                   {.counts = is_linear(problem) ? static_cast<Counts>(random.below(3)) : Counts::Trips,
                    .pace = static_cast<Pace>(random.below(3)),
                    .scale = 0.4 + 1.6 * random.unit(),
                    .extra_cap = random.below(4) == 0 ? -1 : 2 * random.unit(),
                    .rank = {.patience = random.between(20, 150),
                             .yield = std::max(0, random.between(-50, 80)),
                             .shallow_inputs = random.below(2) == 0}});
}

}  // namespace

std::vector<std::vector<Policy>> first_policies(const Problem& problem) {
  const std::vector<Ticks> trips = round_trips(problem);
  std::vector<std::vector<Policy>> out(1);
  for (const Guess& guess : is_linear(problem) ? linear_guesses() : looped_guesses())
    out.front().push_back(policy_of(problem, trips, guess));
  if (!is_tight(problem)) return out;
  out.emplace_back();
  for (const Levels& levels : first_levels(problem)) out.back().push_back(policy_of(problem, levels));
  return out;
}

std::int64_t play_cost(const Problem& problem) {
  return static_cast<std::int64_t>(3 * problem.num_ops());
}

RankedPolicy search_policies(const Problem& problem, const RankedPolicy& first, Chain& chain) {
  Player player(problem);
  const std::int64_t cost = play_cost(problem);
  const std::vector<Ticks> trips = round_trips(problem);
  RankedPolicy best = first;
  RankedPolicy now = first;
  const auto try_policy = [&](const Policy& policy) -> RankedPolicy {
    const auto value = player.play(policy, [&chain] { return !chain.is_stopped(); });
    return {policy, value.value_or(kMaxTicks), player.mean_lateness()};
  };
  const auto keep = [&](const RankedPolicy& other) {
    if (other.value < best.value || (other.value == best.value && other.mean < best.mean)) best = other;
    chain.reached(best.value);
  };
  for (int i = 0; i < 24 && chain.spend(cost); ++i) {
    const RankedPolicy other = try_policy(random_policy(problem, trips, chain.random));
    keep(other);
    if (energy_of(other.value, other.mean) < energy_of(now.value, now.mean)) now = other;
  }
  const double hot = 0.02 * static_cast<double>(std::max<Ticks>(best.value, 1));
  while (chain.spend(cost)) {
    Policy policy = now.policy;
    for (std::size_t i = 1 + chain.random.below(2); i-- > 0;) change(policy, problem, chain.random);
    const RankedPolicy other = try_policy(policy);
    keep(other);
    const double heat = hot * std::pow(0.005, chain.share());
    const double worse = energy_of(other.value, other.mean) - energy_of(now.value, now.mean);
    if (worse <= 0 || chain.random.unit() < std::exp(-worse / heat)) now = other;
  }
  return best;
}

std::optional<Problem> reduced(const Problem& problem) {
  const std::size_t enough = 3 * std::max(problem.stages.size(), problem.ranks());
  if (problem.microbatches < enough + enough / 2) return std::nullopt;
  Problem out = problem;
  out.microbatches = enough;
  return out;
}

}  // namespace pipeloom::orders
