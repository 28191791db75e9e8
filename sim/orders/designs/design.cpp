#include "sim/orders/designs/design.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "sim/orders/designs/design_move.hpp"
#include "sim/orders/entries/entry_times.hpp"
#include "sim/orders/search/chain.hpp"
#include "sim/orders/search/policy_search.hpp"
#include "sim/orders/search/rounds.hpp"

namespace pipeloom::orders {
namespace {

/// Ops that could be timed while the problem of a design is made.
constexpr std::int64_t kProblemWork = 1000;
/// The share of the work that first policies may take.
constexpr double kFirstShare = 0.2;
/// A round of annealing: with how many chains, from the best and repeated where there are fewer, with which part of the work, and the
/// temperatures to begin with, in turn, as shares of the value: some problems want more heat than others.
struct Round {
  std::size_t least;
  std::size_t most;
  double share;
  std::array<double, 2> heats;
};
constexpr std::array<Round, 2> kRounds = {{{.least = 4, .most = 12, .share = 0.5, .heats = {0.005, 0.015}},
                                           {.least = 4, .most = 4, .share = 0.3, .heats = {0.003, 0.003}}}};

/// Where the best of a round takes this many times as long as the rival, no round follows: later ones are colder, and gain less.
constexpr double kFar = 1.01;

/// Problems are shared between designs that differ in less.
using ProblemPtr = std::shared_ptr<const Problem>;

/// A design, the policy of its order, and its result.
struct Played {
  Design design;
  Policy policy;
  ProblemPtr problem;
  ProblemPtr played = nullptr;  ///< the same for the player, eased()
  EntryRun run = {};            ///< its result
};

bool is_better_played(const Played& a, const Played& b) {
  return is_better(a.run, b.run);
}

class DesignChain {
 public:
  DesignChain(const ProblemOf& problem_of, const DesignOptions& options, Chain& chain)
      : problem_of_(problem_of), options_(options), chain_(chain) {}

  /// The design under the best of the first policies.
  [[nodiscard]] Played first(const Design& design) {
    Played best;
    const ProblemPtr problem = made(design);
    if (!problem) return best;
    for (const Copying copying : first_copyings(*problem)) {
      Played like{.design = design, .policy = {}, .problem = problem};
      like.design.copying = copying;
      ease(like);
      for (std::vector<Policy>& family : first_policies(*like.played))
        for (Policy& policy : family) {
          Played next = like;
          next.policy = std::move(policy);
          if (!play(next)) return best;
          if (is_better_played(next, best)) best = std::move(next);
        }
    }
    return best;
  }

  /// Changes it at random, keeping what is better and, the earlier the likelier, what is worse.
  [[nodiscard]] Played anneal(const Played& from, double heat) {
    Played best = from;
    Played now = from;
    const double hot = heat * static_cast<double>(from.run.value);
    const double began = chain_.share();
    bool goes_on = from.run.value != kMaxTicks;
    while (goes_on) {
      Played next = now;
      const Changed changed = change(next);
      if (changed == Changed::Design) next.problem = made(next.design);
      if (changed >= Changed::Copying && next.problem) ease(next);
      goes_on = changed == Changed::Nothing || !next.problem ? chain_.spend(kProblemWork) : play(next);
      if (changed == Changed::Nothing || !next.problem || next.run.value == kMaxTicks) continue;
      if (is_better_played(next, best)) best = next;
      const double share = (chain_.share() - began) / (1 - began);
      const double worse = next.run.energy() - now.run.energy();
      if (worse <= 0 || chain_.random.unit() < std::exp(-worse / (hot * std::pow(0.01, share))))
        now = std::move(next);
    }
    return best;
  }

 private:
  static std::vector<Copying> first_copyings(const Problem& problem) {
    if (!problem.has_copies()) return {Copying{}};
    return {{.room = 2, .prefetch = 1}, {.room = 3, .prefetch = 2}, {.room = 5, .prefetch = 4}};
  }

  [[nodiscard]] ProblemPtr made(const Design& design) const {
    auto problem = problem_of_(design);
    return problem ? std::make_shared<const Problem>(std::move(*problem)) : nullptr;
  }

  static void ease(Played& played) {
    played.played = played.problem->needs_entries()
                        ? std::make_shared<const Problem>(eased(*played.problem, played.design.copying.room))
                        : played.problem;
  }

