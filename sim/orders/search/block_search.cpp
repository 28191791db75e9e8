#include "sim/orders/search/block_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "sim/orders/blocks/blocks.hpp"
#include "sim/orders/search/follower.hpp"

namespace pipeloom::orders {
namespace {

/// How an order is followed.
struct Rule {
  bool free_weights = false;
  std::int32_t weight_patience = 100;
  bool in_turn = false;  ///< all but free weights
  std::int32_t patience = 100;
  bool uses_latest = false;  ///< ops may be late as far as that does no harm
};
/// In the order in which they help most.
constexpr std::array<Rule, 12> kRules = {{
    {.free_weights = true},
    {.free_weights = true, .patience = 50},
    {.in_turn = true},
    {.patience = 50},
    {.free_weights = true, .in_turn = true},
    {.free_weights = true, .weight_patience = 50, .patience = 50},
    {},
    {.free_weights = true, .weight_patience = 0, .patience = 50},
    {.free_weights = true, .uses_latest = true},
    {.free_weights = true, .patience = 50, .uses_latest = true},
    {.in_turn = true, .uses_latest = true},
    {.patience = 50, .uses_latest = true},
}};

/// How many go on from one step of the search to the next.
constexpr std::size_t kFirstRules = 2;  ///< under which every block is followed
constexpr int kTurns = 6;               ///< of Block::turn to begin with
constexpr std::size_t kRefined = 12;    ///< blocks whose neighbours in `turn` are tried
constexpr std::size_t kMoved = 16;      ///< blocks whose ends are reworked too
constexpr std::size_t kPolished = 24;   ///< orders that are followed under every rule
constexpr std::size_t kFinal = 6;       ///< orders that are made for all microbatches
constexpr int kRounds = 4;              ///< of one order
/// With fewer blocks than this at the period of six slots, longer periods are tried.
constexpr std::size_t kFewBlocks = 24;
/// Of the work, for all that comes before the polish.
constexpr double kFirstShare = 0.5;
/// A play takes about as long as four timings.
constexpr std::int64_t kPlay = 4;

/// A block, how it is stamped, and the rules under which its order is followed one after another.
struct Recipe {
  Block block = {};
  Stamping stamping = {};
  std::vector<std::size_t> rules = {};
};

struct Made {
  Recipe recipe;
  Best best = {};
  double estimate = 0;  ///< of the value for all microbatches
};

std::string name_of(const Recipe& recipe, std::size_t ranks) {
  std::string name = "block " + text_of(recipe.block, ranks);
  if (recipe.stamping.period != kBlockPeriod) name += fmt::format(", every {} slots", recipe.stamping.period);
  return name;
}

/// Makes orders of recipes for one number of microbatches, of `all`.
class Maker {
 public:
  Maker(const Problem& problem, std::size_t all, Chain& chain)
      : problem_(problem),
        more_(static_cast<double>(all - problem.microbatches)),
        follower_(problem),
        chain_(chain) {
    for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
      least_pace_ = std::max(least_pace_, problem.at(rank, 0).work() + problem.at(rank, 1).work());
  }

  [[nodiscard]] std::int64_t cost() const { return kPlay * static_cast<std::int64_t>(problem_.num_ops()); }
  [[nodiscard]] bool goes_on() const { return goes_on_; }
  [[nodiscard]] std::optional<Order> stamp(const Recipe& recipe) const {
    return stamped(problem_, recipe.block, recipe.stamping);
  }

  /// The recipe's order, unchanged.
  Made as_stamped(const Recipe& recipe, const Order& order) {
    (void)follower_.play(order, freedom_of({.in_turn = true}));
    return taken({.block = recipe.block, .stamping = recipe.stamping});
  }
  Made followed(const Made& from, std::size_t rule) {
    const Rule& how = kRules[rule];
    Freedom freedom = freedom_of(how);
    if (how.uses_latest) {
      (void)follower_.play(from.best.order, freedom_of({.in_turn = true}));
      freedom.latest = follower_.latest_starts();
    }
    (void)follower_.play(from.best.order, freedom);
    Recipe recipe = from.recipe;
    recipe.rules.push_back(rule);
    return taken(std::move(recipe));
  }
  /// Follows on under whichever rule makes it shorter, until none does.
  void polish(Made& made) {
    for (int round = 0; round < kRounds; ++round) {
      std::optional<Made> best;
      for (std::size_t rule = 0; rule < kRules.size() && goes_on_; ++rule) {
        Made next = followed(made, rule);
        if (!best || next.estimate < best->estimate) best = std::move(next);
      }
      if (!best || best->estimate >= made.estimate) return;
      made = std::move(*best);
    }
  }
  /// The recipe from its beginning; nothing where it does not fit as many microbatches.
  std::optional<Made> remade(const Recipe& recipe) {
    auto order = stamp(recipe);
    if (!order) return std::nullopt;
    Made made = as_stamped(recipe, *order);
    for (const std::size_t rule : recipe.rules) made = followed(made, rule);
    return made;
  }

