#include "sim/orders/search/search.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/orders/blocks/extension.hpp"
#include "sim/orders/exact/proof.hpp"
#include "sim/orders/search/anneal.hpp"
#include "sim/orders/search/block_search.hpp"
#include "sim/orders/search/chains.hpp"
#include "sim/orders/search/follower.hpp"
#include "sim/orders/search/policy_search.hpp"

namespace pipeloom::orders {
namespace {

/// Chains of each phase. Fixed, so that the order found does not depend on the threads that run them.
constexpr std::size_t kChains = 4;
/// Temperatures to begin with, in mean durations of an op: hot chains leave poor orders, cold ones polish good ones.
constexpr std::array<double, kChains> kHeats = {0.8, 0.3, 2.0, 0.1};
/// Shares of the work. Following comes on top of the whole: taken from the others, it lost at limits below p what it won on V shapes.
struct Shares {
  double policies = 0;
  double following = 0;
  double annealing = 0;
  int rounds = 1;  ///< of annealing, each from the best of the one before

  [[nodiscard]] double all() const { return policies + following + annealing; }
};
constexpr Shares kOneStage = {0.5, 0.25, 0.5};
/// Where ranks have several stages, policies come less close to the best order.
constexpr Shares kSeveralStages = {0.25, 0.25, 0.75, 2};
/// Where blocks have given orders to begin with, policies hardly ever find better ones.
constexpr Shares kBehindBlocks = {0, 0.5, 0.75, 2};
/// Shares of the work that proofs take, before policies are searched and after annealing: one part in this number.
constexpr std::int64_t kFirstProof = 8;
constexpr std::int64_t kLastProof = 4;
/// Orders of fewer microbatches are extended from this multiple of them on.
constexpr std::size_t kExtended = 4;
/// Their microbatches differ by a multiple of this.
constexpr std::size_t kWholeBlocks = 12;
/// Most orders that begin with blocks and are extended.
constexpr std::size_t kMostExtended = 4;
/// Of the bound: an extended order that is as close is worth no search with all microbatches.
constexpr double kCloseEnough = 1.001;
/// search_in_two(): the first has one part in this number.
constexpr std::int64_t kSmall = 16;

/// `options` of a search that is a part of a whole, from `begin` to `end`.
SearchOptions part_of(const SearchOptions& options, double begin, double end) {
  SearchOptions out = options;
  if (options.progress)
    out.progress = [&options, begin, end](SearchProgress now) {
      constexpr double kJustBegun = 0.001;  // neither the beginning nor the end
      now.done = begin + (end - begin) * std::clamp(now.done, kJustBegun, 1 - kJustBegun);
      return options.progress(now);
    };
  return out;
}

class Search {
 public:
  Search(const Problem& problem, const SearchOptions& options)
      : problem_(problem),
        options_(options),
        shares_(problem.stages.size() > problem.ranks() ? kSeveralStages : kOneStage) {}

  std::optional<FoundOrder> run(const std::vector<StartOrder>& starts) {
    found_.bound = best_bound(problem_, kMaxTicks, [this] { return is_told_to_stop(); });
    take_starts(starts);
    if (!done()) take_extended();
    if (has_enough_) return finish();
    if (!done()) take_blocks();
    if (!done()) take_policies();
    if (!done() && found_.value != kMaxTicks) try_to_prove(kFirstProof);
    if (!done() && !policies_.empty() && shares_.policies > 0) improve_policies();
    if (!done() && found_.value != kMaxTicks)
      improve_orders(follow, shares_.following, "following", followed());
    for (int round = 0; round < shares_.rounds && !done() && found_.value != kMaxTicks; ++round)
      improve_orders(anneal, shares_.annealing / shares_.rounds, "annealing", annealed());
    if (!done() && found_.value != kMaxTicks) try_to_prove(kLastProof);
    return finish();
  }

 private:
  std::optional<FoundOrder> finish() {
    if (found_.value == kMaxTicks) return std::nullopt;
    found_.proven = found_.value <= found_.bound.value;
    keep_runners_up();
    return std::move(found_);
  }

  [[nodiscard]] bool done() const { return stopped_ || found_.value <= enough(); }
  /// The value at which nothing more is sought.
  [[nodiscard]] Ticks enough() const {
    return options_.runners_up > 0 ? -1 : std::max(found_.bound.value, options_.enough);
  }

  void take(const Order& order, Ticks value, const std::string& origin) {
    if (options_.runners_up > 0 && is_near(value)) seen_.push_back({.order = order, .value = value});
    if (value >= found_.value) return;
    found_.order = order;
    found_.value = value;
    found_.origin = origin;
  }

