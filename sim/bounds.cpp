#include "sim/bounds.hpp"

#include <algorithm>
#include <vector>

namespace pipeloom {
namespace {

/// Entries of one rank that share head and tail. `longest` is one entry's duration, `work` that of all of them.
struct Job {
  Ticks head = 0;
  Ticks tail = 0;
  Ticks work = 0;
  Ticks longest = 0;
};
using Jobs = std::vector<std::vector<Job>>;  // [rank]

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
Ticks head_tail_bound(std::vector<Job> jobs) {
  std::vector<Ticks> tails;
  for (const Job& job : jobs) tails.push_back(job.tail);
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head > b.head; });
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

/// Longest chains of data dependencies through every entry; queue edges do not count, for other orders would have others.
class Chains {
 public:
  explicit Chains(const TimedDag& graph)
      : dag_(graph.dag),
        lags_(graph.lags),
        duration_(graph.durations),
        head_(graph.dag.num_entries(), 0),
        tail_(graph.dag.num_entries(), 0) {
    sort_by_data();
    for (const Vertex v : order_) relax_head(v);
    for (auto v = order_.rbegin(); v != order_.rend(); ++v) relax_tail(*v);
  }

  /// Entries of each rank, those with equal head and tail merged.
  [[nodiscard]] Jobs jobs() const {
    const Schedule& schedule = dag_.schedule();
    Jobs jobs(static_cast<std::size_t>(schedule.ranks()));
    Rank rank{0};
    for (Vertex v = 0; v < dag_.source(); ++v) {
      while (dag_.first_op(v) >= schedule.queue_end(rank)) ++rank;
      // Copies run beside the rank's work; they lengthen chains only.
      if (is_copy(schedule.ops()[dag_.first_op(v)].kind())) continue;
      add({head_[v], tail_[v], duration_[v], duration_[v]}, jobs[rank.at()]);
    }
    for (auto& list : jobs) merge(list);
    return jobs;
  }

 private:
  [[nodiscard]] bool is_data(std::uint32_t e) const { return dag_.edge(e).consumer != Dag::kQueueEdge; }

  void sort_by_data() {
    std::vector<std::uint32_t> missing(dag_.num_entries(), 0);
    for (std::uint32_t e = 0; e < dag_.num_edges(); ++e)
      if (is_data(e)) ++missing[dag_.edge(e).target];
    for (Vertex v = 0; v < dag_.source(); ++v)
      if (missing[v] == 0) order_.push_back(v);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const std::uint32_t e : dag_.out(order_[i]))
        if (is_data(e) && --missing[dag_.edge(e).target] == 0) order_.push_back(dag_.edge(e).target);
  }

  void relax_head(Vertex v) {
    for (std::uint32_t e = dag_.in_begin(v); e < dag_.in_begin(v + 1); ++e)
      if (is_data(e)) head_[v] = std::max(head_[v], head_[dag_.edge(e).source] + lags_[e]);
  }

  /// lag = duration + delay (less when a group's part is visible early), so what follows the end of v is that much less
  /// than what follows its start.
  void relax_tail(Vertex v) {
    for (const std::uint32_t e : dag_.out(v)) {
      if (!is_data(e)) continue;
      const Vertex next = dag_.edge(e).target;
      tail_[v] = std::max(tail_[v], lags_[e] - duration_[v] + duration_[next] + tail_[next]);
    }
  }

  /// Entries of one stage and kind mostly share head and tail: what is merged here need not be sorted.
  static void add(const Job& job, std::vector<Job>& jobs) {
    constexpr std::size_t kRecent = 8;
    const std::size_t oldest = jobs.size() - std::min(jobs.size(), kRecent);
    for (std::size_t i = jobs.size(); i > oldest; --i) {
      Job& known = jobs[i - 1];
      if (known.head != job.head || known.tail != job.tail) continue;
      known.work += job.work;
      known.longest = std::max(known.longest, job.longest);
      return;
    }
    jobs.push_back(job);
  }

  static void merge(std::vector<Job>& jobs) {
    std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) {
      return a.head != b.head ? a.head < b.head : a.tail < b.tail;
    });
    std::size_t kept = 0;
    for (std::size_t i = 1; i < jobs.size(); ++i) {
      if (jobs[i].head != jobs[kept].head || jobs[i].tail != jobs[kept].tail) {
        jobs[++kept] = jobs[i];
        continue;
      }
      jobs[kept].work += jobs[i].work;
      jobs[kept].longest = std::max(jobs[kept].longest, jobs[i].longest);
    }
    if (!jobs.empty()) jobs.resize(kept + 1);
  }

  const Dag& dag_;
  const std::vector<Ticks>& lags_;
  const std::vector<Ticks>& duration_;
  std::vector<Ticks> head_;
  std::vector<Ticks> tail_;
  std::vector<Vertex> order_;
};

Ticks work_of(const std::vector<Job>& jobs) {
  Ticks work = 0;
  for (const Job& job : jobs) work += job.work;
  return work;
}

void improve(LowerBound& bound, Ticks value, const char* name) {
  if (value > bound.value) bound = {value, name};
}

}  // namespace

LowerBound lower_bound(const TimedDag& graph, const Steps& steps) {
  const Jobs jobs = Chains(graph).jobs();
  LowerBound bound{0, "rank-work"};
  const bool barrier = steps.rule == StepRule::Barrier;
  for (const auto& list : jobs) improve(bound, work_of(list) + (barrier ? 0 : steps.optimizer), "rank-work");
  if (!barrier) return bound;
  // The set {head >= h, tail >= t} of a single entry holds that entry, so a chain never beats the best set: it comes first to give
  // the bound its simpler name where both agree.
  for (const auto& list : jobs)
    for (const Job& job : list) improve(bound, job.head + job.longest + job.tail, "microbatch-chain");
  for (const auto& list : jobs) improve(bound, head_tail_bound(list), "rank-head-tail");
  return bound;
}

LowerBound lower_bound(const Schedule& schedule, const Costs& costs, const Steps& steps) {
  return lower_bound(TimedDag(schedule, costs), steps);
}

}  // namespace pipeloom
