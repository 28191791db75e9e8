#pragma once

// The NCCL communicators that a program needs: one per queue of the discipline, so that messages wait for each other as the simulator's do.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/messages/program.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom::executor::cuda {

/// Ranks that can send to each other, and whose operations on it run in the order in which each of them gives them.
struct Communicator {
  std::vector<Rank> members;  ///< ascending, at least two; the position is the rank within the communicator
  bool is_directed = false;   ///< one member sends, the other receives
};

/// Two ranks, the lower one first.
using RankPair = std::pair<Rank, Rank>;

/// Ranks that hold replicas of one stage, ascending, each pair once: they give each other their gradients. None of a forward-only schedule.
[[nodiscard]] std::vector<RankPair> replica_pairs(const Schedule& schedule);

/// All communicators in the order in which every member creates those that it is in, and the one that each message travels on.
///
///   discipline     communicators                        members
///   PerRank        one                                  all ranks that send or receive
///   PerDirection   activations, then gradients          ranks that send or receive such
///   PerPair, None  one per directed pair with messages  sender and receiver; ordered by (sender, receiver)
///
///   any            after those, one per pair          both; for tensors that they swap outside the program
///
/// None asks for messages that wait for no other, which no communicator gives: one per directed pair is the nearest to it.
struct CommunicatorLayout {
  std::vector<Communicator> all;
  std::vector<std::uint32_t> of_message;      ///< [message] index in `all`
  std::map<RankPair, std::uint32_t> of_pair;  ///< index in `all`

  /// Position of a rank within a communicator. REQUIRES: it is a member.
  [[nodiscard]] int position_in(std::uint32_t communicator, Rank rank) const;
  [[nodiscard]] bool has(std::uint32_t communicator, Rank rank) const;
};
[[nodiscard]] CommunicatorLayout communicators(const MessageTable& messages, QueueDiscipline queue,
                                               const std::vector<RankPair>& pairs = {});

}  // namespace pipeloom::executor::cuda