  [[nodiscard]] bool is_near(Ticks value) const {
    return static_cast<double>(value) <= kNear * static_cast<double>(found_.value);
  }
  void keep_runners_up() {
    std::ranges::stable_sort(seen_, {}, &Best::value);
    for (Best& one : seen_) {
      if (found_.runners_up.size() == options_.runners_up || !is_near(one.value)) return;
      const bool known = one.order == found_.order ||
                         std::ranges::find(found_.runners_up, one.order) != found_.runners_up.end();
      if (!known) found_.runners_up.push_back(std::move(one.order));
    }
  }

  void take_starts(const std::vector<StartOrder>& starts) {
    for (const StartOrder& start : starts) {
      if (is_told_to_stop()) return;
      if (!keeps_limits(problem_, start.order)) continue;
      if (const auto value = value_of(problem_, start.order)) take(start.order, *value, start.name);
    }
  }

  /// On a V, where what blocks give repeats: orders of fewer microbatches, with more of the blocks that they repeat.
  void take_extended() {
    const auto smaller = extendable();
    if (!smaller) return;
    SearchOptions options = options_;
    options.runners_up = 0;
    options.enough = 0;
    options.progress = [this](const SearchProgress&) { return !is_told_to_stop(); };
    Search search(*smaller, options);
    const auto found = search.run({});
    if (!found) return;
    take_extended(found->order, *smaller, found->origin);
    for (std::size_t i = 0; i < std::min(search.blocks_.size(), kMostExtended); ++i)
      take_extended(search.blocks_[i].order, *smaller, "blocks");
    // Runners-up are sought all the same.
    has_enough_ = options_.runners_up == 0 &&
                  static_cast<double>(found_.value) <= kCloseEnough * static_cast<double>(found_.bound.value);
  }

  /// The order of a problem with fewer microbatches, if it repeats blocks.
  void take_extended(const Order& order, const Problem& smaller, const std::string& origin) {
    const std::size_t more = problem_.microbatches - smaller.microbatches;
    for (const std::size_t period : periods_of(order, smaller.microbatches)) {
      if (done() || is_told_to_stop()) return;
      if (more % period != 0) continue;
      const Order longer = extended(order, period, more / period);
      if (!keeps_limits(problem_, longer)) return;
      if (const auto value = value_of(problem_, longer)) take(longer, *value, origin);
      return;
    }
  }

  /// The problem with far fewer microbatches; nothing where orders are not extended.
  [[nodiscard]] std::optional<Problem> extendable() const {
    auto smaller = reduced(problem_);
    if (!smaller || !has_blocks(problem_) || problem_.microbatches < kExtended * smaller->microbatches)
      return std::nullopt;
    smaller->microbatches += (problem_.microbatches - smaller->microbatches) % kWholeBlocks;
    return smaller;
  }

  /// Orders of a V that begin with building blocks. They are where chains begin to follow: what begins best does not always end best.
  void take_blocks() {
    if (!has_blocks(problem_)) {
      ++phase_;  // without a thread, which takes longer to start than some searches to end
      return;
    }
    std::vector<BlockOrder> found;
    const std::int64_t work =
        options_.block_work > 0 ? options_.block_work : work_of(static_cast<double>(kChains));
    run_chains(1, enough(), work, 0,
               [&](std::size_t, Chain& chain) { found = search_blocks(problem_, chain); });
    if (found.empty()) return;
    shares_ = kBehindBlocks;
    for (BlockOrder& one : found) {
      take(one.best.order, one.best.value, one.name);
      blocks_.push_back(std::move(one.best));
    }
  }

  /// Plays a policy at full size and keeps its order where that is the best so far.
  std::optional<Ticks> play(Player& player, const Policy& policy) {
    const auto value = player.play(policy, [this] { return !is_told_to_stop(); });
    if (!value) return value;
    if (*value < own_value_) {
      own_value_ = *value;
      own_order_ = player.words();
    }
    take(player.words(), *value, "policy");
    return value;
  }

  /// Policies of each family that may be played: as many as the work of the chains allows, one at least.
  [[nodiscard]] std::size_t plays(std::size_t families) const {
    const auto cost = play_cost(problem_) * static_cast<std::int64_t>(families);
    return static_cast<std::size_t>(
        std::max<std::int64_t>(1, work_of(static_cast<double>(kChains)) / std::max<std::int64_t>(1, cost)));
  }

