#include "schedules/v_player.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace pipeloom::schedules {
namespace {

constexpr Ticks kUnknown = std::numeric_limits<Ticks>::max();
/// A pass is not moved before more others than this many per rank: so far ahead none would be ready.
constexpr std::size_t kLookAhead = 8;

/// One rank of the play.
struct Playing {
  std::array<std::size_t, kPassKinds> next = {};  ///< where in the guide the next pass of the kind stands
  std::array<int, kPassKinds> done = {};
  std::vector<Pass> order;
  std::vector<Pass> inputs;  ///< I's and i's in the order in which they ran
  std::size_t weights =
      0;  ///< how many of `inputs` have had their weight pass, if those are not in the guide
  Ticks free_at = 0;
  Bytes held = 0;
  Bytes pending = 0;  ///< of `held`, what the weight passes that could run would give back
};

class Play {
 public:
  Play(const VProblem& problem, const PassOrders& guide, int microbatches, const PlayRule& rule,
       const LatestStarts* latest)
      : problem_(problem),
        guide_(guide),
        m_(static_cast<std::size_t>(microbatches)),
        rule_(rule),
        latest_(latest),
        arrivals_(guide.size() * 4 * m_, kUnknown),
        ranks_(guide.size()) {}

  PassOrders run();

 private:
  struct Wake {
    Ticks when;
    int rank;
    friend auto operator<=>(const Wake&, const Wake&) = default;
  };
  struct Choice {
    Pass pass = Pass::Forward0;
    Ticks from = kUnknown;
  };

  [[nodiscard]] Playing& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const std::vector<Pass>& guide(int rank) const {
    return guide_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] bool is_left(int rank, Pass pass) {
    return at(rank).next[index_of(pass)] < guide(rank).size();
  }
  [[nodiscard]] Ticks& arrival(int rank, Pass pass, int microbatch) {
    return arrivals_[(static_cast<std::size_t>(rank) * 4 + index_of(pass)) * m_ +
                     static_cast<std::size_t>(microbatch)];
  }
  /// When the next pass of the kind may start for all that other passes know.
  [[nodiscard]] Ticks next_arrival(int rank, Pass pass);
  [[nodiscard]] Ticks latest_start(int rank, Pass pass) {
    return (*latest_)[(static_cast<std::size_t>(rank) * 4 + index_of(pass)) * m_ +
                      static_cast<std::size_t>(at(rank).done[index_of(pass)])];
  }
  void skip_to_next(int rank, Pass pass, std::size_t from);
  [[nodiscard]] Pass head(int rank);
  [[nodiscard]] bool may_move(int rank, Pass pass, std::size_t head);
  [[nodiscard]] bool sticks_out(Ticks now, Ticks duration, Ticks wait_until, int percent) const;
  [[nodiscard]] bool weight_waits(int rank, Pass* weight);
  void decide(int rank, Ticks now);
  bool run_other(int rank, Ticks now, std::size_t head, Ticks wait_until);
  bool run_more_urgent(int rank, Ticks now, std::size_t head);
  void start(int rank, Pass pass, Ticks now);
  void deliver(int rank, Pass pass, int microbatch, Ticks end, Ticks now);

  const VProblem& problem_;
  const PassOrders& guide_;
  std::size_t m_;
  PlayRule rule_;
  const LatestStarts* latest_;
  std::vector<Ticks> arrivals_;  // [rank][pass][microbatch]
  std::vector<Playing> ranks_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes_;
};

void Play::skip_to_next(int rank, Pass pass, std::size_t from) {
  const auto& order = guide(rank);
  while (from < order.size() && order[from] != pass) ++from;
  at(rank).next[index_of(pass)] = from;
}

Ticks Play::next_arrival(int rank, Pass pass) {
  const int k = at(rank).done[index_of(pass)];
  if (!is_weight(pass)) return arrival(rank, pass, k);
  const auto input = pass == Pass::Weight1 ? Pass::Input1 : Pass::Input0;
  return at(rank).done[index_of(input)] > k ? 0 : kUnknown;
}

/// The kind that stands first in what is left of the guide. REQUIRES: something is left.
Pass Play::head(int rank) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < kPassKinds; ++i)
    if (at(rank).next[i] < at(rank).next[best]) best = i;
  return static_cast<Pass>(best);
}

