#include "sim/orders/search/follower.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/orders/search/anneal.hpp"

namespace pipeloom::orders {

Follower::Follower(const Problem& problem)
    : problem_(problem),
      rows_(rows_of(problem)),
      started_(rows_.size()),
      ranks_(problem.ranks()),
      words_(problem.ranks()),
      next_(problem.ranks()),
      end_(problem.num_ops()),
      seen_(3 * std::ranges::max_element(problem.stages_of, {}, &std::vector<std::size_t>::size)->size()) {
  out_.words.resize(problem.ranks());
  steps_.resize(problem.ranks() * seen_.size());
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
    for (std::size_t letter = 0; letter < 3 * problem.stages_of[rank].size(); ++letter) {
      const std::size_t row = row_of(problem, rank, static_cast<Letter>(letter));
      const Row& op = rows_[row];
      const Bytes after = op.at_start + op.at_end;
      const Bytes of_weight = row % 3 == kInput ? rows_[row + 1].at_end : 0;
      steps_[rank * seen_.size() + letter] = {
          static_cast<std::uint32_t>(row), std::max(op.at_start, after), {after, after + of_weight}};
    }
}

void Follower::restart(const Order& order) {
  std::ranges::fill(started_, 0);
  sequence_.clear();
  least_bias_ = std::ranges::min(freedom_->bias);
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    RankState& state = ranks_[rank];
    state.weights.clear();
    state = {.weights = std::move(state.weights)};
    words_[rank] = order.words[rank];
    if (freedom_->free_weights)
      std::erase_if(words_[rank], [](Letter letter) { return pass_of(letter) == kWeight; });
    auto& next = next_[rank];
    next.resize(words_[rank].size());
    for (std::uint32_t i = 0; i < next.size(); ++i) next[i] = i + 1;
    out_.words[rank].clear();
    events_.emplace(0, rank);
  }
}

std::vector<Ticks> Follower::latest_starts() const {
  std::vector<Ticks> starts(end_.size());
  std::vector<Ticks> latest(ranks_.size());  // [rank]: when the op after must start
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) latest[rank] = problem_.origin[rank] + value_;
  for (std::size_t i = sequence_.size(); i-- > 0;) {
    const std::uint32_t op = sequence_[i];
    const Row& row = rows_[op / problem_.microbatches];
    Ticks end = latest[row.rank];
    if (row.consumer != kNoRow)
      end = std::min(end, starts[row.consumer * problem_.microbatches + op % problem_.microbatches] -
                              rows_[row.consumer].delay);
    starts[op] = latest[row.rank] = end - row.duration;
  }
  return starts;
}

double Follower::pace() const {
  const std::size_t m = problem_.microbatches;
  const std::size_t from = (m - 1) / 3;
  const std::size_t to = std::min(std::max(from + 1, 2 * m / 3), m - 1);
  if (to <= from) return 0;
  const std::size_t row = kInput * m;  // of stage 0
  return static_cast<double>(end_[row + to] - end_[row + from]) / static_cast<double>(to - from);
}

/// When the next op of the row has what it waits for; kMaxTicks where that is not known.
Ticks Follower::arrival(std::size_t row) const {
  const std::uint32_t producer = rows_[row].producer;
  if (producer == kNoRow) return 0;
  if (started_[producer] <= started_[row]) return kMaxTicks;
  return end_[producer * problem_.microbatches + started_[row]] + rows_[row].delay;
}

Ticks Follower::play(const Order& order, const Freedom& freedom) {
  freedom_ = &freedom;
  restart(order);
  while (!events_.empty()) {
    const auto [time, rank] = events_.top();
    events_.pop();
    if (ranks_[rank].free <= time && (ranks_[rank].first < words_[rank].size() || ranks_[rank].has_weight()))
      decide(rank, time);
  }
  value_ = 0;
  mean_ = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Ticks late = ranks_[rank].free - problem_.origin[rank];
    value_ = std::max(value_, late);
    mean_ += static_cast<double>(late) / static_cast<double>(ranks_.size());
  }
  return value_;
}