  /// The first policies; where not all may be played, of each family those that are best with fewer microbatches.
  [[nodiscard]] std::vector<std::vector<Policy>> policies_to_play() {
    std::vector<std::vector<Policy>> out = first_policies(problem_);
    const std::size_t most = plays(out.size());
    const bool all = std::ranges::all_of(out, [&](const auto& family) { return family.size() <= most; });
    const auto smaller = all ? std::nullopt : reduced(problem_);
    for (std::vector<Policy>& family : out) {
      if (smaller) sort_by_play(*smaller, family);
      family.resize(std::min(family.size(), most));
    }
    return out;
  }

  /// The best of a play on the problem first; one that reaches its bound is the best, whatever comes after it.
  void sort_by_play(const Problem& problem, std::vector<Policy>& family) {
    Player player(problem);
    const Ticks bound = best_bound(problem).value;
    Ticks best = kMaxTicks;
    std::vector<RankedPolicy> ranked;
    for (Policy& policy : family) {
      const bool plays = best > bound && !is_told_to_stop();
      const Ticks value =
          plays ? player.play(policy, [this] { return !is_told_to_stop(); }).value_or(kMaxTicks) : kMaxTicks;
      best = std::min(best, value);
      ranked.push_back({std::move(policy), value, 0});
    }
    std::ranges::stable_sort(ranked, {}, &RankedPolicy::value);
    for (std::size_t i = 0; i < family.size(); ++i) family[i] = std::move(ranked[i].policy);
  }

  void take_policies() {
    Player player(problem_);
    std::vector<std::vector<RankedPolicy>> families;
    for (std::vector<Policy>& family : policies_to_play()) {
      families.emplace_back();
      for (Policy& policy : family) {
        if (is_told_to_stop()) return;
        const auto value = play(player, policy);
        if (!value) continue;
        families.back().push_back({std::move(policy), *value, player.mean_lateness()});
        if (done()) return;
      }
      std::ranges::stable_sort(families.back(), {}, &RankedPolicy::value);
    }
    policies_ = in_turn(std::move(families));
  }

  /// One of each family after the other, so that chains begin from all: what begins best does not always end best.
  static std::vector<RankedPolicy> in_turn(std::vector<std::vector<RankedPolicy>> families) {
    std::erase_if(families, [](const auto& family) { return family.empty(); });
    std::ranges::stable_sort(families, {}, [](const auto& family) { return family.front().value; });
    std::size_t longest = 0;
    for (const auto& family : families) longest = std::max(longest, family.size());
    std::vector<RankedPolicy> out;
    for (std::size_t i = 0; i < longest; ++i)
      for (auto& family : families)
        if (i < family.size()) out.push_back(std::move(family[i]));
    return out;
  }

  /// Each chain from one of the best policies so far, on the problem with fewer microbatches where that is much smaller.
  void improve_policies() {
    const auto smaller = reduced(problem_);
    const Problem& problem = smaller ? *smaller : problem_;
    std::vector<RankedPolicy> best(kChains);
    // A value that is enough for the whole says nothing of a problem with fewer microbatches.
    const Ticks least = options_.runners_up > 0 || !smaller ? enough() : best_bound(*smaller).value;
    run_chains(kChains, least, work_of(shares_.policies), shares_.policies, [&](std::size_t i, Chain& chain) {
      RankedPolicy first = policies_[i % policies_.size()];
      best[i] = first;
      if (chain.is_stopped()) return;
      Player player(problem);
      first.value = player.play(first.policy, [&chain] { return !chain.is_stopped(); }).value_or(kMaxTicks);
      first.mean = player.mean_lateness();
      best[i] = search_policies(problem, first, chain);
    });
    Player player(problem_);
    for (const RankedPolicy& found : best)
      if (!stopped_) play(player, found.policy);
  }

  /// Where each chain begins.
  using Starts = std::array<const Order*, kChains>;

  /// Hot chains from the best that a policy gave and what came of it, cold ones from the best of all.
  [[nodiscard]] Starts annealed() const {
    Starts out = {};
    for (std::size_t i = 0; i < kChains; ++i) out[i] = is_own(i) ? &own_order_ : &found_.order;
    return out;
  }
  /// The first from the best of all, others from orders that begin with blocks, where there are any.
  [[nodiscard]] Starts followed() const {
    if (blocks_.empty()) return annealed();
    Starts out = {};
    for (std::size_t i = 0; i < kChains; ++i)
      out[i] = i > 0 && i < blocks_.size() ? &blocks_[i].order : &found_.order;
    return out;
  }

