#include "study/explain/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include <pipeloom/error.hpp>
#include <pipeloom/schedules.hpp>
#include "study/explain/amounts.hpp"
#include "study/explain/clocks.hpp"
#include "study/explain/named_causes.hpp"
#include "study/explain/pauses.hpp"
#include "study/explain/stragglers.hpp"
#include "study/explain/worlds.hpp"

namespace pipeloom::study::explain {
namespace {

constexpr double kNamedPart = 0.003;  // of the step
constexpr double kNamedSds = 2;
constexpr int kDraws = 24;
// What shares of the work the steps are, for whoever waits.
constexpr double kFound = 0.2;
constexpr double kSpread = 0.3;
constexpr double kAmounts = 0.4;
constexpr std::size_t kMostPlayers = 9;
constexpr std::size_t kMostOfAKind = 48;  // links, hiccups: what is beyond stays noise or unexplained

/// A cause among those that Shapley's rule weighs, and what it turns on.
struct Player {
  Cause cause;
  Mask mask;
};

Mask union_of(const Mask& a, const Mask& b) {
  return {a.ops | b.ops,
          a.links | b.links,
          a.hiccups | b.hiccups,
          a.pauses | b.pauses,
          a.message_time || b.message_time,
          a.order || b.order,
          a.costs || b.costs,
          a.noise || b.noise,
          a.unexplained || b.unexplained};
}

Mask union_of(const std::vector<Player>& players, std::uint32_t set) {
  Mask mask;
  for (std::size_t i = 0; i < players.size(); ++i)
    if ((set >> i & 1U) != 0) mask = union_of(mask, players[i].mask);
  return mask;
}

/// Drops all but the largest few.
template <class Found, class Size>
void keep_largest(std::vector<Found>& found, Size&& size) {
  if (found.size() <= kMostOfAKind) return;
  std::stable_sort(found.begin(), found.end(),
                   [&](const Found& a, const Found& b) { return size(a) > size(b); });
  found.erase(found.begin() + kMostOfAKind, found.end());
}

/// All that one explanation works on.
class Explainer {
 public:
  Explainer(const Predicted& predicted, const Timeline& measured, const GoesOn& goes_on);
  Explanation run();

 private:
  void tell(double share) const {
    if (goes_on_ && !goes_on_(share)) throw Stopped();
  }
  void set_clocks(bool known_apart);
  void find();
  void find_waits();
  void find_pauses_and_hiccups();
  void drop_cancelled();
  [[nodiscard]] Ticks left_unexplained(const Findings& findings) const;
  void list_players();
  void fold(std::vector<std::size_t> small);
  void make_worlds();
  void check();
  void limit_players();
  void take_amounts(const std::vector<Ticks>& sums);
  /// Amounts of players, then of noise and of the unexplained, summed over the steps.
  std::vector<Ticks> amounts();
  void measure_spreads();
  void measure_alone();
  std::vector<std::size_t> too_small(const std::vector<Ticks>& sums) const;
  [[nodiscard]] Mask everything() const;

