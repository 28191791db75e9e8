#include "sim/messages/plans/inbox.hpp"

namespace pipeloom::plans {

Inbox::Inbox(const MessageTable& messages, int ranks)
    : messages_(messages),
      ids_(messages.size()),
      begin_(static_cast<std::size_t>(ranks) + 1, 0),
      next_(static_cast<std::size_t>(ranks), 0) {
  for (MessageId id = 0; id < messages.size(); ++id) ++begin_[messages[id].to_rank.at() + 1];
  for (std::size_t r = 1; r < begin_.size(); ++r) begin_[r] += begin_[r - 1];
  std::vector<std::size_t> at(begin_.begin(), begin_.end() - 1);
  for (MessageId id = 0; id < messages.size(); ++id) ids_[at[messages[id].to_rank.at()]++] = id;
}

void Inbox::begin_rank(Rank rank) {
  end_ = begin_[rank.at() + 1];
  // Backwards, so that each sender's first message is the one that stays.
  for (std::size_t i = end_; i-- > begin_[rank.at()];) next_[messages_[ids_[i]].from_rank.at()] = i;
}

}  // namespace pipeloom::plans
