#pragma once

// The inside of the program engine that knows messages, queues and links but no instructions. See sim/messages/program_engine.hpp.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pipeloom/costs.hpp>
#include "sim/messages/program.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom {

/// Messages are instances here: id + step * messages of the table.
class MessageFlow {
 public:
  MessageFlow(const Program& program, const Costs& costs, const MessageRules& rules, int steps);

  /// One end of a batch's messages is posted at `when`; `batch` is an instance too. Appends to `ready` the messages that may
  /// start now: pass each to start(), in time order where links are shared.
  void post(Rank rank, std::uint32_t batch, std::span<const Endpoint> ends, std::uint32_t step, Ticks when,
            std::vector<std::uint32_t>& ready);

  /// Gives the message its start and end.
  void start(std::uint32_t message);

  /// The message has ended: queues move on. Appends to `ready`.
  void finish(std::uint32_t message, std::vector<std::uint32_t>& ready);

  [[nodiscard]] const std::vector<MessageTimes>& times() const { return times_; }
  [[nodiscard]] std::vector<MessageTimes> take_times() && { return std::move(times_); }
  /// Batches (instances) that hold the sending and the receiving end.
  [[nodiscard]] std::uint32_t batch_of(std::uint32_t message, bool is_send) const {
    return end_of(message, is_send).batch;
  }
  [[nodiscard]] bool is_posted(std::uint32_t message, bool is_send) const {
    return (is_send ? times_[message].sent : times_[message].received) >= 0;
  }
  /// The end at which a message waits in a queue after another, and a message not yet done at the head of that queue; the
  /// message itself if it waits after none.
  struct Ahead {
    std::uint32_t message = 0;
    Rank rank;
  };
  [[nodiscard]] Ahead ahead_of(std::uint32_t message) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The messages of one batch in one queue.
  struct Group {
    std::uint32_t first_end = kNone;  // a list through End::next
    std::uint32_t unfinished = 0;
    std::uint32_t next = kNone;  // the next group in the queue
    Ticks posted = 0;
    Ticks head_since = -1;  // -1: not yet at the head
    Ticks ended = 0;
    std::uint32_t queued_after = kNoMessage;  // the last message of the group before
    std::uint32_t last = kNoMessage;          // its own last message to end
  };
  struct End {
    std::uint32_t batch = kNone;
    std::uint32_t group = kNone;
    std::uint32_t next = kNone;  // End of the same group
  };
  struct Queue {
    std::uint32_t tail = kNone;
    std::uint32_t batch = kNone;  // of the tail group
  };
  struct Link {
    Ticks free = 0;
    std::uint32_t last = kNoMessage;
  };

  [[nodiscard]] const End& end_of(std::uint32_t message, bool is_send) const {
    return ends_[std::size_t{2} * message + (is_send ? 1 : 0)];
  }
  [[nodiscard]] const MessageInfo& info(std::uint32_t message) const { return table_[message % count_]; }
  /// Names a queue: the same number for messages of one queue.
  [[nodiscard]] std::uint64_t queue_of(Rank rank, const MessageInfo& message, bool is_send) const;
  void enqueue(Rank rank, std::uint32_t end, std::uint32_t batch, Ticks when);
  void move_up(std::uint32_t group, std::vector<std::uint32_t>& ready);
  [[nodiscard]] bool is_ready(std::uint32_t message) const;
  void note_ready(std::uint32_t message);
  void take_links(const MessageInfo& what, std::uint32_t message, MessageTimes& times);

  const MessageTable& table_;
  const Costs& costs_;
  MessageRules rules_;
  std::uint32_t count_;
  std::vector<MessageTimes> times_;  // [message]
  std::vector<End> ends_;            // [2 * message + is_send]
  std::vector<Group> groups_;
  std::unordered_map<std::uint64_t, Queue> queues_;
  std::vector<Link> send_engine_;     // [rank]
  std::vector<Link> receive_engine_;  // [rank]
  std::vector<Link> nic_out_;         // [node]
  std::vector<Link> nic_in_;          // [node]
};

}  // namespace pipeloom