  const Predicted& predicted_;
  const GoesOn& goes_on_;
  Wiring wiring_;
  Times times_;
  Order order_;
  Residuals base_;
  std::vector<MeasuredStep> steps_;
  Findings findings_;
  std::vector<Worlds> worlds_;
  std::vector<Player> players_;
  std::vector<RankGaps> gaps_;
  std::vector<std::string> wait_warnings_;
  double noise_sd_ = 0;
  bool as_predicted_ = false;
  Explanation out_;
};

Explainer::Explainer(const Predicted& predicted, const Timeline& measured, const GoesOn& goes_on)
    : predicted_(predicted), goes_on_(goes_on), wiring_(wire(*predicted.timeline.schedule, predicted)) {
  if (wiring_.entries() == 0) throw InputError("the predicted schedule has no ops");
  times_ = entry_times(wiring_, predicted.timeline);
  order_ = order_of(wiring_);
  std::vector<Ticks> duration;
  for (std::size_t e = 0; e < wiring_.entries(); ++e) duration.push_back(times_.end[e] - times_.start[e]);
  const std::vector<Ticks> none(wiring_.links.size(), 0);
  base_ = residuals_of(wiring_, {&order_, duration, none, predicted.rank_time, nullptr}, times_);
  for (Times& times : measured_times(wiring_, measured))
    steps_.push_back(in_order(wiring_, order_, std::move(times)));
  out_.unit = measured.unit;
  out_.steps = measured.steps;
  out_.clock_offset.assign(static_cast<std::size_t>(wiring_.ranks), 0);
  out_.predicted = length_of(times_);
  findings_.waits.rank_time = predicted.rank_time;
  as_predicted_ = std::all_of(steps_.begin(), steps_.end(), [this](const MeasuredStep& step) {
    return is_as_predicted(times_, step.times);
  });
  if (as_predicted_) return;
  findings_.waits.rank_time =
      find_rank_time(wiring_, steps_, {{.times = times_, .order = order_}}, predicted.rank_time);
  set_clocks(false);
}

void Explainer::set_clocks(bool known_apart) {
  const Clocks clocks = find_clocks(wiring_, steps_, findings_.waits.rank_time, known_apart);
  align(wiring_, clocks, steps_);
  out_.clocks_apart = clocks.apart;
  out_.clock_offset = clocks.offset;
  if (!clocks.apart) return;
  out_.warnings.push_back(clock_warning(clocks.uncertain, out_.unit));
  for (const Rank rank : clocks.loose)
    out_.warnings.push_back(fmt::format(
        "nothing ties the clock of rank {} to that of rank 0: it is taken as it is", rank.value()));
}

void Explainer::find_waits() {
  gaps_ = find_gaps(wiring_, base_, steps_, findings_.waits.rank_time);
  findings_.waits.links.clear();
  find_links(wiring_, base_, steps_, gaps_, findings_.waits);
}

void Explainer::find() {
  std::vector<Ticks> duration;
  for (std::size_t e = 0; e < wiring_.entries(); ++e) duration.push_back(times_.end[e] - times_.start[e]);
  std::vector<std::vector<Ticks>> measured;
  for (const MeasuredStep& step : steps_) {
    auto& of_step = measured.emplace_back();
    for (std::size_t e = 0; e < wiring_.entries(); ++e)
      of_step.push_back(step.times.end[e] - step.times.start[e]);
    findings_.reordered = findings_.reordered || step.reordered;
  }
  findings_.ops = find_op_causes(wiring_, duration, measured);
  find_waits();
  if (!out_.clocks_apart &&
      are_apart(wiring_, added_of(wiring_, findings_.waits.links, ~std::uint64_t{0}), small_wait(steps_))) {
    set_clocks(true);
    find_waits();
  }
  keep_largest(findings_.waits.links, [](const LinkCause& link) { return std::abs(link.added); });
  find_pauses_and_hiccups();
  drop_cancelled();
  out_.sigma = findings_.ops.sigma;
  out_.cost_sigma = findings_.ops.cost_sigma;
}

/// What the step is longer or shorter for than everything that was found says, over the steps.
Ticks Explainer::left_unexplained(const Findings& findings) const {
  Mask all = everything();
  Mask found = all;
  found.unexplained = false;
  Ticks left = 0;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    Worlds world(wiring_, times_, base_, order_, findings, predicted_.rank_time, steps_[s],
                 static_cast<int>(s));
    left += world.length(all) - world.length(found);
  }
  return left;
}

/// A slow link that leaves more unexplained than there is without it is none: its messages came before they could have.
void Explainer::drop_cancelled() {
  std::vector<LinkCause>& links = findings_.waits.links;
  bool dropped = false;
  for (std::size_t i = links.size(); i-- > 0;) {
    Findings without = findings_;
    without.waits.links.erase(without.waits.links.begin() + static_cast<std::ptrdiff_t>(i));
    if (std::abs(left_unexplained(without)) >= std::abs(left_unexplained(findings_))) continue;
    findings_ = std::move(without);
    dropped = true;
  }
  if (dropped) find_pauses_and_hiccups();
}

void Explainer::find_pauses_and_hiccups() {
  std::vector<std::string> warnings;
  findings_.hiccups = find_hiccups(wiring_, times_, base_, steps_, findings_, warnings);
  keep_largest(findings_.hiccups, [](const Hiccup& hiccup) {
    Ticks lost = 0;
    for (const Hiccup::Place& place : hiccup.places) lost += place.longer + place.later;
    return lost;
  });
  findings_.pauses = find_pauses(wiring_, base_, steps_, gaps_, findings_);
  wait_warnings_ = std::move(warnings);
}

void Explainer::list_players() {
  const auto bit = [](std::size_t i) { return std::uint64_t{1} << i; };
  const auto& ops = findings_.ops.causes;
  std::vector<std::uint64_t> made_up(findings_.pauses.size(), 0);  // [pause]: op causes that it makes up for
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (const auto pause = made_up_by(wiring_, findings_, ops[i])) {
      made_up[*pause] |= bit(i);
      continue;
    }
    Cause cause = cause_of(ops[i]);
    cause.each = added_by_factor(wiring_, ops, ops[i]);
    if (std::string text = seen_apart(wiring_, ops, ops[i], out_.unit); !text.empty())
      cause.equivalent.push_back(std::move(text));
    players_.push_back({std::move(cause), {.ops = bit(i)}});
  }
  for (std::size_t i = 0; i < findings_.waits.links.size(); ++i)
    players_.push_back({cause_of(findings_.waits.links[i]), {.links = bit(i)}});
  for (std::size_t i = 0; i < findings_.hiccups.size(); ++i)
    players_.push_back({cause_of(wiring_, findings_.hiccups[i]), {.hiccups = bit(i)}});
  for (std::size_t i = 0; i < findings_.pauses.size(); ++i)
    players_.push_back({cause_of(findings_.pauses[i]), {.ops = made_up[i], .pauses = bit(i)}});
  if (findings_.waits.rank_time != predicted_.rank_time)
    players_.push_back(
        {{.kind = CauseKind::MessageTime, .added = findings_.waits.rank_time - predicted_.rank_time},
         {.message_time = true}});
  if (findings_.reordered) {
    Cause cause{.kind = CauseKind::Order};
    for (const MeasuredStep& step : steps_)
      cause.ranks.insert(cause.ranks.end(), step.ranks.begin(), step.ranks.end());
    std::sort(cause.ranks.begin(), cause.ranks.end());
    cause.ranks.erase(std::unique(cause.ranks.begin(), cause.ranks.end()), cause.ranks.end());
    players_.push_back({std::move(cause), {.order = true}});
  }
  if (findings_.ops.cost_sigma > 0) players_.push_back({{.kind = CauseKind::Costs}, {.costs = true}});
}