/// Whether the next forward of the kind fits in front of what is left before it.
bool Play::may_move(int rank, Pass pass, std::size_t head) {
  const Playing& here = at(rank);
  const std::size_t to = here.next[index_of(pass)];
  if (to - head > kLookAhead * ranks_.size()) return false;
  if (!takes_memory(pass)) return true;
  const RankTerms& terms = problem_.at(rank);
  Bytes held = here.held - here.pending + terms.taken[index_of(pass)];
  if (held > terms.limit) return false;
  for (std::size_t i = head; i < to; ++i) {
    const Pass other = guide(rank)[i];
    if (is_weight(other) || i < here.next[index_of(other)]) continue;
    held += terms.taken[index_of(other)];
    if (held > terms.limit) return false;
    if (!takes_memory(other)) held -= terms.given[index_of(other)] + terms.given[index_of(weight_of(other))];
  }
  return true;
}

bool Play::sticks_out(Ticks now, Ticks duration, Ticks wait_until, int percent) const {
  if (percent < 0) return true;
  return wait_until != kUnknown && duration - (wait_until - now) > duration / 100 * percent;
}

/// Whether a weight pass could run, and which: the one that has waited longest.
bool Play::weight_waits(int rank, Pass* weight) {
  Playing& here = at(rank);
  if (rule_.weights_in_order) {
    const bool one = here.done[index_of(Pass::Input1)] > here.done[index_of(Pass::Weight1)];
    const bool zero = here.done[index_of(Pass::Input0)] > here.done[index_of(Pass::Weight0)];
    if (!one && !zero) return false;
    const bool first =
        !zero || (one && here.next[index_of(Pass::Weight1)] < here.next[index_of(Pass::Weight0)]);
    *weight = first ? Pass::Weight1 : Pass::Weight0;
    return true;
  }
  if (here.weights == here.inputs.size()) return false;
  *weight = weight_of(here.inputs[here.weights]);
  return true;
}

void Play::decide(int rank, Ticks now) {
  Playing& here = at(rank);
  if (here.free_at > now) return;
  Pass weight = Pass::Weight1;
  const bool waits = weight_waits(rank, &weight);
  const Pass next = head(rank);
  const std::size_t place = here.next[index_of(next)];
  if (place >= guide(rank).size()) {
    if (waits) start(rank, weight, now);
    return;
  }
  const Ticks ready = next_arrival(rank, next);
  Ticks ready_enough = ready;
  if (ready <= now) {
    if (rule_.by_latest && latest_ != nullptr && !is_weight(next) && run_more_urgent(rank, now, place))
      return;
    const RankTerms& terms = problem_.at(rank);
    const bool has_room = here.held + terms.taken[index_of(next)] <= terms.limit;
    return start(rank, has_room ? next : weight, now);
  }
  if (latest_ != nullptr && ready != kUnknown && !is_weight(next))
    ready_enough = std::max(ready, latest_start(rank, next));
  if (run_other(rank, now, place, ready_enough)) return;
  if (waits) {
    if (!sticks_out(now, problem_.duration(rank, weight, here.done[index_of(weight)]), ready_enough,
                    rule_.weight_late))
      return start(rank, weight, now);
  }
}

