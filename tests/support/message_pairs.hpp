#pragma once

// Whether messages without tags arrive where they are meant to: between two ranks the n-th send pairs with the n-th receive.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/actions.hpp"

namespace pipeloom::test {

/// A message as both of its ends name it: the stage that makes the tensor, its microbatch and slice, and whether it is a gradient.
struct Message {
  bool gradient = false;
  int stage = 0;
  int microbatch = 0;
  int slice = 0;
  friend bool operator==(const Message&, const Message&) = default;
};

/// The message of a send or receive: 3SEND_F1 and 4RECV_F1 are one, 4SEND_B1 and 3RECV_B1 are one.
inline Message message_of(Action action) {
  const bool gradient =
      action.kind() == ActionKind::SendBackward || action.kind() == ActionKind::RecvBackward;
  const int to_producer = !is_recv(action.kind()) ? 0 : gradient ? 1 : -1;
  return {gradient, action.stage().value() + to_producer, action.microbatch().value(), action.slice()};
}

/// "" if the n-th send of every pair of ranks is what its n-th receive waits for and none is left over; else the first pair that is not.
/// `rank_of(stage, microbatch)` is the rank of a stage.
template <class RankOf>
std::string mispaired(const ActionLists& lists, const RankOf& rank_of) {
  using Ends = std::pair<int, int>;  // from, to
  std::map<Ends, std::vector<Action>> sends;
  std::map<Ends, std::vector<Action>> receives;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank)
    for (const Action action : lists.row(rank)) {
      if (!is_transfer(action.kind())) continue;
      const Message message = message_of(action);
      const int other = message.stage + (message.gradient ? -1 : 1);
      if (is_send(action.kind()))
        sends[{rank.value(), rank_of(Stage(other), action.microbatch()).value()}].push_back(action);
      else
        receives[{rank_of(Stage(message.stage), action.microbatch()).value(), rank.value()}].push_back(
            action);
    }
  for (const auto& [ends, sent] : sends) {
    const auto& received = receives[ends];
    for (std::size_t n = 0; n < sent.size(); ++n)
      if (n >= received.size() || message_of(sent[n]) != message_of(received[n]))
        return to_text(sent[n]) + " meets " + (n < received.size() ? to_text(received[n]) : "nothing");
    if (received.size() > sent.size()) return to_text(received[sent.size()]) + " meets nothing";
  }
  for (const auto& [ends, received] : receives)
    if (sends.count(ends) == 0) return to_text(received.front()) + " meets nothing";
  return "";
}

}  // namespace pipeloom::test