/// Makes one player of these: causes too small to name.
void Explainer::fold(std::vector<std::size_t> small) {
  if (small.empty()) return;
  const auto costs = std::find_if(players_.begin(), players_.end(),
                                  [](const Player& p) { return p.cause.kind == CauseKind::Costs; });
  if (costs == players_.end()) {
    players_.push_back({{.kind = CauseKind::Costs}, {}});
  } else {
    std::rotate(costs, costs + 1, players_.end());
    const auto was = static_cast<std::size_t>(costs - players_.begin());
    std::erase(small, was);
    for (std::size_t& i : small)
      if (i > was) --i;
  }
  Player& folded = players_.back();
  for (const std::size_t i : small) {
    folded.mask = union_of(folded.mask, players_[i].mask);
    folded.cause.equivalent.push_back(text_of(players_[i].cause, out_.unit));
  }
  std::sort(small.rbegin(), small.rend());
  for (const std::size_t i : small) players_.erase(players_.begin() + static_cast<std::ptrdiff_t>(i));
}

void Explainer::make_worlds() {
  worlds_.reserve(steps_.size());
  for (std::size_t s = 0; s < steps_.size(); ++s)
    worlds_.emplace_back(wiring_, times_, base_, order_, findings_, predicted_.rank_time, steps_[s],
                         static_cast<int>(s));
}

