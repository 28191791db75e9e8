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
      behind_(problem.ranks()),
      end_(problem.num_ops()),
      seen_(3 * kMaxChunks) {
  out_.words.resize(problem.ranks());
}

void Follower::restart(const Order& order) {
  std::ranges::fill(started_, 0);
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank] = {};
    words_[rank] = order.words[rank];
    auto& behind = behind_[rank];
    behind.resize(words_[rank].size());
    for (std::uint32_t i = 0; i < behind.size(); ++i) behind[i] = i + 1;
    out_.words[rank].clear();
    events_.emplace(0, rank);
  }
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
    if (ranks_[rank].free <= time && ranks_[rank].first < words_[rank].size()) decide(rank, time);
  }
  Ticks value = 0;
  mean_ = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const Ticks late = ranks_[rank].free - problem_.origin[rank];
    value = std::max(value, late);
    mean_ += static_cast<double>(late) / static_cast<double>(ranks_.size());
  }
  return value;
}

/// Candidates among the first `reach` ops that have not started: the first of each row, where all that it passes still has room.
void Follower::collect(std::size_t rank, std::int32_t reach) {
  candidates_.clear();
  ++collections_;
  const auto& word = words_[rank];
  const Bytes limit = problem_.limit[rank];
  Bytes held = ranks_[rank].held;
  Bytes most = held;  // of those that are passed
  std::uint32_t before = kNone;
  std::uint32_t place = ranks_[rank].first;
  for (std::int32_t away = 0; away < reach && place < word.size(); ++away) {
    const std::size_t row = row_at(rank, place);
    const Row& op = rows_[row];
    const Bytes takes = std::max<Bytes>({op.at_start, op.at_start + op.at_end, 0});
    if (seen_[word[place]] != collections_) {
      seen_[word[place]] = collections_;
      const bool fits =
          away == 0 || limit == kNoLimit ||
          (takes <= limit - ranks_[rank].held && std::max<Bytes>(op.at_start + op.at_end, 0) <= limit - most);
      if (fits) candidates_.push_back({place, before, away + freedom_->bias[row], arrival(row)});
    }
    most = std::max({most, held + op.at_start, held + op.at_start + op.at_end});
    held += op.at_start + op.at_end;
    before = place;
    place = behind_[rank][place];
  }
}

/// The nearest candidate that can start now, unless a nearer one comes so soon that the rank waits for it.
std::optional<Follower::Candidate> Follower::choice(std::size_t rank, Ticks now) const {
  const Candidate* best = nullptr;
  for (const Candidate& one : candidates_)
    if (one.arrival <= now && (best == nullptr || one.away < best->away)) best = &one;
  if (best == nullptr) return std::nullopt;
  if (best->place == ranks_[rank].first) return *best;
  const Ticks wait = rows_[row_at(rank, best->place)].duration * freedom_->patience / 100;
  for (const Candidate& one : candidates_)
    if (one.away < best->away && one.arrival != kMaxTicks && one.arrival < now + wait) return std::nullopt;
  return *best;
}

void Follower::decide(std::size_t rank, Ticks now) {
  const bool free = now >= freedom_->from && now < freedom_->until;
  collect(rank, free ? freedom_->reach[rank] : 1);
  if (const auto op = choice(rank, now)) return start(rank, *op, now);
  Ticks next = kMaxTicks;
  for (const Candidate& one : candidates_)
    if (one.arrival > now) next = std::min(next, one.arrival);
  if (next != kMaxTicks) events_.emplace(next, static_cast<std::uint32_t>(rank));
}

void Follower::start(std::size_t rank, const Candidate& op, Ticks now) {
  const std::size_t r = row_at(rank, op.place);
  const Row& row = rows_[r];
  const std::uint32_t k = started_[r]++;
  RankState& state = ranks_[rank];
  state.free = now + row.duration;
  state.held += row.at_start + row.at_end;
  end_[r * problem_.microbatches + k] = state.free;
  (op.before == kNone ? state.first : behind_[rank][op.before]) = behind_[rank][op.place];
  out_.words[rank].push_back(words_[rank][op.place]);
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

  /// For an order that is `length` long.
  const Freedom& draw(Ticks length) {
    constexpr std::array<std::int32_t, 9> kReaches = {2, 3, 4, 6, 8, 12, 16, 24, 40};
    const std::int32_t reach = kReaches[random_.below(kReaches.size())];
    draw_ranks(reach);
    draw_times(static_cast<double>(length));
    draw_bias(reach);
    freedom_.patience = random_.below(4) == 0 ? 0 : random_.between(0, 150);
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
  double energy = energy_of(best.value, best.mean);
  while (chain.spend(cost)) {
    const Ticks value = follower.play(now, freedoms.draw(best.value));
    const double mean = follower.mean_lateness();
    const double worse = energy_of(value, mean) - energy;
    if (!accepts(worse, heat * mean_duration(problem), chain)) continue;
    now = follower.words();
    energy += worse;
    if (!best.improves(value, mean)) continue;
    best = {.order = now, .value = value, .mean = mean, .work = chain.done()};
    chain.reached(value);
  }
  return best;
}

}  // namespace pipeloom::orders
