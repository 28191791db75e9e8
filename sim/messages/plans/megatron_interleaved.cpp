// The message loops of Megatron-LM's forward_backward_pipelining_with_interleaving, by the messages that they issue and wait for.

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/messages/message_plans.hpp"
#include "sim/messages/plans/rank_writer.hpp"

namespace pipeloom {
namespace {

using plans::Group;
using plans::RankWriter;

enum class Mode : std::uint8_t { Blocking, Overlap, OverlapFlush };

/// The forwards of a rank, or its backwards, in the order of its queue, and which of their inputs have been received.
class Direction {
 public:
  Direction(const RankWriter& writer, bool is_forward) : writer_(writer), is_forward_(is_forward) {}

  void begin_rank(Rank rank) {
    const Schedule& schedule = writer_.schedule();
    const Rank first(is_forward_ ? 0 : schedule.ranks() - 1);
    wraps_ = rank == first;
    received_ = 0;
    ops_.clear();
    handles_.clear();
    next_handle_ = 0;
  }
  void add(std::size_t op) { ops_.push_back(op); }

  [[nodiscard]] std::size_t size() const { return ops_.size(); }
  [[nodiscard]] std::size_t op(std::size_t k) const { return ops_[k]; }
  [[nodiscard]] bool has_input(std::size_t k) const {
    return writer_.messages().needed_by(ops_[k]) != kNoMessage;
  }
  [[nodiscard]] MessageId output(std::size_t k) const { return writer_.messages().sent_by(ops_[k]); }

  MessageId first_input() { return ops_.empty() || !has_input(0) ? kNoMessage : take_input(); }
  /// The message that the rank receives after its k-th op.
  MessageId input_after(std::size_t k) {
    if (k + 1 >= ops_.size()) return kNoMessage;
    if (!wraps_) return take_input();
    const auto ring = static_cast<std::size_t>(writer_.schedule().ranks()) - 1;
    return k < ring || is_last_chunk(ops_[k - ring]) ? kNoMessage : take_input();
  }
  void require_received(std::size_t k) const {
    if (has_input(k) && received_ <= k)
      writer_.refuse_shape(
          fmt::format("a group of fewer microbatches than ranks comes back for its next chunk too soon"));
  }

  /// Asynchronous receives in the order in which they were posted.
  void post(RankWriter& writer, MessageId input) {
    if (input != kNoMessage) handles_.push_back(writer.out().post(Group().receive(input).endpoints()));
  }
  void wait_for_one(RankWriter& writer) {
    if (next_handle_ < handles_.size()) writer.out().wait(handles_[next_handle_++]);
  }

 private:
  MessageId take_input() {
    while (received_ < ops_.size() && !has_input(received_)) ++received_;
    return received_ == ops_.size() ? kNoMessage : writer_.messages().needed_by(ops_[received_++]);
  }
  [[nodiscard]] bool is_last_chunk(std::size_t op) const {
    const Schedule& schedule = writer_.schedule();
    const int stage = schedule.ops()[op].stage().value();
    return is_forward_ ? stage >= schedule.stages() - schedule.ranks() : stage < schedule.ranks();
  }

  const RankWriter& writer_;
  bool is_forward_;
  bool wraps_ = false;            // the rank where a microbatch comes back for its next chunk
  std::vector<std::size_t> ops_;  // op indices
  std::size_t received_ = 0;      // inputs of ops before this one have been received, or there are none
  std::vector<std::uint32_t> handles_;
  std::size_t next_handle_ = 0;
};

class InterleavedRank {
 public:
  InterleavedRank(RankWriter& writer, Mode mode)
      : writer_(writer),
        mode_(mode),
        pairs_(writer.schedule().has_groups()),
        forwards_(writer, true),
        backwards_(writer, false) {}

  void write(Rank rank) {
    rank_ = rank;
    send_back_ = kNoBatch;
    writer_.begin_rank(rank);
    split();
    writer_.exchange(Group().receive(forwards_.first_input()));
    const std::size_t warmup = warmup_count();
    all_warmup_ = warmup == forwards_.size();
    for (std::size_t k = 0; k < warmup; ++k) warm_up(k, k + 1 == warmup && !all_warmup_);
    const std::size_t steady = forwards_.size() - warmup;
    for (std::size_t k = 0; k < steady; ++k) step(warmup + k, k);
    if (all_warmup_) writer_.exchange(Group().receive(backwards_.first_input()));
    for (std::size_t k = steady; k < backwards_.size(); ++k) cool_down(k);
    if (send_back_ != kNoBatch) writer_.out().wait(send_back_);
    writer_.end_rank();
  }

 private:
  static constexpr std::uint32_t kNoBatch = ~std::uint32_t{0};

  void warm_up(std::size_t k, bool is_last) {
    const bool flush = mode_ == Mode::OverlapFlush;
    const bool posts_behind = rank_ == Rank(0);
    if (flush && k > 0 && forwards_.has_input(k)) forwards_.wait_for_one(writer_);
    if (flush && !posts_behind) forwards_.post(writer_, forwards_.input_after(k));
    run_forward(k);
    if (flush) {
      if (posts_behind) forwards_.post(writer_, forwards_.input_after(k));
      send_forward(k);
    } else {
      Group group;
      group.receive(forwards_.input_after(k)).send(forwards_.output(k));
      if (is_last && mode_ == Mode::Blocking) group.receive(backwards_.first_input());
      writer_.exchange(group);
    }
    if (is_last && mode_ != Mode::Blocking) backwards_.post(writer_, backwards_.first_input());
  }