Mask Explainer::everything() const {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  return {kAll, kAll, kAll, kAll, true, true, true, true, true};
}

/// Nothing on is the prediction, everything on the measurement, op by op.
void Explainer::check() {
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const Times none = worlds_[s].times({});
    const Times all = worlds_[s].times(everything());
    if (none.start != times_.start || none.end != times_.end)
      throw InternalError("explain: without causes the times are not the predicted ones");
    if (all.start != steps_[s].times.start || all.end != steps_[s].times.end)
      throw InternalError("explain: with all causes the times are not the measured ones");
  }
}

std::vector<Ticks> Explainer::amounts() {
  const std::size_t n = players_.size();
  std::vector<Ticks> sums(n + 2, 0);
  const std::uint32_t sets = 1U << n;
  Mask noisy = union_of(players_, sets - 1);
  noisy.noise = true;
  for (Worlds& world : worlds_) {
    std::vector<Ticks> value;
    tell(kFound + kSpread +
         kAmounts * static_cast<double>(&world - worlds_.data()) / static_cast<double>(worlds_.size()));
    for (std::uint32_t set = 0; set < sets; ++set) value.push_back(world.length(union_of(players_, set)));
    const std::vector<Ticks> shares = shapley(static_cast<int>(n), value);
    for (std::size_t i = 0; i < n; ++i) sums[i] += shares[i];
    const Ticks with_noise = world.length(noisy);
    sums[n] += with_noise - value.back();
    sums[n + 1] += world.length(everything()) - with_noise;
  }
  return sums;
}

/// How much of each amount could be chance: draws of the noise of ops and of what it, and costs that are wrong, made of the sizes found.
/// Of Shapley's orders those stand for all in which a cause is the first or the last.
void Explainer::measure_spreads() {
  std::mt19937_64 random(20240229);
  const double sigma = out_.sigma / std::sqrt(static_cast<double>(steps_.size()));
  const std::uint32_t all = (1U << players_.size()) - 1;
  std::vector<std::vector<double>> effects(players_.size() + 1);
  std::vector<double> scale(wiring_.entries());
  for (int draw = 0; draw < kDraws; ++draw) {
    tell(kFound + kSpread * draw / kDraws);
    for (double& of : scale) of = std::exp(sigma * normal_draw(random));
    const Findings off = draw_findings(wiring_, findings_, random);
    Worlds world(wiring_, times_, base_, order_, off, predicted_.rank_time, steps_[0], 0);
    const auto length = [&](std::uint32_t set) {
      return static_cast<double>(world.scaled_length(union_of(players_, set), scale));
    };
    const double none = length(0);
    const double whole = length(all);
    effects.back().push_back(whole);
    for (std::uint32_t i = 0; i < players_.size(); ++i)
      effects[i].push_back((length(1U << i) - none + whole - length(all & ~(1U << i))) / 2);
  }
  const auto spread = [](const std::vector<double>& values) {
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double sum = 0;
    for (const double value : values) sum += (value - mean) * (value - mean);
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
  };
  for (std::size_t i = 0; i < players_.size(); ++i) players_[i].cause.sd = spread(effects[i]);
  noise_sd_ = spread(effects.back());
}

void Explainer::measure_alone() {
  const auto count = static_cast<Ticks>(steps_.size());
  for (Player& player : players_) {
    Mask rest = everything();
    rest.ops &= ~player.mask.ops;
    rest.links &= ~player.mask.links;
    rest.hiccups &= ~player.mask.hiccups;
    rest.pauses &= ~player.mask.pauses;
    rest.message_time = !player.mask.message_time;
    rest.order = !player.mask.order;
    rest.costs = !player.mask.costs;
    for (Worlds& world : worlds_) {
      player.cause.alone += world.length(player.mask) - world.length({});
      player.cause.if_fixed += world.length(everything()) - world.length(rest);
    }
    player.cause.alone /= count;
    player.cause.if_fixed /= count;
  }
}

