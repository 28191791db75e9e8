// DualPipe's steps, as schedules/dualpipe_steps.cpp numbers them, with the messages that each op receives and sends.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/kinds.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/messages/plans/rank_writer.hpp"

namespace pipeloom {
namespace {

using plans::RankWriter;

/// A rank's position; see DualPipeRank of schedules/dualpipe_steps.hpp.
struct Position {
  int half;          ///< h
  int depth;         ///< d
  int microbatches;  ///< n
  bool two_models;   ///< DualPipe, not DualPipeV
  [[nodiscard]] bool is_middle() const { return depth + 1 == half; }
};

class DualPipeMessages {
 public:
  explicit DualPipeMessages(RankWriter& writer)
      : writer_(writer), has_backwards_(!writer.schedule().is_forward_only()) {}

  void write(Rank rank, const Position& where) {
    writer_.begin_rank(rank);
    split(rank);
    warm_up(where);
    steady(where);
    cool_down(where);
    commit();
    writer_.end_rank();
  }

 private:
  enum class Direction : std::uint8_t { Forward, Backward };

  /// Ops of one lane and direction, in queue order.
  struct Lane {
    std::vector<std::size_t> ops;  // op indices
    std::size_t received = 0;
  };

  Lane& lane(Direction direction, int number) {
    return lanes_[2 * static_cast<std::size_t>(direction) + static_cast<std::size_t>(number)];
  }

  void split(Rank rank) {
    const Schedule& schedule = writer_.schedule();
    for (Lane& one : lanes_) one = {std::move(one.ops), 0};
    for (Lane& one : lanes_) one.ops.clear();
    const std::size_t begin = schedule.queue_begin(rank);
    for (std::size_t i = begin; i < schedule.queue_end(rank); ++i) {
      const Op op = schedule.ops()[i];
      const bool is_forward = op.kind() == OpKind::Forward;
      if (!is_forward && !carries_gradient(op.kind())) continue;
      lane(is_forward ? Direction::Forward : Direction::Backward, lane_of(i, begin)).ops.push_back(i);
    }
  }
  /// The first op of a queue is a forward of lane 0.
  [[nodiscard]] int lane_of(std::size_t op, std::size_t first) const {
    const Schedule& schedule = writer_.schedule();
    return schedule.slot_of(schedule.ops()[op]) == schedule.slot_of(schedule.ops()[first]) ? 0 : 1;
  }

  // Messages ---------------------------------------------------------------------------------------------------------

  void add(MessageId message, bool is_send) {
    if (message != kNoMessage) pending_.push_back({message, is_send});
  }
  /// Adds the message that the lane's next op of this direction needs.
  void receive(Direction direction, int number) {
    Lane& from = lane(direction, number);
    if (from.received < from.ops.size()) add(writer_.messages().needed_by(from.ops[from.received++]), false);
  }
  void send(std::size_t op) { add(writer_.messages().sent_by(op), true); }
  void commit() {
    writer_.out().exchange(pending_);
    pending_.clear();
  }

  // Ops --------------------------------------------------------------------------------------------------------------

  enum class Send : std::uint8_t { Now, Later };
  enum class Receive : std::uint8_t { Now, Before };

  /// Returns the op.
  std::size_t forward(int number, Receive receives, Send sends) {
    if (receives == Receive::Now) receive(Direction::Forward, number);
    commit();
    const std::size_t op = run();
    if (sends == Send::Now) send(op);
    return op;
  }
  std::size_t backward(int number, Send sends = Send::Now) {
    receive(Direction::Backward, number);
    commit();
    if (!has_backwards_) return kNothing;
    const std::size_t op = run();
    if (sends == Send::Now) send(op);
    return op;
  }
  void pair(int forward_lane, Receive receives = Receive::Now) {
    if (receives == Receive::Now) receive(Direction::Forward, forward_lane);
    receive(Direction::Backward, 1 - forward_lane);
    commit();
    const std::size_t op = run();
    send(op);
    if (!has_backwards_) return;
    if (!writer_.schedule().ops()[op].joined())
      writer_.refuse_shape(fmt::format("{} is alone", to_text(writer_.schedule().ops()[op])));
    send(op + 1);
  }
  void weight() {
    if (!has_backwards_) return;
    commit();
    run();
  }
  std::size_t run() {
    const std::size_t op = writer_.next();
    writer_.run(op);
    return op;
  }

  // Steps ------------------------------------------------------------------------------------------------------------

  void warm_up(const Position& where) {
    const bool at_once = where.two_models && where.is_middle();
    for (int i = 0; i < 2 * (where.half - where.depth - 1); ++i) forward(0, Receive::Now, Send::Now);  // 1
    receive(Direction::Forward, 0);
    for (int i = 0; i < where.depth + 1; ++i) {  // 2
      const std::size_t op = forward(0, Receive::Before, at_once ? Send::Now : Send::Later);
      receive(Direction::Forward, 0);
      const bool kept = where.is_middle() && i == where.depth;
      kept_ = forward(1, Receive::Now, kept ? Send::Later : Send::Now);
      if (!at_once) send(op);
    }
    for (int i = 0; i < where.half - where.depth - 1; ++i) {  // 3
      backward(1);
      receive(Direction::Forward, 1);
      weight();
      forward(1, Receive::Before, Send::Now);
    }
  }

  void steady(const Position& where) {
    for (int i = 0; i < where.microbatches - 2 * where.half + where.depth + 1; ++i) {  // 4
      if (i == 0 && where.is_middle())
        first_pair_apart();
      else
        pair(0, i == 0 ? Receive::Before : Receive::Now);
      pair(1);
    }
    for (int i = 0; i < where.half - where.depth - 1; ++i) {  // 5
      backward(1);
      pair(1);
    }
  }
  void first_pair_apart() {
    const std::size_t ahead = forward(0, Receive::Before, Send::Later);
    send(kept_);
    const std::size_t back = backward(1, Send::Later);
    send(ahead);
    if (back != kNothing) send(back);
  }

  void cool_down(const Position& where) {
    for (int i = 0; i < where.depth + 1; ++i) {  // 6
      backward(1);
      backward(0);
    }
    for (int i = 0; i < where.half - where.depth - 1; ++i) {  // 7
      weight();
      backward(0);
    }
    for (int i = 0; i < where.depth + 1; ++i) weight();  // 8
  }

  static constexpr std::size_t kNothing = ~std::size_t{0};

  RankWriter& writer_;
  bool has_backwards_;
  std::array<Lane, 4> lanes_;  // [2 * direction + lane]
  std::vector<Endpoint> pending_;
  std::size_t kept_ = 0;  // op whose output the middle rank sends later
};

}  // namespace

Program dualpipe_blocking(std::shared_ptr<const Schedule> schedule) {
  RankWriter writer(std::move(schedule), "DualPipe");
  const Placement& placement = writer.schedule().placement();
  const int p = placement.ranks();
  const int m = writer.schedule().microbatches();
  const bool two_models = placement.replicas() == 2;
  if (placement != (two_models ? Placement::bidirectional(p) : Placement::wave(p, 2)))
    writer.refuse_shape("its stages stand on two ways through the ranks there");
  DualPipeMessages messages(writer);
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    const int r = rank.value();
    messages.write(
        rank, two_models ? Position{p / 2, std::min(r, p - 1 - r), m / 2, true} : Position{p, r, m, false});
  }
  return std::move(writer.out()).build();
}

}  // namespace pipeloom
