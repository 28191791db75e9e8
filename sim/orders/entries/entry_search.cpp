#include "sim/orders/entries/entry_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "sim/orders/entries/copies.hpp"
#include "sim/orders/entries/entry_times.hpp"
#include "sim/orders/search/anneal.hpp"
#include "sim/orders/search/rounds.hpp"
#include "sim/orders/search/search.hpp"

namespace pipeloom::orders {
namespace {

/// A round of annealing: with which part of the work, and the temperatures to begin with, in mean durations of an op, one for each chain.
struct EntryRound {
  double share;
  std::array<double, 4> heats;
};
constexpr std::array<EntryRound, 2> kEntryRounds = {
    {{.share = 0.6, .heats = {0.3, 1, 0.1, 2}}, {.share = 0.4, .heats = {0.1, 0.3, 0.05, 0.5}}}};

struct TimedEntries {
  Entries entries;
  std::int32_t prefetch = 2;
  EntryRun run = {};
};

bool is_better_timed(const TimedEntries& a, const TimedEntries& b) {
  return is_better(a.run, b.run);
}

/// Pairs take less than their ops: an order with more of them has room to become shorter.
double energy_of(const EntryRun& run) {
  return run.energy() + 0.3 * run.busy;
}

/// Changes entries of one rank, of which it keeps the word as it was.
class Changer {
 public:
  Changer(const Problem& problem, Random& random) : problem_(problem), random_(random) {}

  /// False where nothing has changed, or what came of it cannot run.
  bool change(TimedEntries& state, Mover<EntryTimes>& mover) {
    prefetch_ = state.prefetch;
    word_.clear();
    if (problem_.has_copies() && random_.below(32) == 0) return change_prefetch(state.prefetch);
    const bool changed = !problem_.pairs.empty() && random_.below(4) == 0
                             ? change_pair(state, mover.draw_place())
                             : move(state, mover.draw());
    return changed && can_run(state.entries[rank_]);
  }

  void undo(TimedEntries& state) {
    state.prefetch = prefetch_;
    if (!word_.empty()) std::swap(state.entries[rank_], word_);
  }

 private:
  void keep(const TimedEntries& state, std::size_t rank) {
    rank_ = rank;
    word_ = state.entries[rank];
  }

  bool move(TimedEntries& state, const Move& move) {
    if (move.from == move.to) return false;
    keep(state, move.rank);
    const auto at = [&](std::size_t place) {
      return state.entries[move.rank].begin() + static_cast<std::ptrdiff_t>(place);
    };
    if (move.from < move.to)
      std::rotate(at(move.from), at(move.from) + 1, at(move.to) + 1);
    else
      std::rotate(at(move.to), at(move.from), at(move.from) + 1);
    return true;
  }

  /// True if no op of the word comes before one of the same microbatch that it waits for, as far as that is on its rank: what is found here
  /// need not be timed.
  bool can_run(const std::vector<Entry>& word) {
    const std::size_t chunks = problem_.stages_of[rank_].size();
    count_.assign(3 * chunks, 0);
    const auto follows = [&](Letter letter) {
      const std::size_t chunk = chunk_of(letter);
      const std::uint32_t k = count_[letter];
      if (pass_of(letter) == kForward) return chunk == 0 || count_[letter - 3U] > k;
      if (pass_of(letter) == kWeight) return count_[letter - 1U] > k;
      return count_[letter - 1U] > k && (chunk + 1 == chunks || count_[letter + 3U] > k);
    };
    for (const Entry& entry : word) {
      if (!follows(entry.first) || (entry.is_pair() && !follows(entry.input))) return false;
      ++count_[entry.first];
      if (!entry.is_pair()) continue;
      ++count_[entry.input];
      ++count_[entry.input + 1U];
    }
    return true;
  }

  bool change_prefetch(std::int32_t& prefetch) {
    prefetch = std::clamp(prefetch + (random_.below(2) == 0 ? 1 : -1), 1, kMostAhead);
    return prefetch != prefetch_;
  }

  bool change_pair(TimedEntries& state, Place place) {
    keep(state, place.rank);
    auto& word = state.entries[place.rank];
    return word[place.at].is_pair() ? split(word, place.at) : join(word, place);
  }

  /// F, I and W of a pair one after another, in an order drawn.
  bool split(std::vector<Entry>& word, std::size_t at) {
    const Entry pair = word[at];
    const Entry forward{.first = pair.first};
    const Entry input{.first = pair.input};
    const bool forward_first = random_.below(2) == 0;
    const Entry weight{.first = letter(chunk_of(pair.input), kWeight)};
    word[at] = forward_first ? forward : input;
    const std::array rest = {forward_first ? input : forward, weight};
    word.insert(word.begin() + static_cast<std::ptrdiff_t>(at) + 1, rest.begin(), rest.end());
    return true;
  }