/// Players with an effect that is too small to be named.
std::vector<std::size_t> Explainer::too_small(const std::vector<Ticks>& sums) const {
  std::vector<std::size_t> small;
  const double step = static_cast<double>(out_.predicted);
  for (std::size_t i = 0; i < players_.size(); ++i) {
    const double amount = std::abs(static_cast<double>(sums[i]) / static_cast<double>(steps_.size()));
    const double least = std::max(kNamedPart * step, kNamedSds * players_[i].cause.sd);
    if (amount > 0 && amount < least && players_[i].cause.kind != CauseKind::Costs) small.push_back(i);
  }
  return small;
}

/// Shapley's rule asks for every set of players: those with the least effect of their own become one.
void Explainer::limit_players() {
  while (players_.size() > kMostPlayers) {
    std::vector<std::pair<Ticks, std::size_t>> alone;
    for (std::size_t i = 0; i < players_.size(); ++i)
      alone.emplace_back(std::abs(worlds_[0].length(players_[i].mask) - out_.predicted), i);
    std::sort(alone.begin(), alone.end());
    std::vector<std::size_t> least;
    for (std::size_t i = 0; i + kMostPlayers - 1 < alone.size(); ++i) least.push_back(alone[i].second);
    fold(least);
  }
}

/// From sums over the steps to causes, the largest first.
void Explainer::take_amounts(const std::vector<Ticks>& sums) {
  const std::vector<Ticks> means = divide_exactly(sums, static_cast<std::int64_t>(steps_.size()));
  out_.measured = out_.predicted + std::accumulate(means.begin(), means.end(), Ticks{0});
  for (std::size_t i = 0; i < players_.size(); ++i) {
    Cause& cause = players_[i].cause;
    cause.amount = means[i];
    cause.text = text_of(cause, out_.unit);
    (cause.amount == 0 ? out_.hidden : out_.causes).push_back(std::move(cause));
  }
  for (const auto& [kind, amount] : {std::pair{CauseKind::Noise, means[players_.size()]},
                                     std::pair{CauseKind::Unexplained, means[players_.size() + 1]}}) {
    if (amount == 0) continue;
    Cause cause{.kind = kind, .amount = amount, .sd = kind == CauseKind::Noise ? noise_sd_ : 0};
    cause.text = text_of(cause, out_.unit);
    out_.causes.push_back(std::move(cause));
  }
  std::stable_sort(out_.causes.begin(), out_.causes.end(),
                   [](const Cause& a, const Cause& b) { return std::abs(a.amount) > std::abs(b.amount); });
}

Explanation Explainer::run() {
  if (as_predicted_) {
    // Transfers that the model of a step has no word for, such as blocking ones, would else be told apart as causes against each other.
    out_.measured = out_.predicted;
    out_.stragglers = find_stragglers(wiring_, steps_, findings_.waits);
    return std::move(out_);
  }
  tell(0);
  find();
  out_.warnings.insert(out_.warnings.end(), wait_warnings_.begin(), wait_warnings_.end());
  tell(kFound / 2);
  list_players();
  make_worlds();
  check();
  limit_players();
  measure_spreads();
  std::vector<Ticks> sums = amounts();
  if (const auto small = too_small(sums); !small.empty()) {
    fold(small);
    sums = amounts();
  }
  tell(kFound + kSpread + kAmounts);
  measure_alone();
  out_.stragglers = find_stragglers(wiring_, steps_, findings_.waits);
  take_amounts(sums);
  return std::move(out_);
}

}  // namespace

Explanation explain(const Predicted& predicted, const Timeline& measured, const GoesOn& goes_on) {
  return Explainer(predicted, measured, goes_on).run();
}

}  // namespace pipeloom::study::explain