/// Candidates among the first `reach` ops that have not started, as far as one could be chosen: the first of each row, where all that it
/// passes still has room. Free weights count as if each ran right after its I.
void Follower::collect(std::size_t rank, Ticks time, std::int32_t reach) {
  candidates_.clear();
  ++collections_;
  const auto& word = words_[rank];
  const auto& following = next_[rank];
  const std::size_t free = freedom_->free_weights ? 1 : 0;
  const Bytes limit = problem_.limit[rank];
  const Bytes now = ranks_[rank].held - ranks_[rank].pending;
  Bytes held = now;
  Bytes most = held;  // of those that are passed
  std::uint32_t before = kNone;
  std::uint32_t place = ranks_[rank].first;
  const std::size_t letters = (3 - free) * problem_.stages_of[rank].size();
  std::size_t met = 0;
  std::int32_t nearest = kFar;  // of those that can start now
  for (std::int32_t away = 0; away < reach && place < word.size(); ++away) {
    if (nearest <= away + least_bias_) return;
    const Letter letter = word[place];
    const Step& op = step_of(rank, letter);
    const Bytes after = op.after[free];
    if (seen_[letter] != collections_) {
      seen_[letter] = collections_;
      const std::size_t row = op.row;
      const bool fits =
          away == 0 || limit == kNoLimit ||
          (std::max<Bytes>(op.takes, 0) <= limit - now && std::max<Bytes>(after, 0) <= limit - most);
      if (fits) {
        const Ticks arrives = arrival(row);
        const bool may_be_late = !freedom_->latest.empty() && arrives != kMaxTicks;
        const Ticks due =
            may_be_late ? std::max(arrives, freedom_->latest[row * problem_.microbatches + started_[row]])
                        : arrives;
        candidates_.push_back({place, before, away + freedom_->bias[row], arrives, due});
        if (candidates_.back().arrival <= time) nearest = std::min(nearest, candidates_.back().away);
      }
      if (++met == letters) return;
    }
    most = std::max(most, held + op.takes);
    held += after;
    before = place;
    place = following[place];
  }
}

/// The nearest candidate that can start now, unless a nearer one comes so soon that the rank waits for it.
std::optional<Follower::Candidate> Follower::choice(std::size_t rank, Ticks now) const {
  const Candidate* best = nullptr;
  for (const Candidate& one : candidates_)
    if (one.arrival <= now && (best == nullptr || one.away < best->away)) best = &one;
  if (best == nullptr) return std::nullopt;
  if (best->place == ranks_[rank].first) return *best;
  const Ticks wait = rows_[step_of(rank, words_[rank][best->place]).row].duration * freedom_->patience / 100;
  for (const Candidate& one : candidates_)
    if (one.away < best->away && one.due != kMaxTicks && one.due < now + wait) return std::nullopt;
  return *best;
}

/// True if the op fits beside what free weights have not given back yet.
bool Follower::has_room(std::size_t rank, const Candidate& op) const {
  if (ranks_[rank].pending == 0) return true;
  return step_of(rank, words_[rank][op.place]).takes <= problem_.limit[rank] - ranks_[rank].held;
}

/// True if the op whose turn it is comes so soon that the next free weight stays.
bool Follower::waits_for_turn(std::size_t rank, Ticks now) const {
  const RankState& state = ranks_[rank];
  if (candidates_.empty() || candidates_.front().due == kMaxTicks) return false;
  const Ticks duration = rows_[step_of(rank, state.weights[state.weights_run]).row].duration;
  return candidates_.front().due < now + duration * freedom_->weight_patience / 100;
}

void Follower::decide(std::size_t rank, Ticks now) {
  const bool free = now >= freedom_->from && now < freedom_->until;
  collect(rank, now, free ? freedom_->reach[rank] : 1);
  const auto op = choice(rank, now);
  if (op && has_room(rank, *op)) return start(rank, *op, now);
  if (ranks_[rank].has_weight() && (op || !waits_for_turn(rank, now))) return start_weight(rank, now);
  Ticks next = kMaxTicks;
  for (const Candidate& one : candidates_)
    if (one.arrival > now) next = std::min(next, one.arrival);
  if (next != kMaxTicks) events_.emplace(next, static_cast<std::uint32_t>(rank));
}

void Follower::start(std::size_t rank, const Candidate& op, Ticks now) {
  RankState& state = ranks_[rank];
  const Letter letter = words_[rank][op.place];
  (op.before == kNone ? state.first : next_[rank][op.before]) = next_[rank][op.place];
  if (freedom_->free_weights && pass_of(letter) == kInput) {
    state.weights.push_back(letter + 1U);
    const Step& step = step_of(rank, letter);
    state.pending -= step.after[1] - step.after[0];
  }
  run(rank, letter, now);
}

void Follower::start_weight(std::size_t rank, Ticks now) {
  RankState& state = ranks_[rank];
  const Letter letter = state.weights[state.weights_run++];
  state.pending += rows_[step_of(rank, letter).row].at_end;
  run(rank, letter, now);
}