  /// Forward f and backward b of the steady phase.
  void step(std::size_t f, std::size_t b) {
    if (mode_ == Mode::Blocking) {
      run_forward(f);
      run_backward(b);
      Group group;
      group.send(backwards_.output(b)).receive(forwards_.input_after(f));
      writer_.exchange(group.send(forwards_.output(f)).receive(backwards_.input_after(b)));
      return;
    }
    if (forwards_.has_input(f)) forwards_.wait_for_one(writer_);
    if (pairs_ && backwards_.has_input(b)) backwards_.wait_for_one(writer_);
    run_forward(f);
    if (pairs_) run_backward(b);
    forwards_.post(writer_, forwards_.input_after(f));
    send_forward(f);
    if (!pairs_ && backwards_.has_input(b)) backwards_.wait_for_one(writer_);
    if (!pairs_) run_backward(b);
    const std::uint32_t sent = post_backward(b);
    backwards_.post(writer_, backwards_.input_after(b));
    wait_for_send_before(sent);
  }

  void cool_down(std::size_t k) {
    if (mode_ != Mode::Blocking && k > 0 && backwards_.has_input(k)) backwards_.wait_for_one(writer_);
    if (mode_ != Mode::OverlapFlush) {
      run_backward(k);
      writer_.exchange(Group().send(backwards_.output(k)).receive(backwards_.input_after(k)));
      return;
    }
    const bool posts_behind = rank_ == Rank(writer_.schedule().ranks() - 1);
    if (!posts_behind) backwards_.post(writer_, backwards_.input_after(k));
    run_backward(k);
    const std::uint32_t sent = post_backward(k);
    if (posts_behind) backwards_.post(writer_, backwards_.input_after(k));
    wait_for_send_before(sent);
  }

  void run_forward(std::size_t k) {
    forwards_.require_received(k);
    writer_.run(forwards_.op(k));
  }
  /// In a pair it has run with its forward.
  void run_backward(std::size_t k) {
    backwards_.require_received(k);
    const std::size_t op = backwards_.op(k);
    const std::size_t before = op - 1;
    if (op > 0 && writer_.schedule().ops()[before].joined()) {
      if (writer_.next() <= op) writer_.refuse_shape("a pair stands where a backward is due");
      return;
    }
    writer_.run(op);
  }
  void send_forward(std::size_t k) { writer_.exchange(Group().send(forwards_.output(k))); }
  std::uint32_t post_backward(std::size_t k) {
    const MessageId output = backwards_.output(k);
    return output == kNoMessage ? kNoBatch : writer_.out().post(Group().send(output).endpoints());
  }
  void wait_for_send_before(std::uint32_t sent) {
    if (send_back_ != kNoBatch) writer_.out().wait(send_back_);
    send_back_ = sent;
  }

  void split() {
    const Schedule& schedule = writer_.schedule();
    forwards_.begin_rank(rank_);
    backwards_.begin_rank(rank_);
    for (std::size_t i = schedule.queue_begin(rank_); i < schedule.queue_end(rank_); ++i) {
      const OpKind kind = schedule.ops()[i].kind();
      if (kind == OpKind::Forward) forwards_.add(i);
      if (kind == OpKind::Backward) backwards_.add(i);
    }
    if (backwards_.size() > 0 && backwards_.size() != forwards_.size())
      writer_.refuse_shape("F and B are not equally many");
  }

  /// N is the length of the first run of one chunk.
  [[nodiscard]] std::size_t warmup_count() const {
    const Schedule& schedule = writer_.schedule();
    const auto stage = [&](std::size_t k) { return schedule.ops()[forwards_.op(k)].stage(); };
    const std::size_t all = forwards_.size();
    if (backwards_.size() == 0) return all;
    std::size_t group = 1;
    while (group < all && stage(group) == stage(0)) ++group;
    const auto later_ranks = static_cast<std::size_t>(schedule.ranks()) - 1 - rank_.at();
    const auto chunks = static_cast<std::size_t>(schedule.placement().chunks());
    return std::min(all, 2 * later_ranks + (chunks - 1) * group + (pairs_ ? 1 : 0));
  }

  RankWriter& writer_;
  Mode mode_;
  bool pairs_;
  Direction forwards_;
  Direction backwards_;
  Rank rank_;
  bool all_warmup_ = false;
  std::uint32_t send_back_ = kNoBatch;  // the last send of a gradient, which has not been waited for
};

Program interleaved(std::shared_ptr<const Schedule> schedule, Mode mode) {
  RankWriter writer(std::move(schedule), "Megatron-LM's interleaved 1F1B");
  const Placement& placement = writer.schedule().placement();
  if (placement != Placement::loop(placement.ranks(), placement.chunks()))
    writer.refuse_shape("stage s is on rank s mod p there");
  InterleavedRank rank_plan(writer, mode);
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) rank_plan.write(rank);
  return std::move(writer.out()).build();
}

}  // namespace

Program megatron_interleaved_blocking(std::shared_ptr<const Schedule> schedule) {
  return interleaved(std::move(schedule), Mode::Blocking);
}

Program megatron_interleaved_overlap(std::shared_ptr<const Schedule> schedule, OverlapFlush flush) {
  return interleaved(std::move(schedule), flush == OverlapFlush::Yes ? Mode::OverlapFlush : Mode::Overlap);
}

}  // namespace pipeloom
