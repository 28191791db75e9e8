#include "sim/orders/entries/entry_times.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace pipeloom::orders {
namespace {

/// Adds up changes of one time, and takes them off the front.
template <class Change>
Bytes take(std::span<const Change>& changes, Ticks time) {
  Bytes sum = 0;
  for (; !changes.empty() && changes.front().time == time; changes = changes.subspan(1))
    sum += changes.front().bytes;
  return sum;
}

}  // namespace

Entries entries_of(const Order& order) {
  Entries out(order.words.size());
  for (std::size_t rank = 0; rank < out.size(); ++rank) {
    const auto& word = order.words[rank];
    std::span<const std::uint32_t> pairs;
    if (!order.pairs.empty()) pairs = order.pairs[rank];
    for (std::size_t place = 0; place < word.size(); ++place) {
      const bool is_pair = !pairs.empty() && pairs.front() == place;
      out[rank].push_back({word[place], is_pair ? word[place + 1] : kAlone});
      if (!is_pair) continue;
      place += 2;  // its W is in the backward
      pairs = pairs.subspan(1);
    }
  }
  return out;
}

Order order_of(const Entries& entries) {
  Order out{.words = std::vector<std::vector<Letter>>(entries.size()),
            .pairs = std::vector<std::vector<std::uint32_t>>(entries.size())};
  bool has_pairs = false;
  for (std::size_t rank = 0; rank < entries.size(); ++rank)
    for (const Entry& entry : entries[rank]) {
      auto& word = out.words[rank];
      if (entry.is_pair()) out.pairs[rank].push_back(static_cast<std::uint32_t>(word.size()));
      has_pairs = has_pairs || entry.is_pair();
      word.push_back(entry.first);
      if (!entry.is_pair()) continue;
      word.push_back(entry.input);
      word.push_back(letter(chunk_of(entry.input), kWeight));
    }
  if (!has_pairs) out.pairs.clear();
  return out;
}

double EntryRun::energy() const {
  constexpr double kOver = 4;  // a share of the limit, against the same share of the value
  return static_cast<double>(value) * (1 + kOver * over_limit) + 0.05 * mean;
}

Standing standing_of(const EntryRun& run) {
  if (run.value == kMaxTicks) return Standing::None;
  return run.over_limit > 0 ? Standing::Over : Standing::Fits;
}

bool is_better(const EntryRun& a, const EntryRun& b) {
  if (standing_of(a) != standing_of(b)) return standing_of(a) < standing_of(b);
  if (standing_of(a) == Standing::Over) return a.energy() < b.energy();
  return a.value < b.value || (a.value == b.value && a.mean < b.mean);
}

EntryTimes::EntryTimes(const Problem& problem)
    : problem_(problem),
      rows_(rows_of(problem)),
      ranks_(problem.ranks()),
      times_(problem.ranks()),
      count_(rows_.size()),
      end_(problem.num_ops()),
      place_(problem.num_ops()),
      is_copied_(problem.stages.size() * problem.microbatches),
      forward_at_(is_copied_.size()),
      loaded_(is_copied_.size()),
      loaded_after_(is_copied_.size(), kNoPlace) {
  for (const auto& stages : problem.stages_of) letters_ = std::max(letters_, 3 * stages.size());
  row_at_.resize(problem.ranks() * letters_);
  for (std::size_t rank = 0; rank < problem.ranks(); ++rank)
    for (std::size_t letter = 0; letter < 3 * problem.stages_of[rank].size(); ++letter)
      row_at_[rank * letters_ + letter] =
          static_cast<std::uint32_t>(row_of(problem, rank, static_cast<Letter>(letter)));
}

