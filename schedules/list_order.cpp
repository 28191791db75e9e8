#include "schedules/list_order.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "schedules/queue_builder.hpp"

namespace pipeloom::schedules {
namespace {

/// One stage of one replica. Its microbatches pass in order: how many may and how many did.
struct Progress {
  Stage stage;
  Rank rank;
  int first = 0;  ///< the replica's first microbatch
  int forwards_ready = 0;
  int forwards = 0;
  int backwards_ready = 0;
  int backwards = 0;
};

/// A pass that runs: when it ends, the passes that wait for it may start.
struct Running {
  Slot slot;
  OpKind kind;
  int count;  ///< microbatches
};

/// State of the player without the number of microbatches that have passed. As long as there are forwards left to start, the
/// rest of the order depends on this state alone.
struct Snapshot {
  int microbatches = 0;  ///< forwards of the first stage so far
  std::vector<int>
      state;  ///< counts of all stages less `microbatches`, the pass that each rank runs and for how long
  std::vector<std::size_t> at;  ///< queue lengths by rank
};

/// Queues by rank of which a piece, [begin, end) of each, is to run `times` times more, each time `period`
/// microbatches later.
struct Played {
  std::vector<std::vector<Op>> queues;
  struct Repeat {
    std::vector<std::size_t> begin;
    std::vector<std::size_t> end;
    int period = 0;
    int times = 0;
  } repeat = {};
};

class Player {
 public:
  Player(const Placement& placement, int microbatches, const ListRule& rule)
      : placement_(placement),
        rule_(rule),
        per_replica_(microbatches / placement.replicas()),
        progress_(static_cast<std::size_t>(placement.slots())),
        free_at_(static_cast<std::size_t>(placement.ranks()), 0),
        runs_(static_cast<std::size_t>(placement.ranks())),
        ends_(static_cast<std::size_t>(std::max(rule.forward_slots, rule.backward_slots)) + 1),
        played_{.queues = std::vector<std::vector<Op>>(static_cast<std::size_t>(placement.ranks()))} {}

  Played play();

 private:
  [[nodiscard]] std::vector<Running>& ends_at(int slot) {
    return ends_[static_cast<std::size_t>(slot) % ends_.size()];
  }
  /// Microbatches that the slot's next forward would take now; 0 if it cannot run.
  [[nodiscard]] int forward_count(const Progress& here) const;
  void start(Rank rank);
  void run(Rank rank, const Running& pass);
  void finish(const Running& done);
  [[nodiscard]] Snapshot snapshot() const;
  void look_for_period();
  void repeat(const Snapshot& before, const Snapshot& now);

  const Placement& placement_;
  const ListRule& rule_;
  int per_replica_;
  int now_ = 0;
  int running_ = 0;
  std::vector<Progress> progress_;
  std::vector<int> free_at_;
  std::vector<Running> runs_;               // by rank, until free_at_
  std::vector<std::vector<Running>> ends_;  // a ring over time
  std::vector<Rank> awake_;
  Played played_;