 private:
  [[nodiscard]] Freedom freedom_of(const Rule& rule) const {
    // Far enough for all passes of a rank in the middle of any block.
    const auto far = static_cast<std::int32_t>(2 * problem_.ranks() + 4);
    return {.reach = std::vector<std::int32_t>(problem_.ranks(), rule.in_turn ? 1 : far),
            .bias = std::vector<std::int32_t>(3 * problem_.stages.size()),
            .patience = rule.patience,
            .free_weights = rule.free_weights,
            .weight_patience = rule.weight_patience};
  }
  /// The result of the follower.
  Made taken(Recipe recipe) {
    const double pace = std::max(follower_.pace(), static_cast<double>(least_pace_));
    Made made{
        .recipe = std::move(recipe),
        .best = {.order = follower_.words(), .value = follower_.value(), .mean = follower_.mean_lateness()}};
    made.estimate = static_cast<double>(made.best.value) + more_ * pace;
    if (more_ == 0) chain_.reached(made.best.value);
    goes_on_ = chain_.spend(cost());
    return made;
  }

  const Problem& problem_;
  double more_;  // microbatches than the problem has
  Follower follower_;
  Chain& chain_;
  Ticks least_pace_ = 0;  // of any order: what the busiest rank does for one microbatch
  bool goes_on_ = true;
};

Problem with_microbatches(Problem problem, std::size_t microbatches) {
  problem.microbatches = microbatches;
  return problem;
}

class BlockSearch {
 public:
  BlockSearch(const Problem& problem, Chain& chain)
      : ranks_(static_cast<int>(problem.ranks())),
        all_(problem.microbatches),
        small_problem_(with_microbatches(problem, std::min(all_, 3 * problem.ranks() + 4))),
        chain_(chain),
        small_(small_problem_, all_, chain),
        whole_(problem, all_, chain) {}

  std::vector<BlockOrder> run() {
    if (most_at_first() == 0) return {};
    try_blocks();
    rework_ends();
    keep_best(made_, kPolished);
    if (is_reduced() && !made_.empty() && small_.goes_on()) take(whole_.remade(made_.front().recipe));
    for (Made& one : made_)
      if (goes_on()) small_.polish(one);
    keep_best(made_, kFinal);
    if (is_reduced()) {
      for (const Made& one : made_)
        if (final_.empty() || goes_on()) take(whole_.remade(one.recipe));
      keep_best(final_, kFinal);
      if (!final_.empty() && goes_on()) whole_.polish(final_.front());
    } else {
      final_ = std::move(made_);
    }
    keep_best(final_, kFinal);
    std::vector<BlockOrder> out;
    for (Made& one : final_)
      out.push_back({name_of(one.recipe, static_cast<std::size_t>(ranks_)), std::move(one.best)});
    return out;
  }

 private:
  [[nodiscard]] bool is_reduced() const { return small_problem_.microbatches < all_; }
  [[nodiscard]] bool goes_on() const { return small_.goes_on() && whole_.goes_on(); }
  void take(std::optional<Made> made) {
    if (made) final_.push_back(std::move(*made));
  }

  /// Blocks often end in the same order.
  static void keep_best(std::vector<Made>& all, std::size_t count) {
    std::ranges::stable_sort(all, [](const Made& a, const Made& b) {
      return std::pair(a.estimate, a.best.mean) < std::pair(b.estimate, b.best.mean);
    });
    const auto same = [](const Made& a, const Made& b) {
      return a.best.value == b.best.value && a.best.mean == b.best.mean && a.best.order == b.best.order;
    };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    if (all.size() > count) all.erase(all.begin() + static_cast<std::ptrdiff_t>(count), all.end());
  }

