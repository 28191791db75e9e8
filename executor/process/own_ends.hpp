#pragma once

// The ends of messages at one rank that does not see the other ends: which may leave, which may be asked for, and which pair.
//
// Where one place knows both ends, MessageFlow (sim/messages/message_flow.hpp) decides. Here each rank keeps the queues of its own ends,
//
//   PerRank        one
//   PerDirection   one for activations, one for gradients
//   PerPair        one per peer and way
//   None           none: every end is at the head at once
//
// each a row of groups, a group being the ends that one batch has in that queue. The first group is at the head; when all of its ends are
// done the next one is. With a handshake the other rank reports its ends: a receive that reaches the head asks, and a
// send that is at the head and was asked for leaves. A message then runs exactly when both ends are at the heads of their
// queues, as in MessageFlow, but for the time that the word is under way.
//
// Not thread-safe; knows no sockets, clocks or tensors.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "executor/run/exchange.hpp"
#include "executor/run/run_plan.hpp"

namespace pipeloom::executor {

class OwnEnds {
 public:
  /// An action that the rank is to take now, or an event.
  struct Action {
    enum class What : std::uint8_t {
      Ask,       ///< a receive is at the head: tell the sender (with a handshake only)
      Send,      ///< the tensor may leave
      Received,  ///< a receive is done
    };
    What what = What::Ask;
    MessageInstance message = 0;
    friend bool operator==(const Action&, const Action&) = default;
  };
  using Actions = std::vector<Action>;

  OwnEnds(std::shared_ptr<const RunPlan> plan, Rank own);

  /// All of these append to `todo`, in the order in which it is to be done.

  void post(std::uint32_t batch, int step, Actions& todo);
  /// `from` is ready for this message. Throws WrongMessage if it cannot be: there is none of this number, its ends are at other ranks,
  /// or it came before.
  void asked(Rank from, MessageInstance message, Actions& todo);
  /// A tensor is there. It belongs to the channel's next receive, whichever that names. Throws WrongMessage as asked(), and with a
  /// handshake if that receive did not ask.
  void arrived(Rank from, MessageInstance message, Actions& todo);
  /// Action::Send of `message` has left whole.
  void left(MessageInstance message, Actions& todo);

  [[nodiscard]] bool is_posted(MessageInstance message) const { return has(message, kPosted); }
  [[nodiscard]] bool is_done(MessageInstance message) const { return has(message, kDone); }
  /// Describes the first receive that got another message's tensor; empty: none did.
  [[nodiscard]] const std::string& mispairing() const { return mispairing_; }

 private:
  using Flags = std::uint8_t;
  static constexpr Flags kPosted = 1;
  static constexpr Flags kAtHead = 2;
  static constexpr Flags kHeard = 4;   // the other rank's frame has come
  static constexpr Flags kPaired = 8;  // a receive has its tensor
  static constexpr Flags kDone = 16;

  struct Group {
    std::uint64_t batch = 0;
    std::vector<MessageInstance> ends;
    std::size_t unfinished = 0;
    bool at_head = false;
  };
  using Queue = std::deque<Group>;
  /// The messages of one communicator from one rank to another; each in its order, without those that have left or were paired.
  struct Channel {
    std::deque<MessageInstance> sends;
    std::deque<MessageInstance> receives;
    std::deque<MessageInstance> tensors;  // here before their receive was posted
    std::size_t asked = 0;                // more often than sent
  };

  [[nodiscard]] const Program& program() const { return plan_->program; }
  [[nodiscard]] QueueDiscipline discipline() const { return plan_->options.queue; }
  [[nodiscard]] const MessageInfo& info(MessageInstance message) const { return info_of(program(), message); }
  [[nodiscard]] bool is_send(MessageInstance message) const { return info(message).from_rank == own_; }
  [[nodiscard]] bool has(MessageInstance message, Flags flag) const { return (flags_[message] & flag) != 0; }
  void set(MessageInstance message, Flags flag) { flags_[message] |= flag; }
  [[nodiscard]] Queue& queue_of(MessageInstance message);

  /// Notes that a frame of this message has arrived. Throws WrongMessage if that is impossible.
  void hear(Rank from, MessageInstance message, bool is_tensor);
  void enqueue(MessageInstance message, std::uint64_t batch);
  void come_to_head(MessageInstance message, Actions& todo);
  void finish(MessageInstance message, Actions& todo);
  /// Takes groups that are done off the queue of this message.
  void move_up(MessageInstance message, Actions& todo);
  /// Sends the messages of the channel that may leave, joins tensors to receives, and forgets the channel if nothing is left in it.
  void serve(MessageInstance message, Actions& todo);
  void pair(Channel& channel, Actions& todo);

  std::shared_ptr<const RunPlan> plan_;
  Rank own_;
  std::vector<Flags> flags_;  // [instance]
  std::map<std::uint32_t, Queue> queues_;
  std::map<ChannelKey, Channel> channels_;
  std::string mispairing_;
};

}  // namespace pipeloom::executor