  Snapshot before_;
  int next_look_ = 0;
  int looks_ = 0;
  int looks_at_before_ = 0;
};

int Player::forward_count(const Progress& here) const {
  const int count = std::min(rule_.forwards_together, per_replica_ - here.forwards);
  if (here.forwards_ready - here.forwards < count) return 0;
  return here.forwards - here.backwards > rule_.max_live - count ? 0 : count;
}

void Player::start(Rank rank) {
  if (free_at_[rank.at()] > now_) return;
  Running best = {.slot = Slot(0), .kind = OpKind::Forward, .count = 0};
  ListKey best_key = std::numeric_limits<ListKey>::max();
  const auto consider = [&](Slot slot, OpKind kind, int microbatch, int count) {
    const ListKey key = rule_.key(kind, progress_[slot.at()].stage.value(), microbatch);
    if (key >= best_key) return;
    best_key = key;
    best = {.slot = slot, .kind = kind, .count = count};
  };
  for (const Slot slot : placement_.slots_of(rank)) {
    const Progress& here = progress_[slot.at()];
    if (const int count = forward_count(here)) consider(slot, OpKind::Forward, here.forwards, count);
    if (here.backwards_ready > here.backwards) consider(slot, OpKind::Backward, here.backwards, 1);
  }
  if (best.count > 0) run(rank, best);
}

void Player::run(Rank rank, const Running& pass) {
  const bool is_forward = pass.kind == OpKind::Forward;
  Progress& here = progress_[pass.slot.at()];
  int& next = is_forward ? here.forwards : here.backwards;
  for (int i = 0; i < pass.count; ++i)
    played_.queues[rank.at()].emplace_back(pass.kind, here.stage, Microbatch(here.first + next++));
  free_at_[rank.at()] = now_ + (is_forward ? rule_.forward_slots : rule_.backward_slots);
  runs_[rank.at()] = pass;
  ends_at(free_at_[rank.at()]).push_back(pass);
  ++running_;
}

/// Makes the passes ready that waited for this one.
void Player::finish(const Running& done) {
  Progress* here = &progress_[done.slot.at()];
  awake_.push_back(here->rank);
  const int stage = here->stage.value();
  if (done.kind == OpKind::Forward && stage + 1 == placement_.stages()) {
    here->backwards_ready += done.count;
  } else if (done.kind == OpKind::Forward) {
    here[1].forwards_ready += done.count;
    awake_.push_back(here[1].rank);
  } else if (stage > 0) {
    here[-1].backwards_ready += done.count;
    awake_.push_back(here[-1].rank);
  }
}

Snapshot Player::snapshot() const {
  Snapshot now;
  now.microbatches = progress_[0].forwards;
  now.state.reserve(4 * progress_.size() + 2 * free_at_.size());
  for (const Progress& here : progress_)
    for (const int count : {here.stage == Stage(0) ? now.microbatches : here.forwards_ready, here.forwards,
                            here.backwards_ready, here.backwards})
      now.state.push_back(count - now.microbatches);
  for (std::size_t rank = 0; rank < free_at_.size(); ++rank) {
    const int left = std::max(0, free_at_[rank] - now_);
    const Running& pass = runs_[rank];
    now.state.push_back(left);
    now.state.push_back(left == 0 ? 0
                                  : 2 * pass.slot.value() + static_cast<int>(pass.kind == OpKind::Forward));
  }
  for (const auto& queue : played_.queues) now.at.push_back(queue.size());
  return now;
}

/// Looks for a period: once the player is in a state in which it was before, it goes on in the same way. Compares with one
/// snapshot, which is renewed after 1, 2, 4, .. looks, so that a period of any length is found (Brent's algorithm).
void Player::look_for_period() {
  const int every = placement_.ranks() * rule_.forwards_together;
  if (played_.repeat.period > 0 || progress_[0].forwards < next_look_) return;
  next_look_ = (progress_[0].forwards / every + 1) * every;
  ++looks_;
  Snapshot now = snapshot();
  if (!before_.state.empty() && now.state == before_.state) {
    repeat(before_, now);
  } else if (looks_ >= 2 * looks_at_before_) {
    before_ = std::move(now);
    looks_at_before_ = looks_;
  }
}

/// Repeats the ops played since `before` as often as the forwards of all replicas last, and goes on after them.
void Player::repeat(const Snapshot& before, const Snapshot& now) {
  const int period = now.microbatches - before.microbatches;
  int most = 0;
  for (const Progress& here : progress_) most = std::max(most, here.forwards);
  const int times = std::max(0, (per_replica_ - rule_.forwards_together - most) / period);
  played_.repeat = {.begin = before.at, .end = now.at, .period = period, .times = times};
  for (Progress& here : progress_) {
    if (here.stage != Stage(0)) here.forwards_ready += times * period;
    here.forwards += times * period;
    here.backwards_ready += times * period;
    here.backwards += times * period;
  }
}

Played Player::play() {
  for (Slot slot{0}; slot < Slot(placement_.slots()); ++slot) {
    Progress& here = progress_[slot.at()];
    here.stage = placement_.stage_of(slot);
    here.rank = placement_.rank_of(slot);
    here.first = placement_.replica_of(slot).value() * per_replica_;
    if (here.stage != Stage(0)) continue;
    here.forwards_ready = per_replica_;
    awake_.push_back(here.rank);
  }
  for (;; ++now_) {
    auto& ended = ends_at(now_);
    for (const Running& done : ended) finish(done);
    running_ -= static_cast<int>(ended.size());
    ended.clear();
    for (const Rank rank : awake_) start(rank);
    awake_.clear();
    look_for_period();
    if (running_ == 0) return std::move(played_);
  }
}

std::vector<std::uint8_t> halves(const Placement& placement, int microbatches) {
  std::vector<std::uint8_t> replica_of_microbatch;
  if (placement.replicas() == 1) return replica_of_microbatch;
  replica_of_microbatch.assign(static_cast<std::size_t>(microbatches), 0);
  std::fill(replica_of_microbatch.begin() + microbatches / 2, replica_of_microbatch.end(), std::uint8_t{1});
  return replica_of_microbatch;
}

}  // namespace

Schedule list_order(const Placement& placement, int microbatches, const ListRule& rule) {
  const Played played = Player(placement, microbatches, rule).play();
  const auto& repeat = played.repeat;
  ScheduleBuilder out(placement, microbatches, halves(placement, microbatches));
  out.reserve(op_count(placement.stages(), microbatches, 2));
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    out.begin_rank(rank);
    const auto& queue = played.queues[rank.at()];
    const std::size_t middle = repeat.times > 0 ? repeat.end[rank.at()] : 0;
    for (std::size_t i = 0; i < middle; ++i) out.add(queue[i]);
    for (int time = 1; time <= repeat.times; ++time)
      for (std::size_t i = repeat.begin[rank.at()]; i < middle; ++i)
        out.add({queue[i].kind(), queue[i].stage(), queue[i].microbatch() + time * repeat.period});
    for (std::size_t i = middle; i < queue.size(); ++i) out.add(queue[i]);
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
