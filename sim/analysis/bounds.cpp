#include "sim/analysis/bounds.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "sim/analysis/chain_jobs.hpp"

namespace pipeloom {
namespace {

/// The best sum of a tail and all work of at least that tail, over the tails up to the largest that has work.
///
/// Work is added to all tails up to its own, so a tail that is no better than a smaller one never will be: only those that beat all smaller
/// ones are kept, each with how much it beats the one before. Adding work narrows a single gap, and each tail is dropped at most once.
class BestTail {
 public:
  /// REQUIRES: sorted, each once.
  explicit BestTail(const std::vector<Ticks>& tails)
      : tails_(tails), lead_(tails), before_(tails.size()), after_(tails.size()) {
    std::adjacent_difference(tails.begin(), tails.end(), lead_.begin());
    for (std::size_t i = 0; i < tails.size(); ++i) {
      before_[i] = static_cast<std::uint32_t>(i);
      after_[i] = static_cast<std::uint32_t>(i + 1);
    }
  }

  /// To all tails up to number `last`.
  void add_work(std::size_t last, Ticks work) {
    const std::size_t kept = last_kept(last);
    if (last >= reached_) {
      // Tails beyond those reached so far have no work yet.
      if (kept >= reached_) best_ = {kept, tails_[kept]};
      reached_ = last + 1;
    }
    if (best_.tail <= last) best_.value += work;
    narrow(kept, work);
  }
  [[nodiscard]] Ticks best() const { return best_.value; }

 private:
  struct Best {
    std::size_t tail = 0;
    Ticks value = 0;
  };

  /// The largest kept tail up to this one. The first tail is always kept.
  [[nodiscard]] std::size_t last_kept(std::size_t tail) {
    std::size_t kept = tail;
    while (before_[kept] != kept) kept = before_[kept];
    while (before_[tail] != kept) tail = std::exchange(before_[tail], static_cast<std::uint32_t>(kept));
    return kept;
  }

  /// The tail behind `kept` leads by `work` less; drops it if it leads no more, and those behind it.
  void narrow(std::size_t kept, Ticks work) {
    for (std::size_t next = after_[kept]; next < tails_.size(); next = after_[kept]) {
      lead_[next] -= work;
      if (lead_[next] > 0) return;
      if (best_.tail == next) best_ = {kept, best_.value - lead_[next]};
      work = -lead_[next];
      before_[next] = static_cast<std::uint32_t>(kept);
      after_[kept] = after_[next];
    }
  }

  const std::vector<Ticks>& tails_;
  std::vector<Ticks> lead_;            // [tail] over the kept one before
  std::vector<std::uint32_t> before_;  // [tail] itself if it is kept, else one before it
  std::vector<std::uint32_t> after_;   // [kept tail] the next kept one
  std::size_t reached_ = 0;            // tails below this number may have work
  Best best_;                          // the last kept of these
};

/// max over sets {head >= h, tail >= t} of h + work + t. Jobs enter by falling head.
Ticks head_tail_bound(const std::vector<ChainJob>& jobs) {
  std::vector<Ticks> tails(jobs.size());
  std::transform(jobs.rbegin(), jobs.rend(), tails.begin(), [](const ChainJob& job) { return job.tail; });
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  BestTail best_tail(tails);
  Ticks best = 0;
  for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
    const auto place = std::lower_bound(tails.begin(), tails.end(), job->tail) - tails.begin();
    best_tail.add_work(static_cast<std::size_t>(place), job->work);
    if (std::next(job) == jobs.rend() || std::next(job)->head < job->head)
      best = std::max(best, job->head + best_tail.best());
  }
  return best;
}

void improve(LowerBound& bound, Ticks value, const char* name) {
  if (value > bound.value) bound = {value, name};
}

}  // namespace

LowerBound lower_bound(const Schedule& schedule, const Costs& costs, const Steps& steps, Ticks reached) {
  const Chains chains(schedule, costs);
  std::vector<RankChains> ranks;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) ranks.push_back(chains.of(rank));
  LowerBound bound{0, "rank-work"};
  const bool barrier = steps.rule == StepRule::Barrier;
  for (const RankChains& rank : ranks)
    improve(bound, rank.work + (barrier ? 0 : steps.optimizer), "rank-work");
  if (!barrier) return bound;
  // The set {head >= h, tail >= t} of a single entry holds that entry, so a chain never beats the best set: it comes first to give
  // the bound its simpler name where both agree.
  for (const RankChains& rank : ranks) improve(bound, rank.longest, "microbatch-chain");
  constexpr const char* kSet = "rank-head-tail";
  const auto of_all = [&](Rank rank) {
    return ranks[rank.at()].head + ranks[rank.at()].work + ranks[rank.at()].tail;
  };
  std::vector<Rank> promising;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank) promising.push_back(rank);
  std::sort(promising.begin(), promising.end(), [&](Rank a, Rank b) { return of_all(a) > of_all(b); });
  for (const Rank rank : promising) {
    improve(bound, of_all(rank), kSet);
    if (bound.value >= reached) break;
    improve(bound, head_tail_bound(chains.jobs(rank)), kSet);
  }
  return bound;
}

}  // namespace pipeloom