std::optional<EntryRun> EntryTimes::play(const Entries& entries, std::int32_t prefetch) {
  entries_ = &entries;
  restart(prefetch);
  for (std::size_t rank = ranks_.size(); rank-- > 0;) ready_.push_back(rank);
  while (!ready_.empty()) {
    const std::size_t rank = ready_.back();
    ready_.pop_back();
    while (ranks_[rank].at < entries[rank].size() && step(rank)) {
    }
  }
  EntryRun out{.value = 0};
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].at != entries[rank].size()) return std::nullopt;
    const Ticks late = ranks_[rank].clock - problem_.origin[rank];
    out.value = std::max(out.value, late);
    out.mean += static_cast<double>(late) / static_cast<double>(ranks_.size());
    out.busy += static_cast<double>(ranks_[rank].busy) / static_cast<double>(ranks_.size());
    out.over_limit = std::max(out.over_limit, over_limit(rank));
  }
  value_ = out.value;
  return out;
}

void EntryTimes::restart(std::int32_t prefetch) {
  std::ranges::fill(count_, 0);
  std::ranges::fill(is_copied_, std::uint8_t{0});
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    RankState& state = ranks_[rank];
    state.at = state.in_queue = state.load = 0;
    state.clock = state.stream = state.busy = 0;
    state.loads.clear();
    state.changes.clear();
    state.stream_changes.clear();
    times_[rank].resize((*entries_)[rank].size());
    plan(rank, prefetch);
  }
  std::ranges::fill(count_, 0);
}

/// Which passes of a rank go, and the places of their reloads.
void EntryTimes::plan(std::size_t rank, std::int32_t prefetch) {
  const auto& stages = problem_.stages_of[rank];
  if (std::ranges::none_of(stages, [&](std::size_t s) { return problem_.stages[s].is_copied; })) return;
  std::size_t in_queue = 0;
  for (const Entry entry : (*entries_)[rank]) {
    const std::size_t row = row_at(rank, entry.first);
    plan_pass(row, in_queue, prefetch);
    if (entry.is_pair()) plan_pass(row_at(rank, entry.input), in_queue, prefetch);
    in_queue += places_of(row);
  }
  std::ranges::stable_sort(ranks_[rank].loads, {}, &Load::place);
}

void EntryTimes::plan_pass(std::size_t row, std::size_t in_queue, std::int32_t prefetch) {
  const std::size_t stage = row / 3;
  if (!problem_.stages[stage].is_copied || row % 3 == kWeight) return;
  const std::size_t k = count_[row]++;
  const std::size_t pass = stage * problem_.microbatches + k;
  if (row % 3 == kForward) {
    forward_at_[pass] = in_queue;
    return;
  }
  // An I in front of its F, which hangs, has no pass to copy.
  if (count_[3 * stage + kForward] <= k) return;
  const std::size_t apart = in_queue - forward_at_[pass];
  if (apart <= static_cast<std::size_t>(problem_.least_gap)) return;
  is_copied_[pass] = 1;
  ranks_[rows_[row].rank].loads.push_back(
      {in_queue - std::min(apart - 1, static_cast<std::size_t>(prefetch)), stage, pass});
}

bool EntryTimes::step(std::size_t rank) {
  RankState& state = ranks_[rank];
  const Entry entry = (*entries_)[rank][state.at];
  issue_loads(state, state.in_queue, state.clock);
  Arrival arrival{.time = state.clock};
  const std::size_t row = row_at(rank, entry.first);
  if (!wait_for(row, arrival)) return false;
  const std::size_t input = entry.is_pair() ? row_at(rank, entry.input) : row;
  if (entry.is_pair() && !wait_for(input, arrival)) return false;
  const Ticks duration = entry.is_pair() ? problem_.pair(row / 3, input / 3) : rows_[row].duration;
  const Times times{.start = arrival.time, .end = arrival.time + duration, .cause = arrival.cause};
  times_[rank][state.at] = times;
  state.clock = times.end;
  state.busy += duration;
  finish(row, times);
  if (entry.is_pair()) {
    finish(input, times);
    finish(input - kInput + kWeight, times);
  }
  ++state.at;
  state.in_queue += places_of(row);
  return true;
}

