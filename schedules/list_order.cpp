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

/// A pass that runs: when it ends, what waits for it may start.
struct Running {
  Slot slot;
  OpKind kind;
  int count;  ///< microbatches
};

class Player {
 public:
  Player(const Placement& placement, int microbatches, const ListRule& rule)
      : placement_(placement),
        rule_(rule),
        per_replica_(microbatches / placement.replicas()),
        progress_(static_cast<std::size_t>(placement.slots())),
        free_at_(static_cast<std::size_t>(placement.ranks()), 0),
        ends_(static_cast<std::size_t>(std::max(rule.forward_slots, rule.backward_slots)) + 1),
        queues_(static_cast<std::size_t>(placement.ranks())) {
    const std::size_t passes = op_count(placement.chunks(), 2 * microbatches, 1);
    for (auto& queue : queues_) queue.reserve(passes);
  }

  /// The queues, rank by rank.
  std::vector<std::vector<Op>> play();

 private:
  [[nodiscard]] std::vector<Running>& ends_at(int slot) {
    return ends_[static_cast<std::size_t>(slot) % ends_.size()];
  }
  /// Microbatches that the slot's next forward would take now; 0 if it cannot run.
  [[nodiscard]] int forward_count(const Progress& here) const;
  void start(Rank rank);
  void run(Rank rank, const Running& pass);
  void finish(const Running& done);

  const Placement& placement_;
  const ListRule& rule_;
  int per_replica_;
  int now_ = 0;
  int running_ = 0;
  std::vector<Progress> progress_;
  std::vector<int> free_at_;
  std::vector<std::vector<Running>> ends_;  // a ring over time
  std::vector<Rank> awake_;
  std::vector<std::vector<Op>> queues_;
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
    queues_[rank.at()].emplace_back(pass.kind, here.stage, Microbatch(here.first + next++));
  free_at_[rank.at()] = now_ + (is_forward ? rule_.forward_slots : rule_.backward_slots);
  ends_at(free_at_[rank.at()]).push_back(pass);
  ++running_;
}

/// Makes ready what waited for the pass.
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

std::vector<std::vector<Op>> Player::play() {
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
    if (running_ == 0) return std::move(queues_);
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
  const auto queues = Player(placement, microbatches, rule).play();
  ScheduleBuilder out(placement, microbatches, halves(placement, microbatches));
  out.reserve(op_count(placement.stages(), microbatches, 2));
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) {
    out.begin_rank(rank);
    for (const Op op : queues[rank.at()]) out.add(op);
  }
  return std::move(out).build();
}

}  // namespace pipeloom::schedules
