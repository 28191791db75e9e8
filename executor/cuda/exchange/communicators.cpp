#include "executor/cuda/exchange/communicators.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace pipeloom::executor::cuda {
namespace {

/// Equal for all messages of one communicator; its order is the order of the communicators.
using Key = std::pair<Rank, Rank>;

Key key_of(const MessageInfo& message, QueueDiscipline queue) {
  switch (queue) {
    case QueueDiscipline::PerRank:
      return {};
    case QueueDiscipline::PerDirection:
      return {Rank(message.is_forward() ? 0 : 1), Rank(0)};
    case QueueDiscipline::PerPair:
    case QueueDiscipline::None:
      break;
  }
  return {message.from_rank, message.to_rank};
}

}  // namespace

int CommunicatorLayout::position_in(std::uint32_t communicator, Rank rank) const {
  const auto& members = all[communicator].members;
  return static_cast<int>(std::lower_bound(members.begin(), members.end(), rank) - members.begin());
}

bool CommunicatorLayout::has(std::uint32_t communicator, Rank rank) const {
  const auto& members = all[communicator].members;
  return std::binary_search(members.begin(), members.end(), rank);
}

std::vector<RankPair> replica_pairs(const Schedule& schedule) {
  const Placement& placement = schedule.placement();
  std::set<RankPair> pairs;
  if (schedule.is_forward_only()) return {};
  for (Stage stage{0}; stage < Stage(placement.stages()); ++stage)
    for (Replica one{0}; one < Replica(placement.replicas()); ++one)
      for (Replica other{0}; other < one; ++other) {
        const auto [lower, higher] =
            std::minmax({placement.rank_of(stage, one), placement.rank_of(stage, other)});
        if (lower != higher) pairs.insert({lower, higher});
      }
  return {pairs.begin(), pairs.end()};
}

CommunicatorLayout communicators(const MessageTable& messages, QueueDiscipline queue,
                                 const std::vector<RankPair>& pairs) {
  std::map<Key, std::set<Rank>> members;
  for (MessageId id = 0; id < messages.size(); ++id) {
    const MessageInfo& message = messages[id];
    members[key_of(message, queue)].insert({message.from_rank, message.to_rank});
  }
  CommunicatorLayout layout;
  std::map<Key, std::uint32_t> index;
  for (const auto& [key, ranks] : members) {
    index[key] = static_cast<std::uint32_t>(layout.all.size());
    layout.all.push_back({std::vector<Rank>(ranks.begin(), ranks.end()),
                          queue == QueueDiscipline::PerPair || queue == QueueDiscipline::None});
  }
  for (MessageId id = 0; id < messages.size(); ++id)
    layout.of_message.push_back(index[key_of(messages[id], queue)]);
  for (const RankPair& pair : pairs) {
    layout.of_pair[pair] = static_cast<std::uint32_t>(layout.all.size());
    layout.all.push_back({{pair.first, pair.second}, false});
  }
  return layout;
}

}  // namespace pipeloom::executor::cuda
