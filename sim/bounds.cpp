#include "sim/bounds.hpp"

#include <algorithm>
#include <vector>

#include "sim/chain_jobs.hpp"

namespace pipeloom {
namespace {

/// Adds a value to a prefix, asks for the maximum of a prefix; both in O(log n).
class PrefixMaxima {
 public:
  explicit PrefixMaxima(const std::vector<Ticks>& initial) {
    while (leaves_ < initial.size()) leaves_ *= 2;
    best_.assign(2 * leaves_, -kMaxTicks);
    pending_.assign(2 * leaves_, 0);
    std::copy(initial.begin(), initial.end(), best_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (std::size_t i = leaves_ - 1; i > 0; --i) best_[i] = std::max(best_[2 * i], best_[2 * i + 1]);
  }
  void add_to_first(std::size_t count, Ticks value) { add(1, 0, leaves_, count, value); }
  [[nodiscard]] Ticks max_of_first(std::size_t count) const { return max(1, 0, leaves_, count); }

 private:
  void add(std::size_t node, std::size_t begin, std::size_t end, std::size_t count, Ticks value) {
    if (begin >= count) return;
    if (end <= count) {
      best_[node] += value;
      pending_[node] += value;
      return;
    }
    const std::size_t middle = (begin + end) / 2;
    add(2 * node, begin, middle, count, value);
    add(2 * node + 1, middle, end, count, value);
    best_[node] = std::max(best_[2 * node], best_[2 * node + 1]) + pending_[node];
  }
  [[nodiscard]] Ticks max(std::size_t node, std::size_t begin, std::size_t end, std::size_t count) const {
    if (begin >= count) return -kMaxTicks;
    if (end <= count) return best_[node];
    const std::size_t middle = (begin + end) / 2;
    return std::max(max(2 * node, begin, middle, count), max(2 * node + 1, middle, end, count)) +
           pending_[node];
  }

  std::size_t leaves_ = 1;
  std::vector<Ticks> best_;
  std::vector<Ticks> pending_;
};

/// max over sets {head >= h, tail >= t} of h + work + t. Jobs enter by falling head; the value kept for each t is
/// t + the work of entered jobs with a tail of at least t, and counts once such a job has entered.
Ticks head_tail_bound(std::vector<ChainJob> jobs) {
  std::vector<Ticks> tails;
  for (const ChainJob& job : jobs) tails.push_back(job.tail);
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  std::sort(jobs.begin(), jobs.end(), [](const ChainJob& a, const ChainJob& b) { return a.head > b.head; });
  PrefixMaxima value_of_tail(tails);
  std::size_t reached = 0;
  Ticks best = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto position = std::lower_bound(tails.begin(), tails.end(), jobs[i].tail) - tails.begin();
    const auto count = static_cast<std::size_t>(position) + 1;
    value_of_tail.add_to_first(count, jobs[i].work);
    reached = std::max(reached, count);
    if (i + 1 == jobs.size() || jobs[i + 1].head < jobs[i].head)
      best = std::max(best, jobs[i].head + value_of_tail.max_of_first(reached));
  }
  return best;
}

Ticks work_of(const std::vector<ChainJob>& jobs) {
  Ticks work = 0;
  for (const ChainJob& job : jobs) work += job.work;
  return work;
}

void improve(LowerBound& bound, Ticks value, const char* name) {
  if (value > bound.value) bound = {value, name};
}

}  // namespace

LowerBound lower_bound(const Schedule& schedule, const Costs& costs, const Steps& steps) {
  const auto jobs = chain_jobs(schedule, costs);
  LowerBound bound{0, "rank-work"};
  const bool barrier = steps.rule == StepRule::Barrier;
  for (const auto& list : jobs) improve(bound, work_of(list) + (barrier ? 0 : steps.optimizer), "rank-work");
  if (!barrier) return bound;
  // The set {head >= h, tail >= t} of a single entry holds that entry, so a chain never beats the best set: it comes first to give
  // the bound its simpler name where both agree.
  for (const auto& list : jobs)
    for (const ChainJob& job : list) improve(bound, job.head + job.longest + job.tail, "microbatch-chain");
  for (const auto& list : jobs) improve(bound, head_tail_bound(list), "rank-head-tail");
  return bound;
}

}  // namespace pipeloom