void Follower::run(std::size_t rank, Letter letter, Ticks now) {
  const Step& step = step_of(rank, letter);
  const std::size_t r = step.row;
  const Row& row = rows_[r];
  const std::uint32_t k = started_[r]++;
  RankState& state = ranks_[rank];
  state.free = now + row.duration;
  state.held += step.after[0];
  const auto op = static_cast<std::uint32_t>(r * problem_.microbatches + k);
  end_[op] = state.free;
  sequence_.push_back(op);
  out_.words[rank].push_back(letter);
  events_.emplace(state.free, static_cast<std::uint32_t>(rank));
  if (row.consumer == kNoRow || started_[row.consumer] != k) return;
  events_.emplace(state.free + rows_[row.consumer].delay, rows_[row.consumer].rank);
}

namespace {

/// first .. last - 1
struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
};
Stretch stretch_of(std::size_t size, std::size_t longest, Random& random) {
  const std::size_t first = random.below(size);
  return {first, std::min(size, first + 1 + random.below(std::max<std::size_t>(longest, 1)))};
}

class FreedomDrawer {
 public:
  FreedomDrawer(const Problem& problem, Random& random) : stages_(problem.stages.size()), random_(random) {
    freedom_.reach.resize(problem.ranks());
    freedom_.bias.resize(3 * stages_);
  }

  /// For an order that is `length` long and whose ops must start at `latest`.
  const Freedom& draw(Ticks length, const std::vector<Ticks>& latest) {
    constexpr std::array<std::int32_t, 9> kReaches = {2, 3, 4, 6, 8, 12, 16, 24, 40};
    const std::int32_t reach = kReaches[random_.below(kReaches.size())];
    draw_ranks(reach);
    draw_times(static_cast<double>(length));
    draw_bias(reach);
    freedom_.patience = random_.below(4) == 0 ? 0 : random_.between(0, 150);
    freedom_.free_weights = random_.below(3) == 0;
    freedom_.weight_patience = random_.between(0, 150);
    freedom_.latest.clear();
    if (random_.below(2) == 0) freedom_.latest = latest;
    return freedom_;
  }

 private:
  void draw_ranks(std::int32_t reach) {
    const std::size_t ranks = freedom_.reach.size();
    const Stretch some = random_.below(2) == 0 ? stretch_of(ranks, ranks / 2, random_) : Stretch{0, ranks};
    for (std::size_t r = 0; r < ranks; ++r) freedom_.reach[r] = r >= some.first && r < some.last ? reach : 1;
  }
  void draw_times(double length) {
    freedom_.from = 0;
    freedom_.until = kMaxTicks;
    if (random_.below(2) != 0) return;
    freedom_.from = static_cast<Ticks>(random_.unit() * length);
    freedom_.until = freedom_.from + static_cast<Ticks>(random_.unit() * 0.5 * length);
  }
  /// Of one pass on neighbouring stages, once or twice.
  void draw_bias(std::int32_t reach) {
    std::ranges::fill(freedom_.bias, 0);
    if (random_.below(3) == 0) return;
    for (std::size_t i = 1 + random_.below(2); i-- > 0;) {
      const Stretch some = stretch_of(stages_, stages_, random_);
      const std::size_t pass = random_.below(3);
      const std::int32_t by = random_.between(-reach, reach);
      for (std::size_t s = some.first; s < some.last; ++s) freedom_.bias[3 * s + pass] += by;
    }
  }

  std::size_t stages_;
  Random& random_;
  Freedom freedom_;
};

}  // namespace

Best follow(const Problem& problem, const Order& from, double heat, Chain& chain) {
  Follower follower(problem);
  FreedomDrawer freedoms(problem, chain.random);
  const Freedom none{.reach = std::vector<std::int32_t>(problem.ranks(), 1),
                     .bias = std::vector<std::int32_t>(3 * problem.stages.size())};
  // A play takes about as long as four timings.
  const auto cost = static_cast<std::int64_t>(4 * problem.num_ops());
  Best best{.order = from, .value = follower.play(from, none), .mean = follower.mean_lateness()};
  Order now = from;
  std::vector<Ticks> latest = follower.latest_starts();
  double energy = energy_of(best.value, best.mean);
  while (chain.spend(cost)) {
    const Ticks value = follower.play(now, freedoms.draw(best.value, latest));
    const double mean = follower.mean_lateness();
    const double worse = energy_of(value, mean) - energy;
    if (!accepts(worse, heat * mean_duration(problem), chain)) continue;
    now = follower.words();
    latest = follower.latest_starts();
    energy += worse;
    if (!best.improves(value, mean)) continue;
    best = {.order = now, .value = value, .mean = mean, .work = chain.done()};
    chain.reached(value);
  }
  return best;
}

}  // namespace pipeloom::orders
