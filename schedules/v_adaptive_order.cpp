#include "schedules/v_adaptive_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedules/generator.hpp"
#include "schedules/registry.hpp"
#include "schedules/v_blocks.hpp"
#include "schedules/v_passes.hpp"
#include "schedules/v_player.hpp"
#include "schedules/v_replay.hpp"

namespace pipeloom::schedules {

namespace {

// Where searches over V schedules start: orders that are known before times are.

/// An order that can be made for any number of microbatches.
struct VGuide {
  enum class Kind {
    Stamped,  ///< a block repeated every `period` slots; weight passes right after their input passes
    Moved,    ///< block_orders() of a block
    Named,    ///< what a schedule of the registry emits
    Serial,   ///< one microbatch after another
  };
  Kind kind = Kind::Serial;
  VBlock block = {};
  int period = kBlockPeriod;
  Generator (*schedule)() = nullptr;
};

/// With fewer blocks than this at the period of six slots, longer periods are tried.
constexpr std::size_t kFewBlocks = 24;

PassOrders stamped(const VGuide& guide, int ranks, int microbatches) {
  const BuildingBlock block = slots_of(guide.block, ranks);
  PassOrders orders;
  std::vector<Placed> line;
  for (const auto& slots : block.slots) {
    line.clear();
    for (int k = 0; k < microbatches; ++k)
      for (std::size_t pass = 0; pass < slots.size(); ++pass)
        line.push_back({slots[pass] + guide.period * k, k, static_cast<Pass>(pass)});
    std::stable_sort(line.begin(), line.end(),
                     [](const Placed& a, const Placed& b) { return a.slot < b.slot; });
    auto& order = orders.emplace_back();
    for (const Placed& placed : line) {
      order.push_back(placed.pass);
      if (!takes_memory(placed.pass)) order.push_back(weight_of(placed.pass));
    }
  }
  return orders;
}

PassOrders serial(int ranks, int microbatches) {
  std::vector<Pass> order;
  for (int k = 0; k < microbatches; ++k)
    for (const Pass pass :
         {Pass::Forward0, Pass::Forward1, Pass::Input1, Pass::Weight1, Pass::Input0, Pass::Weight0})
      order.push_back(pass);
  return PassOrders(static_cast<std::size_t>(ranks), order);
}

PassOrders make_guide(const VGuide& guide, int ranks, int microbatches) {
  switch (guide.kind) {
    case VGuide::Kind::Stamped:
      return stamped(guide, ranks, microbatches);
    case VGuide::Kind::Moved:
      return orders_of(emit_block(slots_of(guide.block, ranks), microbatches));
    case VGuide::Kind::Named:
      return orders_of(make(guide.schedule(), {.ranks = ranks, .microbatches = microbatches, .chunks = 2}));
    default:
      return serial(ranks, microbatches);
  }
}

/// For reports.
std::string text_of(const VGuide& guide, int ranks) {
  if (guide.kind == VGuide::Kind::Named) return guide.schedule().name;
  if (guide.kind == VGuide::Kind::Serial) return "one microbatch after another";
  const std::string block = "block " + text_of(guide.block, ranks);
  return guide.period == kBlockPeriod ? block : fmt::format("{}, every {} slots", block, guide.period);
}

/// Fixed schedules and the serial order.
std::vector<VGuide> fixed_guides() {
  std::vector<VGuide> guides = {{.kind = VGuide::Kind::Serial}};
  for (Generator (*const schedule)() : {v_min, v_half, v_zb, zbv})
    guides.push_back({.kind = VGuide::Kind::Named, .schedule = schedule});
  return guides;
}

/// The stamped blocks that fit the problem with weights at once. If those are few, blocks that do not fit are repeated less often, as often as fits.
std::vector<VGuide> stamped_guides(const VProblem& problem, int microbatches) {
  const auto blocks = v_blocks(problem.ranks());
  const auto guides_at = [&](int period) {
    std::vector<VGuide> guides;
    for (const VBlock& block : blocks) {
      const VGuide guide{.kind = VGuide::Kind::Stamped, .block = block, .period = period};
      if (fits(problem, make_guide(guide, problem.ranks(), microbatches), true)) guides.push_back(guide);
    }
    return guides;
  };
  std::vector<VGuide> guides = guides_at(kBlockPeriod);
  const int longest = 4 * kBlockPeriod * problem.ranks();
  for (int period = kBlockPeriod + 1; guides.size() < kFewBlocks && period < longest;
       period += 1 + period / 8) {
    const auto more = guides_at(period);
    guides.insert(guides.end(), more.begin(), more.end());
  }
  return guides;
}

/// Rules in the order in which they help most.
const std::vector<PlayRule>& rules() {
  static const std::vector<PlayRule> all = [] {
    std::vector<PlayRule> list = {
        {.weights_in_order = false, .weight_late = 0, .other_late = 0},
        {.weights_in_order = false, .weight_late = 0, .other_late = 50},
        {.weights_in_order = true, .weight_late = 0, .other_late = -1},
        {.weights_in_order = true, .weight_late = 0, .other_late = 50},
        {.weights_in_order = false, .weight_late = 0, .other_late = -1},
        {.weights_in_order = false, .weight_late = 50, .other_late = 50},
        {.weights_in_order = true, .weight_late = 0, .other_late = 0},
        {.weights_in_order = false, .weight_late = 100, .other_late = 50},
    };
    const std::size_t plain = list.size();
    for (const bool by_latest : {false, true})
      for (std::size_t i = 0; i < plain; ++i) {
        list.push_back(list[i]);
        list.back().uses_latest = true;
        list.back().by_latest = by_latest;
      }
    return list;
  }();
  return all;
}

/// How many candidates go on from one step of the search to the next.
constexpr std::size_t kMoved = 48;     ///< stamped blocks whose ends are also reworked
constexpr std::size_t kPolished = 24;  ///< orders that are played under every rule
constexpr std::size_t kFinal = 6;      ///< orders that are made for all microbatches
constexpr int kRounds = 4;             ///< plays of one order one after another
/// The first rules, under which every stamped block is played.
constexpr std::size_t kFirstRules = 2;

/// A guide and the rules under which it is played one after another.
struct Recipe {
  VGuide guide;
  std::vector<std::size_t> rules = {};
};

struct Candidate {
  Recipe recipe;
  PassOrders orders;
  Replayed times;
  double estimate = 0;  ///< of the window for all microbatches
};

class Search {
 public:
  Search(const VProblem& problem, int microbatches, const SearchProgress& progress)
      : problem_(problem),
        m_(microbatches),
        tried_(std::min(microbatches, 3 * problem.ranks() + 4)),
        progress_(progress) {}

