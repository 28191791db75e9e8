#include "schedules/v_adaptive_order.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "schedules/v_guides.hpp"
#include "schedules/v_player.hpp"
#include "schedules/v_replay.hpp"

namespace pipeloom::schedules {
namespace {

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