  /// One change or two.
  [[nodiscard]] Changed change(Played& played) {
    Changed out = Changed::Nothing;
    for (std::size_t i = 1 + chain_.random.below(2); i-- > 0;)
      out = std::max(out,
                     change_design(played.design, played.policy, options_, *played.problem, chain_.random));
    return out;
  }

  /// False where the chain has no work left.
  bool play(Played& played) {
    Player player(*played.played);
    const auto value = player.play(played.policy);
    played.run = value ? EntryRun{.value = *value, .mean = player.mean_lateness()} : EntryRun();
    // A play takes about as long as three timings of its ops, and its copies as long again.
    std::size_t timings = 3;
    if (value && played.problem->needs_entries()) {
      timings += 3;
      played.run =
          run_entries(*played.problem, player.words(), played.design.copying.prefetch).value_or(played.run);
    }
    return chain_.spend(kProblemWork + static_cast<std::int64_t>(timings * played.problem->num_ops()));
  }

  const ProblemOf& problem_of_;
  const DesignOptions& options_;
  Chain& chain_;
};

class DesignSearch {
 public:
  DesignSearch(const ProblemOf& problem_of, const DesignOptions& options)
      : problem_of_(problem_of),
        options_(options),
        rounds_(options.seed, options.threads, options.progress) {}

  std::optional<FoundDesign> run(const std::vector<Design>& starts) {
    if (starts.empty()) return std::nullopt;
    best_ = std::vector<Played>(starts.size());
    round(starts.size(), kFirstShare,
          [&](std::size_t i, DesignChain& chain) { best_[i] = chain.first(starts[i]); });
    for (const Round& how : kRounds) {
      std::ranges::stable_sort(best_, is_better_played);
      const std::vector<Played> from = best_;
      best_.resize(std::clamp(from.size(), how.least, how.most));
      round(best_.size(), how.share, [&](std::size_t i, DesignChain& chain) {
        best_[i] = chain.anneal(from[i % from.size()], how.heats[i % how.heats.size()]);
      });
      if (is_far()) break;
    }
    const Played& best = *std::ranges::min_element(best_, is_better_played);
    if (standing_of(best.run) == Standing::None) return std::nullopt;
    return found(best);
  }

 private:
  [[nodiscard]] bool is_far() const {
    const EntryRun& best = std::ranges::min_element(best_, is_better_played)->run;
    return options_.rival < kMaxTicks && standing_of(best) == Standing::Fits &&
           static_cast<double>(best.value) > kFar * static_cast<double>(options_.rival);
  }

  /// So many chains share a part of the work of four.
  template <class Work>
  void round(std::size_t count, double share, const Work& body) {
    const auto work = static_cast<std::int64_t>(4 * share * static_cast<double>(options_.work)) /
                      static_cast<std::int64_t>(count);
    rounds_.run(count, work, [&](std::size_t i, Chain& chain) {
      DesignChain designs(problem_of_, options_, chain);
      body(i, designs);
      if (standing_of(best_[i].run) == Standing::Fits) rounds_.note(best_[i].run.value);
    });
  }

  /// Played once more for its words, which may be shorter than the play: that waits at times for what then does not come first.
  [[nodiscard]] static FoundDesign found(const Played& best) {
    Player player(*best.played);
    static_cast<void>(player.play(best.policy));
    const bool is_as_played = best.problem->needs_entries() || !best.problem->pairs.empty();
    const Ticks value =
        is_as_played ? best.run.value : value_of(*best.problem, player.words()).value_or(best.run.value);
    return {best.design, player.words(), value, standing_of(best.run) == Standing::Fits};
  }

  const ProblemOf& problem_of_;
  const DesignOptions& options_;
  Rounds rounds_;
  std::vector<Played> best_;
};

}  // namespace

std::optional<FoundDesign> search_design(const std::vector<Design>& starts, const ProblemOf& problem_of,
                                         const DesignOptions& options) {
  return DesignSearch(problem_of, options).run(starts);
}

std::vector<int> even_layers(int layers, int stages) {
  const int left = layers % stages;
  const int first = (stages - left) / 2;  // of those with one more
  std::vector<int> out;
  for (int s = 0; s < stages; ++s) {
    const bool more = s >= first && s < first + left;
    out.push_back(layers / stages + (more ? 1 : 0));
  }
  for (std::size_t s = 1; s + 1 < out.size(); ++s) {
    if (out[s] > 0) continue;
    out[s] = 1;
    --(out.front() > 0 ? out.front() : out.back());
  }
  return out;
}

}  // namespace pipeloom::orders
