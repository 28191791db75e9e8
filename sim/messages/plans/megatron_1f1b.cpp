#include <utility>
#include <vector>

#include "sim/messages/message_plans.hpp"
#include "sim/messages/plans/rank_writer.hpp"

namespace pipeloom {
namespace {

using plans::Group;

class BlockingRank {
 public:
  explicit BlockingRank(plans::RankWriter& writer) : writer_(writer), messages_(writer.messages()) {}

  void write(Rank rank) {
    writer_.begin_rank(rank);
    split(rank);
    const std::size_t warmup = warmup_of(rank);
    const std::size_t steady = forwards_.size() - warmup;
    for (std::size_t k = 0; k < warmup; ++k) {
      writer_.exchange(Group().receive(messages_.needed_by(forwards_[k])));
      writer_.run(forwards_[k]);
      writer_.exchange(Group().send(messages_.sent_by(forwards_[k])));
    }
    if (steady > 0) writer_.exchange(Group().receive(messages_.needed_by(forwards_[warmup])));
    for (std::size_t k = 0; k < steady; ++k) step(warmup + k, k);
    for (std::size_t k = steady; k < backwards_.size(); ++k) {
      writer_.exchange(Group().receive(messages_.needed_by(backwards_[k])));
      writer_.run(backwards_[k]);
      writer_.exchange(Group().send(messages_.sent_by(backwards_[k])));
    }
    writer_.end_rank();
  }

 private:
  /// One F and B of the steady phase.
  void step(std::size_t f, std::size_t b) {
    writer_.run(forwards_[f]);
    writer_.exchange(
        Group().send(messages_.sent_by(forwards_[f])).receive(messages_.needed_by(backwards_[b])));
    writer_.run(backwards_[b]);
    const bool is_last = f + 1 == forwards_.size();
    writer_.exchange(Group()
                         .send(messages_.sent_by(backwards_[b]))
                         .receive(is_last ? kNoMessage : messages_.needed_by(forwards_[f + 1])));
  }

  void split(Rank rank) {
    const Schedule& schedule = writer_.schedule();
    forwards_.clear();
    backwards_.clear();
    before_backward_ = 0;
    for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
      const Op op = schedule.ops()[i];
      if (op.joined()) writer_.refuse_shape("it has groups");
      if (op.kind() == OpKind::Forward) forwards_.push_back(i);
      if (op.kind() == OpKind::Backward) backwards_.push_back(i);
      if (backwards_.empty()) before_backward_ = forwards_.size();
    }
    if (!backwards_.empty() && backwards_.size() != forwards_.size())
      writer_.refuse_shape("F and B are not equally many");
  }

  /// The last forward in front of the first backward belongs to the steady phase, if there is one. Where all forwards come first
  /// the queue does not show whether there is: Megatron-LM's own count, p - 1 - r, decides.
  [[nodiscard]] std::size_t warmup_of(Rank rank) const {
    const std::size_t all = forwards_.size();
    const auto later_ranks = static_cast<std::size_t>(writer_.schedule().ranks()) - 1 - rank.at();
    if (backwards_.empty() || (before_backward_ == all && later_ranks + 1 != all)) return all;
    return before_backward_ - 1;
  }

  plans::RankWriter& writer_;
  const MessageTable& messages_;
  std::vector<std::size_t> forwards_;   // op indices
  std::vector<std::size_t> backwards_;  // op indices
  std::size_t before_backward_ = 0;     // forwards in front of the first backward
};

}  // namespace

Program megatron_1f1b_blocking(std::shared_ptr<const Schedule> schedule) {
  plans::RankWriter writer(std::move(schedule), "Megatron-LM's 1F1B");
  if (writer.schedule().placement() != Placement::linear(writer.schedule().ranks()))
    writer.refuse_shape("every rank holds one stage there");
  BlockingRank rank_plan(writer);
  for (Rank rank{0}; rank < Rank(writer.schedule().ranks()); ++rank) rank_plan.write(rank);
  return std::move(writer.out()).build();
}

}  // namespace pipeloom