  /// An F or I with the next or last of the other kind within reach, and a W after it, as a pair in the place of either.
  bool join(std::vector<Entry>& word, Place place) {
    constexpr std::size_t kReach = 6;
    const Pass pass = pass_of(word[place.at].first);
    if (pass == kWeight) return false;
    const bool is_forward = pass == kForward;
    const std::size_t begin = place.at - std::min(place.at, kReach);
    const std::size_t end = std::min(word.size(), place.at + kReach + 1);
    std::size_t other = begin + random_.below(end - begin);
    for (std::size_t i = begin; i < end && !is_alone(word[other], is_forward ? kInput : kForward); ++i)
      other = other + 1 == end ? begin : other + 1;
    if (!is_alone(word[other], is_forward ? kInput : kForward)) return false;
    const Letter forward = word[is_forward ? place.at : other].first;
    const Letter input = word[is_forward ? other : place.at].first;
    const auto& stages = problem_.stages_of[place.rank];
    if (problem_.pair(stages[chunk_of(forward)], stages[chunk_of(input)]) == kMaxTicks) return false;
    const auto weight = std::find(word.begin() + static_cast<std::ptrdiff_t>(std::min(place.at, other)),
                                  word.end(), Entry{.first = letter(chunk_of(input), kWeight)});
    if (weight == word.end()) return false;
    const bool here = random_.below(2) == 0;
    word[here ? place.at : other] = {forward, input};
    auto second = word.begin() + static_cast<std::ptrdiff_t>(here ? other : place.at);
    auto first = weight;
    if (second < first) std::swap(first, second);
    word.erase(second);
    word.erase(first);
    return true;
  }
  static bool is_alone(const Entry& entry, Pass pass) {
    return !entry.is_pair() && pass_of(entry.first) == pass;
  }

  const Problem& problem_;
  Random& random_;
  std::vector<std::uint32_t> count_;  // [letter]
  std::size_t rank_ = 0;
  std::vector<Entry> word_;  // of rank_, as it was; empty: nothing of it changed
  std::int32_t prefetch_ = 0;
};

/// Changes the order at random, keeping what is better and, the earlier the likelier, what is worse.
TimedEntries anneal(const Problem& problem, const TimedEntries& from, double heat, Chain& chain) {
  std::array<EntryTimes, 2> times = {EntryTimes(problem), EntryTimes(problem)};
  std::size_t at = 0;
  TimedEntries now = from;
  if (!times[at].play(now.entries, now.prefetch)) return from;
  TimedEntries best = now;
  Changer changer(problem, chain.random);
  Mover<EntryTimes> mover(times[at], chain.random);
  const double hot = heat * mean_duration(problem);
  // About what it takes, against timing an op anew where the rest of an order stays.
  const auto cost = static_cast<std::int64_t>(problem.num_ops() / 2 + 64);
  while (chain.spend(cost)) {
    mover.follow(times[at]);
    const EntryRun before = now.run;
    const auto next =
        changer.change(now, mover) ? times[1 - at].play(now.entries, now.prefetch) : std::nullopt;
    if (!next || !accepts(energy_of(*next) - energy_of(before), hot, chain)) {
      changer.undo(now);
      continue;
    }
    now.run = *next;
    at = 1 - at;
    if (is_better_timed(now, best)) best = now;
  }
  return best;
}

class EntrySearch {
 public:
  EntrySearch(const Problem& problem, const EntrySearchOptions& options)
      : problem_(problem), options_(options), rounds_(options.seed, options.threads, options.progress) {}

  std::optional<FoundEntries> run(const std::vector<EntryStart>& starts) {
    EntryTimes times(problem_);
    for (const EntryStart& start : starts) {
      TimedEntries state{.entries = entries_of(start.order), .prefetch = start.prefetch};
      const auto run = times.play(state.entries, state.prefetch);
      if (!run) continue;
      state.run = *run;
      best_.push_back(std::move(state));
    }
    if (best_.empty()) return std::nullopt;
    for (const EntryRound& how : kEntryRounds) improve(how);
    std::ranges::stable_sort(best_, is_better_timed);
    if (standing_of(best_.front().run) != Standing::Fits) return std::nullopt;
    FoundEntries out{start_of(best_.front()), best_.front().run.value};
    keep_runners_up(out);
    return out;
  }

 private:
  static EntryStart start_of(const TimedEntries& one) { return {order_of(one.entries), one.prefetch}; }

  /// Of what chains came to, in both rounds.
  void keep_runners_up(FoundEntries& found) {
    seen_.insert(seen_.end(), best_.begin(), best_.end());
    std::ranges::stable_sort(seen_, is_better_timed);
    for (const TimedEntries& one : seen_) {
      const bool near = standing_of(one.run) == Standing::Fits &&
                        static_cast<double>(one.run.value) <= kNear * static_cast<double>(found.value);
      if (found.runners_up.size() == options_.runners_up || !near) return;
      const EntryStart other = start_of(one);
      const bool known =
          other == found.best || std::ranges::find(found.runners_up, other) != found.runners_up.end();
      if (!known) found.runners_up.push_back(other);
    }
  }

  /// In the first round from all that are best, then from the best.
  void improve(const EntryRound& how) {
    std::ranges::stable_sort(best_, is_better_timed);
    const std::size_t most = seen_.empty() ? std::min(best_.size(), how.heats.size()) : 1;
    const std::vector<TimedEntries> from(best_.begin(), best_.begin() + static_cast<std::ptrdiff_t>(most));
    seen_ = best_;
    best_.assign(how.heats.size(), from.front());
    const auto work = static_cast<std::int64_t>(how.share * static_cast<double>(options_.work));
    rounds_.run(how.heats.size(), work, [&](std::size_t i, Chain& chain) {
      best_[i] = anneal(problem_, from[i % from.size()], how.heats[i], chain);
      if (standing_of(best_[i].run) == Standing::Fits) rounds_.note(best_[i].run.value);
    });
  }

  const Problem& problem_;
  const EntrySearchOptions& options_;
  Rounds rounds_;
  std::vector<TimedEntries> best_;
  std::vector<TimedEntries> seen_;  // where the round began; empty before the first
};

}  // namespace

std::optional<FoundEntries> search_entries(const Problem& problem, const std::vector<EntryStart>& starts,
                                           const EntrySearchOptions& options) {
  return EntrySearch(problem, options).run(starts);
}

}  // namespace pipeloom::orders
