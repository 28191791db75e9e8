#include "sim/torch/pairing.hpp"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <utility>

namespace pipeloom::torch {
namespace {

struct End {
  Action action;
  std::size_t cell = 0;
};

/// Messages from one rank to another: the sends of the one and the receives of the other, each in the order of its row.
struct Traffic {
  std::vector<End> sends;
  std::vector<End> receives;
};

/// The SEND that a RECV is for.
Action send_of_receive(Action recv, const Homes& homes) {
  const bool forward = recv.kind() == ActionKind::RecvForward;
  return recv.as(forward ? ActionKind::SendForward : ActionKind::SendBackward, *homes.peer_of(recv));
}

/// Takes out of either side the messages that the other has not, counting repetitions.
void keep_common(Traffic& traffic, const Homes& homes) {
  std::unordered_map<std::uint64_t, int> sent;
  std::unordered_map<std::uint64_t, int> received;
  for (const End& end : traffic.sends) ++sent[end.action.key()];
  for (const End& end : traffic.receives) ++received[send_of_receive(end.action, homes).key()];
  const auto drop = [](std::vector<End>& ends, auto& others, const auto& key_of) {
    std::erase_if(ends, [&](const End& end) { return others[key_of(end.action)]-- <= 0; });
  };
  drop(traffic.sends, received, [](Action action) { return action.key(); });
  drop(traffic.receives, sent, [&](Action action) { return send_of_receive(action, homes).key(); });
}

}  // namespace

std::vector<SwappedMessage> swapped_messages(const ActionLists& lists, const Homes& homes) {
  std::map<std::pair<Rank, Rank>, Traffic> pairs;
  for (Rank rank{0}; rank < Rank(lists.ranks()); ++rank) {
    std::size_t cell = 0;
    for (const Action action : lists.row(rank)) {
      if (is_transfer(action.kind())) {
        const Rank peer = homes.rank_of(*homes.peer_of(action), action);
        if (is_send(action.kind()))
          pairs[{rank, peer}].sends.push_back({action, cell});
        else
          pairs[{peer, rank}].receives.push_back({action, cell});
      }
      if (!action.joined()) ++cell;
    }
  }
  std::vector<SwappedMessage> out;
  for (auto& [ranks, traffic] : pairs) {
    keep_common(traffic, homes);
    for (std::size_t i = 0; i < traffic.receives.size(); ++i) {
      const Action sent = traffic.sends[i].action;
      const End& received = traffic.receives[i];
      if (send_of_receive(received.action, homes) == sent) continue;
      out.push_back({ranks.first, ranks.second, i, sent, received.action, received.cell});
      break;
    }
  }
  return out;
}

std::string describe(const SwappedMessage& swap) {
  return fmt::format("message {} from rank {} to rank {} is sent as {} and received as {}", swap.nth + 1,
                     swap.from.value(), swap.to.value(), to_text(swap.sent), to_text(swap.received));
}

}  // namespace pipeloom::torch
