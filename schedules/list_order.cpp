#include "schedules/list_order.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "schedules/queue_builder.hpp"

namespace pipeloom::schedules {
namespace {

/// Microbatches of one stage of one replica, which pass it in order: how many may and how many did.
struct Progress {
  int forwards_ready = 0;
  int forwards = 0;
  int backwards_ready = 0;
  int backwards = 0;
};

struct Choice {
  ListKey key;
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
  [[nodiscard]] std::vector<Choice>& ends_at(int slot) {
    return ends_[static_cast<std::size_t>(slot) % ends_.size()];
  }
  [[nodiscard]] std::optional<Choice> forward_of(Slot slot) const;
  [[nodiscard]] std::optional<Choice> backward_of(Slot slot) const;
  void start(Rank rank);
  void finish(const Choice& done);

  const Placement& placement_;
  const ListRule& rule_;
  int per_replica_;
  int now_ = 0;
  int running_ = 0;
  std::vector<Progress> progress_;
  std::vector<int> free_at_;
  std::vector<std::vector<Choice>> ends_;  // a ring over time
  std::vector<Rank> awake_;
  std::vector<std::vector<Op>> queues_;
};

std::optional<Choice> Player::forward_of(Slot slot) const {
  const Progress& here = progress_[slot.at()];
  const int count = std::min(rule_.forwards_together, per_replica_ - here.forwards);
  const int live = here.forwards - here.backwards;
  if (count == 0 || here.forwards_ready - here.forwards < count || live > rule_.max_live - count)
    return std::nullopt;
  const auto key = rule_.key(OpKind::Forward, placement_.stage_of(slot).value(), here.forwards);
  return Choice{key, slot, OpKind::Forward, count};
}

std::optional<Choice> Player::backward_of(Slot slot) const {
  const Progress& here = progress_[slot.at()];
  if (here.backwards_ready == here.backwards) return std::nullopt;
  const auto key = rule_.key(OpKind::Backward, placement_.stage_of(slot).value(), here.backwards);
  return Choice{key, slot, OpKind::Backward, 1};
}

void Player::start(Rank rank) {
  if (free_at_[rank.at()] > now_) return;
  std::optional<Choice> best;
  for (const Slot slot : placement_.slots_of(rank))
    for (const auto& choice : {forward_of(slot), backward_of(slot)})
      if (choice && (!best || choice->key < best->key)) best = choice;
  if (!best) return;
  const bool forward = best->kind == OpKind::Forward;
  Progress& here = progress_[best->slot.at()];
  int& next = forward ? here.forwards : here.backwards;
  const int first = placement_.replica_of(best->slot).value() * per_replica_;
  for (int i = 0; i < best->count; ++i)
    queues_[rank.at()].emplace_back(best->kind, placement_.stage_of(best->slot), Microbatch(first + next++));
  free_at_[rank.at()] = now_ + (forward ? rule_.forward_slots : rule_.backward_slots);
  ends_at(free_at_[rank.at()]).push_back(*best);
  ++running_;
}

/// Makes ready what waited for the pass.
void Player::finish(const Choice& done) {
  const Stage stage = placement_.stage_of(done.slot);
  awake_.push_back(placement_.rank_of(done.slot));
  if (done.kind == OpKind::Forward && stage.value() + 1 == placement_.stages()) {
    progress_[done.slot.at()].backwards_ready += done.count;
  } else if (done.kind == OpKind::Forward) {
    progress_[done.slot.at() + 1].forwards_ready += done.count;
    awake_.push_back(placement_.rank_of(done.slot + 1));
  } else if (stage.value() > 0) {
    progress_[done.slot.at() - 1].backwards_ready += done.count;
    awake_.push_back(placement_.rank_of(done.slot - 1));
  }
}

std::vector<std::vector<Op>> Player::play() {
  for (int replica = 0; replica < placement_.replicas(); ++replica) {
    const Slot first = placement_.slot_of(Stage(0), Replica(replica));
    progress_[first.at()].forwards_ready = per_replica_;
    awake_.push_back(placement_.rank_of(first));
  }
  for (;; ++now_) {
    auto& ended = ends_at(now_);
    for (const Choice& done : ended) finish(done);
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
