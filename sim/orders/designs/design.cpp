#include "sim/orders/designs/design.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

#include "sim/orders/designs/design_move.hpp"
#include "sim/orders/search/chain.hpp"
#include "sim/orders/search/chains.hpp"
#include "sim/orders/search/policy_search.hpp"

namespace pipeloom::orders {
namespace {

/// Ops that could be timed while the problem of a design is made.
constexpr std::int64_t kProblemWork = 1000;
/// Chains of the second round, from the best of the first.
constexpr std::size_t kPolished = 4;
/// Temperatures to begin with, as shares of the value.
constexpr double kFirstHeat = 0.01;
constexpr double kPolishHeat = 0.003;

/// A design, the policy of its order, and what that comes to.
struct Played {
  Design design;
  Policy policy;
  std::shared_ptr<const Problem> problem;
  Ticks value = kMaxTicks;
  double mean = 0;

  [[nodiscard]] double energy() const { return static_cast<double>(value) + 0.05 * mean; }
};

bool is_better(const Played& a, const Played& b) {
  return a.value < b.value || (a.value == b.value && a.mean < b.mean);
}

class DesignChain {
 public:
  DesignChain(const ProblemOf& problem_of, const DesignOptions& options, Chain& chain)
      : problem_of_(problem_of), options_(options), chain_(chain) {}

  /// The design under the best of the first policies.
  [[nodiscard]] Played first(const Design& design) {
    Played best;
    const std::shared_ptr<const Problem> problem = made(design);
    if (!problem) return best;
    for (std::vector<Policy>& family : first_policies(*problem))
      for (Policy& policy : family) {
        Played next{design, std::move(policy), problem};
        if (!play(next)) return best;
        if (is_better(next, best)) best = std::move(next);
      }
    return best;
  }

  /// Changes it at random, keeping what is better and, the earlier the likelier, what is worse.
  [[nodiscard]] Played anneal(const Played& from, double heat) {
    Played best = from;
    Played now = from;
    const double hot = heat * static_cast<double>(from.value);
    const double began = chain_.share();
    bool goes_on = from.value != kMaxTicks;
    while (goes_on) {
      Played next = now;
      const Changed changed = change(next);
      if (changed == Changed::Design) next.problem = made(next.design);
      goes_on = changed == Changed::Nothing || !next.problem ? chain_.spend(kProblemWork) : play(next);
      if (changed == Changed::Nothing || !next.problem || next.value == kMaxTicks) continue;
      if (is_better(next, best)) best = next;
      const double share = (chain_.share() - began) / (1 - began);
      const double worse = next.energy() - now.energy();
      if (worse <= 0 || chain_.random.unit() < std::exp(-worse / (hot * std::pow(0.01, share))))
        now = std::move(next);
    }
    return best;
  }

 private:
  [[nodiscard]] std::shared_ptr<const Problem> made(const Design& design) const {
    auto problem = problem_of_(design);
    return problem ? std::make_shared<const Problem>(std::move(*problem)) : nullptr;
  }

  /// One change or two.
  [[nodiscard]] Changed change(Played& played) {
    const Problem& problem = *played.problem;
    Changed out = Changed::Nothing;
    for (std::size_t i = 1 + chain_.random.below(2); i-- > 0;)
      out = std::max(out, change_design(played.design, played.policy, options_, problem.ranks(),
                                        static_cast<std::int32_t>(problem.microbatches), chain_.random));
    return out;
  }

  /// False where the chain has no work left.
  bool play(Played& played) {
    Player player(*played.problem);
    played.value = player.play(played.policy).value_or(kMaxTicks);
    played.mean = player.mean_lateness();
    // A play takes about as long as three timings of its ops.
    return chain_.spend(kProblemWork + static_cast<std::int64_t>(3 * played.problem->num_ops()));
  }

  const ProblemOf& problem_of_;
  const DesignOptions& options_;
  Chain& chain_;
};

class DesignSearch {
 public:
  DesignSearch(const ProblemOf& problem_of, const DesignOptions& options)
      : problem_of_(problem_of), options_(options) {}

  std::optional<FoundDesign> run(const std::vector<Design>& starts) {
    if (starts.empty()) return std::nullopt;
    best_ = std::vector<Played>(starts.size());
    const auto share =
        static_cast<std::int64_t>(4 * (options_.work / 2) / static_cast<std::int64_t>(starts.size()));
    round(starts.size(), share, [&](std::size_t i, DesignChain& chain) {
      best_[i] = chain.anneal(chain.first(starts[i]), kFirstHeat);
    });
    std::ranges::stable_sort(best_, is_better);
    const std::size_t polished = std::min(kPolished, best_.size());
    if (best_.front().value == kMaxTicks) return std::nullopt;
    round(polished, 4 * (options_.work / 2) / static_cast<std::int64_t>(polished),
          [&](std::size_t i, DesignChain& chain) { best_[i] = chain.anneal(best_[i], kPolishHeat); });
    return found(*std::ranges::min_element(best_, is_better));
  }

 private:
  template <class Work>
  void round(std::size_t count, std::int64_t work, const Work& body) {
    ++round_;
    if (stopped_) return;
    Shared shared{.bound = 0, .enough = std::numeric_limits<std::int64_t>::max()};
    run_chains(
        count, options_.threads,
        [&](std::size_t i) {
          Chain chain(shared, options_.seed * 1'000'003U + round_ * 101U + i, work);
          DesignChain designs(problem_of_, options_, chain);
          body(i, designs);
          note(best_[i].value);
        },
        [&](std::size_t) {
          if (!options_.progress || options_.progress(least_.load())) return;
          stopped_ = true;
          shared.stop = true;
        });
  }

  void note(Ticks value) {
    Ticks least = least_.load();
    while (value < least && !least_.compare_exchange_weak(least, value)) {
    }
  }

  [[nodiscard]] static FoundDesign found(const Played& best) {
    Player player(*best.problem);
    static_cast<void>(player.play(best.policy));
    return {best.design, player.words(), best.value};
  }

  const ProblemOf& problem_of_;
  const DesignOptions& options_;
  std::vector<Played> best_;
  std::atomic<Ticks> least_ = kMaxTicks;
  std::uint64_t round_ = 0;
  bool stopped_ = false;
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
