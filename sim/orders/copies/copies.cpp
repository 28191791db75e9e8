#include "sim/orders/copies/copies.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/orders/search/rows.hpp"

namespace pipeloom::orders {
namespace {

/// A reload, and the place in its rank's word that it stands in front of.
struct Load {
  std::size_t place = 0;
  std::size_t stage = 0;
  std::size_t pass = 0;  // stage * m + k
};

/// Bytes that a rank takes, or gives back, at a time.
struct Change {
  Ticks time = 0;
  Bytes bytes = 0;
  /// What is given back at a time comes first.
  friend auto operator<=>(const Change&, const Change&) = default;
};

/// Runs all words as far as they go, each with its copies.
class Run {
 public:
  Run(const Problem& problem, const Order& order, std::int32_t prefetch)
      : problem_(problem),
        order_(order),
        rows_(rows_of(problem)),
        ranks_(problem.ranks()),
        count_(rows_.size()),
        end_(problem.num_ops()),
        is_copied_(problem.stages.size() * problem.microbatches),
        loaded_(is_copied_.size()) {
    std::vector<std::size_t> forward_at(is_copied_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      if (copies(rank)) plan(rank, prefetch, forward_at);
    std::ranges::fill(count_, 0);
  }

  std::optional<CopiedRun> run() {
    for (std::size_t rank = ranks_.size(); rank-- > 0;) ready_.push_back(rank);
    while (!ready_.empty()) {
      const std::size_t rank = ready_.back();
      ready_.pop_back();
      while (ranks_[rank].at < order_.words[rank].size() && step(rank)) {
      }
    }
    CopiedRun out;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].at != order_.words[rank].size()) return std::nullopt;
      const Ticks late = ranks_[rank].clock - problem_.origin[rank];
      out.value = std::max(out.value, late);
      out.mean += static_cast<double>(late) / static_cast<double>(ranks_.size());
      out.over_limit = std::max(out.over_limit, over_limit(rank));
    }
    return out;
  }

 private:
  struct RankState {
    std::size_t at = 0;    // place in the word
    std::size_t load = 0;  // of `loads`, the next
    Ticks clock = 0;       // end of the last op of the word
    Ticks stream = 0;      // end of the last copy
    std::vector<Load> loads;
    std::vector<Change> changes;
  };

  [[nodiscard]] bool copies(std::size_t rank) const {
    return std::ranges::any_of(problem_.stages_of[rank],
                               [&](std::size_t s) { return problem_.stages[s].is_copied; });
  }

  /// Which passes of a rank go, and where their reloads stand. `forward_at`: room for the place of each pass' forward.
  void plan(std::size_t rank, std::int32_t prefetch, std::vector<std::size_t>& forward_at) {
    const auto& word = order_.words[rank];
    std::vector<Load>& loads = ranks_[rank].loads;
    for (std::size_t place = 0; place < word.size(); ++place) {
      const std::size_t stage = problem_.stages_of[rank][chunk_of(word[place])];
      if (!problem_.stages[stage].is_copied || pass_of(word[place]) == kWeight) continue;
      const std::size_t k = count_[row_of(problem_, rank, word[place])]++;
      const std::size_t pass = stage * problem_.microbatches + k;
      if (pass_of(word[place]) == kForward) {
        forward_at[pass] = place;
        continue;
      }
      const std::size_t apart = place - forward_at[pass];
      if (apart <= static_cast<std::size_t>(problem_.least_gap)) continue;
      is_copied_[pass] = true;
      loads.push_back({place - std::min(apart - 1, static_cast<std::size_t>(prefetch)), stage, pass});
    }
    std::ranges::stable_sort(loads, {}, &Load::place);
  }

