#pragma once

// Receives that must be posted so that untagged messages pair up. Private to sim/plans.

#include <cstddef>
#include <vector>

#include "sim/messages/program.hpp"

namespace pipeloom::plans {

/// The messages to a rank, by sender, in the order in which the sender sends them (directly after their producers). A rank that
/// needs them in another order must also receive those that were sent before.
class Inbox {
 public:
  Inbox(const MessageTable& messages, int ranks);

  void begin_rank(Rank rank);

  /// Calls fn(id) for `message`, and in front of it for the messages that its sender sends to this rank sooner; none that was taken before.
  /// REQUIRES: it is for the rank begun last, and kNoMessage is not asked for.
  template <class Fn>
  void take(MessageId message, Fn&& fn) {
    std::size_t& next = next_[messages_[message].from_rank.at()];
    while (next < end_ && ids_[next] <= message) fn(ids_[next++]);
  }

 private:
  const MessageTable& messages_;
  std::vector<MessageId> ids_;      // by receiving rank; ids rise, so that a sender's messages are adjacent
  std::vector<std::size_t> begin_;  // ranks + 1 offsets into ids_
  std::vector<std::size_t>
      next_;             // by sender, of the current rank: index of its first message that was not taken
  std::size_t end_ = 0;  // of the current rank's messages
};

}  // namespace pipeloom::plans