  /// The cheapest candidate for all microbatches; nothing if cancelled.
  std::optional<Candidate> run();

 private:
  [[nodiscard]] bool goes_on(double done) const { return !progress_ || progress_(done); }
  [[nodiscard]] std::optional<Candidate> measured(Recipe recipe, PassOrders orders, int microbatches) const;
  [[nodiscard]] std::optional<Candidate> played(const Candidate& from, std::size_t rule,
                                                int microbatches) const;
  [[nodiscard]] PassOrders play_on(const PassOrders& orders, std::size_t rule, int microbatches) const;
  void add(std::optional<Candidate> candidate) {
    if (candidate) candidates_.push_back(std::move(*candidate));
    if (candidates_.size() > 8 * kMoved) keep_best(2 * kMoved);
  }
  void keep_best(std::size_t count);
  bool play_stamped();
  bool rework_ends();
  void polish(Candidate& candidate, int microbatches) const;
  bool polish_all();
  [[nodiscard]] std::optional<Candidate> remade(const Recipe& recipe) const;

  const VProblem& problem_;
  int m_;
  int tried_;
  const SearchProgress& progress_;
  std::vector<Candidate> candidates_;
};

std::optional<Candidate> Search::measured(Recipe recipe, PassOrders orders, int microbatches) const {
  if (!fits(problem_, orders, false)) return std::nullopt;
  const auto times = replay(problem_, orders, microbatches);
  if (!times) return std::nullopt;
  const double estimate = static_cast<double>(times->window) + (m_ - microbatches) * times->period;
  return Candidate{std::move(recipe), std::move(orders), *times, estimate};
}

std::optional<Candidate> Search::played(const Candidate& from, std::size_t rule, int microbatches) const {
  Recipe recipe = from.recipe;
  recipe.rules.push_back(rule);
  return measured(std::move(recipe), play_on(from.orders, rule, microbatches), microbatches);
}

PassOrders Search::play_on(const PassOrders& orders, std::size_t rule, int microbatches) const {
  if (!rules()[rule].uses_latest) return play(problem_, orders, microbatches, rules()[rule]);
  LatestStarts latest;
  if (!replay(problem_, orders, microbatches, &latest)) return orders;
  return play(problem_, orders, microbatches, rules()[rule], &latest);
}

void Search::keep_best(std::size_t count) {
  std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.estimate, a.times.makespan) < std::pair(b.estimate, b.times.makespan);
  });
  // Guides often end in the same order.
  const auto same = [](const Candidate& a, const Candidate& b) {
    return a.times == b.times && a.orders == b.orders;
  };
  candidates_.erase(std::unique(candidates_.begin(), candidates_.end(), same), candidates_.end());
  if (candidates_.size() > count)
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(count), candidates_.end());
}

