#include "sim/orders/entries/entry_times.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "sim/base/table_size.hpp"

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
      ranks_(problem.ranks()),
      times_(problem.ranks()),
      count_(3 * problem.stages.size()),
      done_(problem.num_ops()),
      is_copied_(table_size(problem.stages.size(), problem.microbatches)),
      forward_at_(is_copied_.size()),
      loaded_(is_copied_.size()),
      loaded_after_(is_copied_.size()) {
  for (const Row& row : rows_of(problem)) {
    const std::size_t at = parts_.size();
    const StageWork& work = problem.stages[at / 3];
    const auto pass = static_cast<Pass>(at % 3);
    parts_.push_back({row, at * problem.microbatches, at / 3 * problem.microbatches,
                      pass == kInput ? work.again : 0, pass, pass != kWeight && work.is_copied});
  }
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
    state.waits_for = kNowhere;
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
  const Part& part = parts_[row];
  if (!part.is_copied) return;
  const std::size_t k = count_[row]++;
  const std::size_t pass = part.first_pass + k;
  if (part.pass == kForward) {
    forward_at_[pass] = in_queue;
    return;
  }
  // An I in front of its F, which hangs, has no pass to copy.
  if (count_[row - kInput] <= k) return;
  const std::size_t apart = in_queue - forward_at_[pass];
  if (apart <= static_cast<std::size_t>(problem_.least_gap)) return;
  is_copied_[pass] = 1;
  ranks_[part.rank].loads.push_back(
      {in_queue - std::min(apart - 1, static_cast<std::size_t>(prefetch)), row / 3, pass});
}

bool EntryTimes::step(std::size_t rank) {
  RankState& state = ranks_[rank];
  const Entry entry = (*entries_)[rank][state.at];
  issue_loads(state, state.in_queue, state.clock);
  Arrival arrival{.time = state.clock, .cause = {}};
  const std::size_t row = row_at(rank, entry.first);
  if (!wait_for(row, arrival)) return false;
  const std::size_t input = entry.is_pair() ? row_at(rank, entry.input) : row;
  if (entry.is_pair() && !wait_for(input, arrival)) return false;
  const Ticks duration = entry.is_pair() ? problem_.pair(row / 3, input / 3) : parts_[row].duration;
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
bool EntryTimes::wait_for(std::size_t row, Arrival& arrival) {
  const std::size_t k = count_[row];
  const Part& part = parts_[row];
  const auto delay = [&](Ticks time, Cause cause) {
    if (time >= arrival.time) arrival = {time, cause};
  };
  if (part.pass == kInput) {
    // An I waits for its own F as well: in a word that makes no sense the gradient may come first.
    if (count_[row - kInput] <= k) return false;
    const std::size_t pass = part.first_pass + k;
    if (part.is_copied && is_copied_[pass] != 0) delay(loaded_[pass], loaded_after_[pass]);
    RankState& state = ranks_[part.rank];
    state.again = arrival.time;
    if (part.again > 0) issue_loads(state, state.in_queue + 1, arrival.time + part.again);
  }
  if (part.producer == kNoRow) return true;
  if (count_[part.producer] <= k) {
    ranks_[part.rank].waits_for = row;
    return false;
  }
  const Done& done = done_[part.producer * problem_.microbatches + k];
  delay(done.end + part.delay - part.again, done.entry);
  return true;
}

void EntryTimes::finish(std::size_t row, const Times& times) {
  const Part& part = parts_[row];
  RankState& state = ranks_[part.rank];
  const std::size_t k = count_[row]++;
  done_[part.first + k] = {times.end, {part.rank, static_cast<std::uint32_t>(state.at)}};
  const StageWork& work = problem_.stages[row / 3];
  if (part.pass == kInput && work.dropped != 0) {
    state.changes.push_back({state.again, work.dropped});
    state.changes.push_back({times.end, -work.dropped});
  }
  if (part.at_start != 0) state.changes.push_back({times.start, part.at_start});
  if (part.at_end != 0) state.changes.push_back({times.end, part.at_end});
  if (part.consumer != kNoRow) wake(part.consumer);
  if (part.pass != kForward || !part.is_copied || is_copied_[part.first_pass + k] == 0) return;
  state.stream = std::max(times.end, state.stream) + work.offload;
  state.stream_changes.push_back({state.stream, -work.held});
}

/// The rank goes on, if it waits for an op that the row's next needs.
void EntryTimes::wake(std::size_t row) {
  const std::size_t rank = parts_[row].rank;
  if (ranks_[rank].waits_for != row) return;
  ranks_[rank].waits_for = kNowhere;
  ready_.push_back(rank);
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
    loaded_after_[load.pass] =
        place == 0 ? Cause{}
                   : Cause{static_cast<std::uint32_t>(work.rank), static_cast<std::uint32_t>(place - 1)};
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