  bool step(std::size_t rank) {
    RankState& state = ranks_[rank];
    const Letter next = order_.words[rank][state.at];
    issue_loads(state);
    const std::size_t at = row_of(problem_, rank, next);
    const std::size_t k = count_[at];
    const Row& row = rows_[at];
    const std::size_t own_forward = at - pass_of(next);
    if ((row.producer != kNoRow && count_[row.producer] <= k) ||
        (pass_of(next) == kInput && count_[own_forward] <= k))
      return false;
    const std::size_t stage = problem_.stages_of[rank][chunk_of(next)];
    const std::size_t pass = stage * problem_.microbatches + k;
    Ticks start = state.clock;
    if (row.producer != kNoRow)
      start = std::max(start, end_[row.producer * problem_.microbatches + k] + row.delay);
    if (pass_of(next) == kInput && is_copied_[pass]) start = std::max(start, loaded_[pass]);
    state.clock = start + row.duration;
    end_[at * problem_.microbatches + k] = state.clock;
    note(state, start, row.at_start);
    note(state, state.clock, row.at_end);
    if (pass_of(next) == kForward && is_copied_[pass]) copy_out(state, problem_.stages[stage]);
    ++count_[at];
    ++state.at;
    if (row.consumer != kNoRow) ready_.push_back(rows_[row.consumer].rank);
    return true;
  }

  void issue_loads(RankState& state) {
    for (; state.load < state.loads.size() && state.loads[state.load].place == state.at; ++state.load) {
      const Load& load = state.loads[state.load];
      const StageWork& work = problem_.stages[load.stage];
      const Ticks start = std::max(state.clock, state.stream);
      note(state, start, work.held);
      state.stream = start + work.reload;
      loaded_[load.pass] = state.stream;
    }
  }

  void copy_out(RankState& state, const StageWork& work) const {
    state.stream = std::max(state.clock, state.stream) + work.offload;
    note(state, state.stream, -work.held);
  }

  static void note(RankState& state, Ticks time, Bytes bytes) {
    if (bytes != 0) state.changes.push_back({time, bytes});
  }

  [[nodiscard]] double over_limit(std::size_t rank) {
    const Bytes limit = problem_.limit[rank];
    if (limit == kNoLimit) return 0;
    std::vector<Change>& changes = ranks_[rank].changes;
    std::ranges::sort(changes);
    Bytes held = 0;
    Bytes most = 0;
    for (const Change& change : changes) most = std::max(most, held += change.bytes);
    return static_cast<double>(std::max<Bytes>(most - limit, 0)) /
           static_cast<double>(std::max<Bytes>(limit, 1));
  }

  const Problem& problem_;
  const Order& order_;
  std::vector<Row> rows_;
  std::vector<RankState> ranks_;
  std::vector<std::size_t> count_;  // [row]: ops that ran
  std::vector<Ticks> end_;          // [row * m + k]
  std::vector<bool> is_copied_;     // [pass]
  std::vector<Ticks> loaded_;       // [pass]: end of its reload
  std::vector<std::size_t> ready_;
};

}  // namespace

Problem eased(const Problem& problem, std::int32_t room) {
  Problem out = problem;
  out.pairs.clear();
  std::vector<Bytes> largest(problem.ranks());
  std::vector<Bytes> needed(problem.ranks());   // for one microbatch to get through
  std::vector<Bytes> surplus(problem.ranks());  // that an I takes more than it gives back
  for (StageWork& stage : out.stages) {
    if (stage.is_copied) largest[stage.rank] = std::max(largest[stage.rank], stage.held);
    if (stage.is_copied) stage.held = 0;
    needed[stage.rank] += stage.held;
    surplus[stage.rank] = std::max(surplus[stage.rank], stage.kept - stage.held);
  }
  for (std::size_t rank = 0; rank < out.ranks(); ++rank) {
    if (out.limit[rank] == kNoLimit || largest[rank] == 0) continue;
    const Bytes left = std::max<Bytes>(out.limit[rank] - needed[rank] - surplus[rank], 0);
    out.limit[rank] -= std::min<Bytes>(room, left / largest[rank]) * largest[rank];
  }
  return out;
}

std::optional<CopiedRun> run_with_copies(const Problem& problem, const Order& order, std::int32_t prefetch) {
  return Run(problem, order, prefetch).run();
}

}  // namespace pipeloom::orders