bool Search::play_stamped() {
  const auto guides = stamped_guides(problem_, tried_);
  for (std::size_t i = 0; i < guides.size(); ++i) {
    if (!goes_on(0.4 * static_cast<double>(i) / static_cast<double>(guides.size()))) return false;
    Candidate start{
        .recipe = {guides[i]}, .orders = make_guide(guides[i], problem_.ranks(), tried_), .times = {}};
    for (std::size_t rule = 0; rule < kFirstRules; ++rule) add(played(start, rule, tried_));
  }
  return true;
}

bool Search::rework_ends() {
  std::vector<VGuide> guides = fixed_guides();
  for (std::size_t i = 0; i < candidates_.size() && i < kMoved; ++i) {
    VGuide guide = candidates_[i].recipe.guide;
    if (guide.period != kBlockPeriod) continue;
    guide.kind = VGuide::Kind::Moved;
    guides.push_back(guide);
  }
  for (std::size_t i = 0; i < guides.size(); ++i) {
    if (!goes_on(0.4 + 0.3 * static_cast<double>(i) / static_cast<double>(guides.size()))) return false;
    Candidate start{
        .recipe = {guides[i]}, .orders = make_guide(guides[i], problem_.ranks(), tried_), .times = {}};
    if (!fits(problem_, start.orders, true)) continue;
    add(measured(start.recipe, start.orders, tried_));
    for (std::size_t rule = 0; rule < kFirstRules; ++rule) add(played(start, rule, tried_));
  }
  return true;
}

/// Plays the order on under whichever rule makes it cheaper, until none does.
void Search::polish(Candidate& candidate, int microbatches) const {
  for (int round = 0; round < kRounds; ++round) {
    std::optional<Candidate> best;
    for (std::size_t rule = 0; rule < rules().size(); ++rule) {
      auto next = played(candidate, rule, microbatches);
      if (next && (!best || next->estimate < best->estimate)) best = std::move(next);
    }
    if (!best || best->estimate >= candidate.estimate) return;
    candidate = std::move(*best);
  }
}

bool Search::polish_all() {
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (!goes_on(0.7 + 0.2 * static_cast<double>(i) / static_cast<double>(candidates_.size()))) return false;
    polish(candidates_[i], tried_);
  }
  return true;
}

/// The recipe once more, for all microbatches.
std::optional<Candidate> Search::remade(const Recipe& recipe) const {
  PassOrders orders = make_guide(recipe.guide, problem_.ranks(), m_);
  if (!recipe.rules.empty() && !fits(problem_, orders, true)) return std::nullopt;
  for (const std::size_t rule : recipe.rules) orders = play_on(orders, rule, m_);
  return measured(recipe, std::move(orders), m_);
}

std::optional<Candidate> Search::run() {
  if (!play_stamped()) return std::nullopt;
  keep_best(2 * kMoved);
  if (!rework_ends()) return std::nullopt;
  keep_best(kPolished);
  if (!polish_all()) return std::nullopt;
  keep_best(kFinal);
  if (tried_ < m_) {
    std::vector<Candidate> small = std::exchange(candidates_, {});
    for (std::size_t i = 0; i < small.size(); ++i) {
      if (!goes_on(0.9 + 0.1 * static_cast<double>(i) / static_cast<double>(small.size())))
        return std::nullopt;
      add(remade(small[i].recipe));
    }
    for (const VGuide& guide : fixed_guides()) {
      add(remade({.guide = guide}));
      add(remade({.guide = guide, .rules = {0}}));
    }
    keep_best(1);
    polish(candidates_.front(), m_);
  }
  return std::move(candidates_.front());
}

}  // namespace

std::variant<VAdaptiveOrder, LeastLimit, SearchCancelled> v_adaptive_order(const Terms& terms, int ranks,
                                                                           int microbatches,
                                                                           std::span<const Bytes> limit,
                                                                           const SearchProgress& progress) {
  const VProblem problem(terms, ranks, limit);
  LeastLimit least;
  bool fits_all = true;
  for (int rank = 0; rank < ranks; ++rank) {
    least.bytes.push_back(least_bytes(problem.at(rank)));
    fits_all &= least.bytes.back() <= problem.at(rank).limit;
  }
  if (!fits_all) return least;
  const auto best = Search(problem, microbatches, progress).run();
  if (!best) return SearchCancelled{};
  return VAdaptiveOrder{.schedule = schedule_of(best->orders, microbatches),
                        .cost = best->times.window,
                        .origin = text_of(best->recipe.guide, ranks)};
}

}  // namespace pipeloom::schedules