/// Runs the first pass behind the head that can start and does not hold up the head for long.
bool Play::run_other(int rank, Ticks now, std::size_t head, Ticks wait_until) {
  Playing& here = at(rank);
  std::size_t best = guide(rank).size();
  for (std::size_t i = 0; i < 4; ++i) {
    const auto pass = static_cast<Pass>(i);
    if (here.next[i] >= best || !is_left(rank, pass) || next_arrival(rank, pass) > now) continue;
    if (sticks_out(now, problem_.duration(rank, pass, here.done[i]), wait_until, rule_.other_late)) continue;
    if (may_move(rank, pass, head)) best = here.next[i];
  }
  if (best == guide(rank).size()) return false;
  const Pass pass = guide(rank)[best];
  const RankTerms& terms = problem_.at(rank);
  if (here.held + terms.taken[index_of(pass)] <= terms.limit) {
    start(rank, pass, now);
    return true;
  }
  Pass weight = Pass::Weight1;
  if (!weight_waits(rank, &weight)) return false;
  start(rank, weight, now);
  return true;
}

/// Runs a pass behind the head that can start, is due before it, and needs no room made first.
bool Play::run_more_urgent(int rank, Ticks now, std::size_t head) {
  const Playing& here = at(rank);
  const RankTerms& terms = problem_.at(rank);
  Ticks due = latest_start(rank, guide(rank)[head]);
  std::size_t best = head;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto pass = static_cast<Pass>(i);
    if (here.next[i] == head || !is_left(rank, pass) || next_arrival(rank, pass) > now) continue;
    if (latest_start(rank, pass) >= due || here.held + terms.taken[i] > terms.limit ||
        !may_move(rank, pass, head))
      continue;
    due = latest_start(rank, pass);
    best = here.next[i];
  }
  if (best == head) return false;
  start(rank, guide(rank)[best], now);
  return true;
}

void Play::deliver(int rank, Pass pass, int microbatch, Ticks end, Ticks now) {
  if (pass == Pass::Input0 && rank == 0) return;
  const auto [to, next] = receiver(pass, rank, problem_.ranks());
  const Ticks when = end + problem_.at(to).delay[index_of(next)];
  arrival(to, next, microbatch) = when;
  // A rank that is busy until then looks anyway when it is free. One that waits knows from now on how long: it may fill the time.
  if (when > at(to).free_at) wakes_.push({when, to});
  if (at(to).free_at <= now && to != rank) wakes_.push({now, to});
}

void Play::start(int rank, Pass pass, Ticks now) {
  Playing& here = at(rank);
  const RankTerms& terms = problem_.at(rank);
  const std::size_t kind = index_of(pass);
  const int k = here.done[kind]++;
  here.order.push_back(pass);
  here.free_at = now + problem_.duration(rank, pass, k);
  here.held += terms.taken[kind] - terms.given[kind];
  if (is_weight(pass)) {
    here.pending -= terms.given[kind];
    if (!rule_.weights_in_order) ++here.weights;
  } else if (!takes_memory(pass)) {
    here.pending += terms.given[index_of(weight_of(pass))];
    here.inputs.push_back(pass);
  }
  if (!is_weight(pass) || rule_.weights_in_order) skip_to_next(rank, pass, here.next[kind] + 1);
  wakes_.push({here.free_at, rank});
  if (!is_weight(pass)) deliver(rank, pass, k, here.free_at, now);
}

PassOrders Play::run() {
  for (int rank = 0; rank < problem_.ranks(); ++rank) {
    for (std::size_t i = 0; i < kPassKinds; ++i) skip_to_next(rank, static_cast<Pass>(i), 0);
    at(rank).order.reserve(kPassKinds * m_);
    wakes_.push({0, rank});
  }
  for (std::size_t k = 0; k < m_; ++k) arrival(0, Pass::Forward0, static_cast<int>(k)) = 0;
  while (!wakes_.empty()) {
    const Wake next = wakes_.top();
    wakes_.pop();
    decide(next.rank, next.when);
  }
  PassOrders orders;
  for (Playing& rank : ranks_) orders.push_back(std::move(rank.order));
  return orders;
}

}  // namespace

PassOrders play(const VProblem& problem, const PassOrders& guide, int microbatches, const PlayRule& rule,
                const LatestStarts* latest) {
  if (rule.weights_in_order) return Play(problem, guide, microbatches, rule, latest).run();
  return Play(problem, without_weights(guide), microbatches, rule, latest).run();
}

}  // namespace pipeloom::schedules