  /// The blocks at some turns that fit. If those are few, blocks that do not fit are stamped less often, as often as fits.
  [[nodiscard]] std::vector<Recipe> first_recipes(int step) const {
    std::vector<Block> some = blocks(static_cast<std::size_t>(ranks_));
    std::erase_if(some, [step](const Block& block) { return (block.turn - 1) % step != 0; });
    std::vector<Recipe> out;
    const int longest = 4 * kBlockPeriod * ranks_;
    const auto add = [&](int period) {
      for (const Block& block : some)
        if (fits(small_problem_, block, period))
          out.push_back({.block = block, .stamping = {.period = period}});
    };
    add(kBlockPeriod);
    for (int period = kBlockPeriod + 1; out.size() < kFewBlocks && period < longest; period += 1 + period / 8)
      add(period);
    return out;
  }

  /// Blocks that there is work to begin with.
  [[nodiscard]] std::size_t most_at_first() const {
    const auto cost = static_cast<double>(kFirstRules) * static_cast<double>(small_.cost());
    return static_cast<std::size_t>(kFirstShare * static_cast<double>(chain_.allowed()) / cost);
  }

  /// Of all recipes the number that there is work for, from all over the list.
  void thin_out(std::vector<Recipe>& recipes) const {
    const std::size_t most = most_at_first();
    if (recipes.size() <= most) return;
    std::vector<Recipe> out;
    for (std::size_t i = 0; i < most; ++i) out.push_back(recipes[i * recipes.size() / most]);
    recipes = std::move(out);
  }

  void try_recipe(const Recipe& recipe) {
    const auto known = [&](const Recipe& other) {
      return other.block == recipe.block && other.stamping == recipe.stamping;
    };
    if (!small_.goes_on() || std::ranges::any_of(tried_, known)) return;
    tried_.push_back(recipe);
    auto order = small_.stamp(recipe);
    if (!order) return;
    Made raw{.recipe = recipe, .best = {.order = std::move(*order)}};
    for (std::size_t rule = 0; rule < kFirstRules; ++rule) made_.push_back(small_.followed(raw, rule));
    if (recipe.stamping.moves_ends) made_.push_back(small_.as_stamped(recipe, raw.best.order));
    if (made_.size() > 4 * kMoved) keep_best(made_, 2 * kMoved);
  }

  void try_blocks() {
    int step = std::max(1, (ranks_ - 1 + kTurns - 1) / kTurns);
    std::vector<Recipe> recipes = first_recipes(step);
    thin_out(recipes);
    for (const Recipe& recipe : recipes) try_recipe(recipe);
    const std::vector<Block> all = blocks(static_cast<std::size_t>(ranks_));
    while (step > 1) {
      step = (step + 1) / 2;
      for (const Recipe& one : best_recipes(kRefined))
        for (const int by : {-step, step}) {
          Recipe next = one;
          next.block.turn += by;
          if (std::ranges::find(all, next.block) != all.end()) try_recipe(next);
        }
      if (step == 1) return;
    }
  }

  void rework_ends() {
    for (Recipe recipe : best_recipes(kMoved)) {
      if (recipe.stamping.period != kBlockPeriod) continue;
      recipe.stamping.moves_ends = true;
      try_recipe(recipe);
    }
  }

  /// Those of the best orders, without rules.
  std::vector<Recipe> best_recipes(std::size_t count) {
    keep_best(made_, 2 * kMoved);
    std::vector<Recipe> out;
    for (const Made& one : made_)
      if (out.size() < count) out.push_back({.block = one.recipe.block, .stamping = one.recipe.stamping});
    return out;
  }

  int ranks_;
  std::size_t all_;
  Problem small_problem_;
  Chain& chain_;
  Maker small_;
  Maker whole_;
  std::vector<Recipe> tried_;
  std::vector<Made> made_;   // with fewer microbatches, where there are many
  std::vector<Made> final_;  // with all
};

}  // namespace

bool has_blocks(const Problem& problem) {
  return is_v(problem) && problem.pairs.empty();
}

std::vector<BlockOrder> search_blocks(const Problem& problem, Chain& chain) {
  return BlockSearch(problem, chain).run();
}

}  // namespace pipeloom::orders
