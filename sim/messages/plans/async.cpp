#include <utility>
#include <vector>

#include "sim/kinds.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/messages/plans/inbox.hpp"
#include "sim/torch/lowering.hpp"

namespace pipeloom {
namespace {

/// Messages that are batches of their own.
class AsyncWriter {
 public:
  explicit AsyncWriter(std::shared_ptr<const Schedule> schedule)
      : out_(std::move(schedule)), receive_(out_.messages().size(), 0) {
    out_.reserve(2 * out_.messages().size());
  }

  [[nodiscard]] const Schedule& schedule() const { return out_.schedule(); }
  [[nodiscard]] ProgramBuilder& out() { return out_; }

  void receive(MessageId message) {
    const Endpoint end{message, false};
    receive_[message] = out_.post({&end, 1});
  }
  void wait_and_run(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      if (const MessageId id = out_.messages().needed_by(i); id != kNoMessage) out_.wait(receive_[id]);
    out_.run(first);
  }
  void send(std::size_t op) {
    const Endpoint end{out_.messages().sent_by(op), true};
    if (end.message != kNoMessage) out_.post({&end, 1});
  }

 private:
  ProgramBuilder out_;
  std::vector<std::uint32_t> receive_;  // batch that receives it, [message]
};

std::size_t entry_end(const Schedule& schedule, std::size_t first) {
  while (schedule.ops()[first].joined()) ++first;
  return first + 1;
}

Program receives_ahead(std::shared_ptr<const Schedule> schedule, int entries) {
  AsyncWriter writer(std::move(schedule));
  const Schedule& queues = writer.schedule();
  plans::Inbox inbox(writer.out().messages(), queues.ranks());
  const auto is_copy_at = [&](std::size_t i) { return is_copy(queues.ops()[i].kind()); };
  for (Rank rank{0}; rank < Rank(queues.ranks()); ++rank) {
    const std::size_t end = queues.queue_end(rank);
    std::size_t posted = queues.queue_begin(rank);  // receives of entries before this one have been posted
    const auto post_for_one = [&] {
      while (posted < end && is_copy_at(posted)) ++posted;
      if (posted == end) return;
      const std::size_t last = entry_end(queues, posted);
      for (; posted < last; ++posted)
        if (const MessageId id = writer.out().messages().needed_by(posted); id != kNoMessage)
          inbox.take(id, [&](MessageId taken) { writer.receive(taken); });
    };
    writer.out().begin_rank(rank);
    inbox.begin_rank(rank);
    for (int i = 0; i < entries && posted < end; ++i) post_for_one();
    for_each_entry(queues, queues.queue_begin(rank), end, [&](std::size_t first, std::size_t last) {
      if (is_copy_at(first)) return writer.out().run(first);
      post_for_one();
      writer.wait_and_run(first, last);
      for (std::size_t i = first; i < last; ++i) writer.send(i);
    });
  }
  return std::move(writer.out()).build();
}

/// The message that a RECV of a lowered row is.
class ReceiveNumbers {
 public:
  ReceiveNumbers(const Schedule& schedule, const MessageTable& messages, const torch::Homes& homes)
      : homes_(homes), id_(2 * homes.pairs(), kNoMessage) {
    for (MessageId id = 0; id < messages.size(); ++id) {
      const Op consumer = schedule.ops()[messages[id].consumer_op];
      id_[index(Action(consumer), messages[id].is_forward())] = id;
    }
  }
  [[nodiscard]] MessageId of(Action receive) const {
    return id_[index(receive, receive.kind() == ActionKind::RecvForward)];
  }

 private:
  [[nodiscard]] std::size_t index(Action action, bool is_forward) const {
    return 2 * homes_.pair_of(action) + (is_forward ? 1 : 0);
  }
  const torch::Homes& homes_;
  std::vector<MessageId> id_;  // [2 * pair of the consumer + is forward]
};

/// The rows of PyTorch's lowering. Its movements of parameters keep no rank waiting here.
Program lowered(std::shared_ptr<const Schedule> schedule, bool defer_receives) {
  const ActionLists lists =
      torch::lower(*schedule, {.target = defer_receives ? torch::Target::V213 : torch::Target::V210,
                               .defer_receives = defer_receives});
  AsyncWriter writer(std::move(schedule));
  const Schedule& queues = writer.schedule();
  const torch::Homes homes(queues);
  const ReceiveNumbers numbers(queues, writer.out().messages(), homes);
  for (Rank rank{0}; rank < Rank(queues.ranks()); ++rank) {
    writer.out().begin_rank(rank);
    std::size_t first = queues.queue_begin(rank);  // of the entry that ran last, once one has
    std::size_t last = first;
    for (const Action action : lists.row(rank)) {
      if (is_recv(action.kind())) {
        writer.receive(numbers.of(action));
      } else if (is_send(action.kind())) {
        // It comes after the entry that makes it, perhaps with receives between.
        for (std::size_t i = first; i < last; ++i) {
          const Op op = queues.ops()[i];
          const bool same_way = (op.kind() == OpKind::Forward) == (action.kind() == ActionKind::SendForward);
          if (same_way && op.stage() == action.stage()) writer.send(i);
        }
      } else if (is_op(action.kind()) && !action.joined()) {
        // The last part of a group is the action of all of it, of two entries that run in turn too.
        first = last;
        do {
          const std::size_t begin = last;
          last = entry_end(queues, begin);
          writer.wait_and_run(begin, last);
        } while (queues.ops()[last - 1].in_turn());
      }
    }
  }
  return std::move(writer.out()).build();
}

}  // namespace

Program async_plan(std::shared_ptr<const Schedule> schedule, ReceivePlacement placement) {
  if (placement.rule == ReceivePlacement::Rule::Ahead)
    return receives_ahead(std::move(schedule), placement.entries);
  return lowered(std::move(schedule), placement.rule == ReceivePlacement::Rule::BeforeUse);
}

}  // namespace pipeloom