/// Delays the arrival to when what the op needs is there; false where that is not known yet. An R in front of an I runs while the gradient is
/// under way, so I is late only by what is left of that then.
bool EntryTimes::wait_for(std::size_t at, Arrival& arrival) {
  const std::size_t k = count_[at];
  const Row& row = rows_[at];
  const std::size_t stage = at / 3;
  const std::size_t pass = stage * problem_.microbatches + k;
  const bool is_input = at % 3 == kInput;
  // An I waits for its own F as well: in a word that makes no sense the gradient may come first.
  if (is_input && count_[at - kInput] <= k) return false;
  const auto delay = [&](Ticks time, Place cause) {
    if (time >= arrival.time) arrival = {time, cause};
  };
  if (is_input && is_copied_[pass] != 0) delay(loaded_[pass], loaded_after_[pass]);
  const Ticks again = is_input ? problem_.stages[stage].again : 0;
  if (again > 0) {
    RankState& state = ranks_[row.rank];
    state.again = arrival.time;
    issue_loads(state, state.in_queue + 1, arrival.time + again);
  }
  if (row.producer == kNoRow) return true;
  if (count_[row.producer] <= k) return false;
  const std::size_t op = row.producer * problem_.microbatches + k;
  delay(end_[op] + row.delay - again, {rows_[row.producer].rank, place_[op]});
  return true;
}

void EntryTimes::finish(std::size_t at, const Times& times) {
  const Row& row = rows_[at];
  RankState& state = ranks_[row.rank];
  const std::size_t k = count_[at]++;
  const std::size_t op = at * problem_.microbatches + k;
  end_[op] = times.end;
  place_[op] = static_cast<std::uint32_t>(state.at);
  const std::size_t stage = at / 3;
  const StageWork& work = problem_.stages[stage];
  if (at % 3 == kInput && work.dropped != 0) {
    state.changes.push_back({state.again, work.dropped});
    state.changes.push_back({times.end, -work.dropped});
  }
  if (row.at_start != 0) state.changes.push_back({times.start, row.at_start});
  if (row.at_end != 0) state.changes.push_back({times.end, row.at_end});
  if (row.consumer != kNoRow) ready_.push_back(rows_[row.consumer].rank);
  if (at % 3 != kForward || is_copied_[stage * problem_.microbatches + k] == 0) return;
  state.stream = std::max(times.end, state.stream) + work.offload;
  state.stream_changes.push_back({state.stream, -work.held});
}

/// Of all that come before this place of the queue, when what is in front of them has ended.
void EntryTimes::issue_loads(RankState& state, std::size_t in_queue, Ticks clock) {
  for (; state.load < state.loads.size() && state.loads[state.load].place == in_queue; ++state.load) {
    const Load& load = state.loads[state.load];
    const StageWork& work = problem_.stages[load.stage];
    const Ticks start = std::max(clock, state.stream);
    state.stream_changes.push_back({start, work.held});
    state.stream = start + work.reload;
    loaded_[load.pass] = state.stream;
    const std::size_t place = state.at + in_queue - state.in_queue;
    loaded_after_[load.pass] = place == 0 ? kNoPlace : Place{work.rank, place - 1};
  }
}

double EntryTimes::over_limit(std::size_t rank) const {
  if (problem_.limit[rank] == kNoLimit) return 0;
  const Bytes limit = problem_.limit[rank] + (problem_.reserve.empty() ? 0 : problem_.reserve[rank]);
  std::span<const Change> by_ops = ranks_[rank].changes;
  std::span<const Change> by_copies = ranks_[rank].stream_changes;
  Bytes held = 0;
  Bytes most = 0;
  while (!by_ops.empty() || !by_copies.empty()) {
    // Memory that is given back at a time is there for what is taken then.
    const Ticks time = std::min(by_ops.empty() ? kMaxTicks : by_ops.front().time,
                                by_copies.empty() ? kMaxTicks : by_copies.front().time);
    held += take(by_ops, time) + take(by_copies, time);
    most = std::max(most, held);
  }
  return static_cast<double>(std::max<Bytes>(most - limit, 0)) /
         static_cast<double>(std::max<Bytes>(limit, 1));
}

std::optional<EntryRun> run_entries(const Problem& problem, const Order& order, std::int32_t prefetch) {
  return EntryTimes(problem).play(entries_of(order), prefetch);
}

}  // namespace pipeloom::orders