  template <class Improve>
  void improve_orders(const Improve& improve, double share, const std::string& origin, const Starts& from) {
    std::vector<Best> best(kChains);
    run_chains(kChains, enough(), work_of(share), share,
               [&](std::size_t i, Chain& chain) { best[i] = improve(problem_, *from[i], kHeats[i], chain); });
    for (std::size_t i = 0; i < kChains; ++i)
      if (is_own(i) && best[i].value < own_value_) {
        own_value_ = best[i].value;
        own_order_ = best[i].order;
      }
    // Of chains that came to the same, the one that needed least work, so that those that went on for nothing do not count.
    std::ranges::stable_sort(best, [](const Best& a, const Best& b) {
      return std::pair(a.value, a.work) < std::pair(b.value, b.work);
    });
    for (const Best& one : best) take(one.order, one.value, origin);
  }
  [[nodiscard]] bool is_own(std::size_t chain) const { return chain % 2 == 0 && !own_order_.words.empty(); }

  /// All orders that could be better, as far as that share of the work goes.
  void try_to_prove(std::int64_t share) {
    if (!can_be_proven(problem_)) return;
    ProofOptions proof{.states = options_.work / share / static_cast<std::int64_t>(problem_.num_ops())};
    if (options_.progress)
      proof.goes_on = [this] {
        stopped_ = !options_.progress({found_.value, found_.bound.value, 0.5});
        return !stopped_;
      };
    const Proof found = prove(problem_, found_.value, proof);
    if (found.order) take(*found.order, found.value, "proof");
    if (found.complete) found_.bound = {"proof", found_.value};
  }

  [[nodiscard]] std::int64_t work_of(double share) const {
    return static_cast<std::int64_t>(share * static_cast<double>(options_.work));
  }

  /// Runs `work(i, chain)` for `count` chains on the threads, asking the caller meanwhile whether to go on.
  template <class Work>
  void run_chains(std::size_t count, Ticks least, std::int64_t allowed, double share, const Work& work) {
    ++phase_;
    Shared shared{.bound = least, .enough = std::numeric_limits<std::int64_t>::max()};
    orders::run_chains(
        count, options_.threads,
        [&](std::size_t i, const AskNow& ask_now) {
          Chain chain(shared, options_.seed * 1'000'003U + phase_ * 101U + i, allowed, ask_now);
          work(i, chain);
        },
        [&](std::size_t ended) {
          ask((spent_ + share * static_cast<double>(ended) / static_cast<double>(count)) / shares_.all());
          if (stopped_) shared.stop = true;
        });
    spent_ += share;
  }

  /// Asks the caller whether to go on, with the share of the work that is done.
  void ask(double done) {
    if (options_.progress && !options_.progress({found_.value, found_.bound.value, done})) stopped_ = true;
  }

  bool is_told_to_stop() {
    if (!stopped_) ask(spent_ / shares_.all());
    return stopped_;
  }

  const Problem& problem_;
  const SearchOptions& options_;
  Shares shares_;
  FoundOrder found_;
  Order own_order_;
  Ticks own_value_ = kMaxTicks;
  std::vector<RankedPolicy> policies_;
  std::vector<Best> blocks_;  // orders that begin with blocks, best first
  std::vector<Best> seen_;    // where runners-up are wanted: all that were near the best then
  bool has_enough_ = false;   // an extended order is close to the bound
  std::uint64_t phase_ = 0;
  double spent_ = 0;  // share of the work, by the phases before
  bool stopped_ = false;
};

}  // namespace

std::optional<FoundOrder> search_order(const Problem& problem, const std::vector<StartOrder>& starts,
                                       const SearchOptions& options) {
  return Search(problem, options).run(starts);
}

std::optional<FoundOrder> search_in_two(const Problem& problem, const std::vector<StartOrder>& starts,
                                        const SearchOptions& options) {
  if (options.runners_up > 0) return search_order(problem, starts, options);
  SearchOptions less = part_of(options, 0, kFirstPart);
  less.work = options.first_work > 0 ? options.first_work : options.work / kSmall;
  less.block_work = options.block_work / kSmall;
  auto first = search_order(problem, starts, less);
  if (!first || first->proven || first->value <= options.enough) return first;
  if (options.progress && !options.progress({first->value, first->bound.value, kFirstPart})) return first;
  auto whole = search_order(problem, starts, part_of(options, kFirstPart, 1));
  return whole && whole->value <= first->value ? std::move(whole) : std::move(first);
}

}  // namespace pipeloom::orders
