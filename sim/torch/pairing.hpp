#pragma once

// Pairing of sends and receives. PyTorch's messages carry no tags: of two ranks the n-th send of one meets the n-th receive of the
// other, so an order of receives that is not the order of the sends hands tensors to the wrong stages, without an error.

#include <cstddef>
#include <string>
#include <vector>

#include "sim/actions.hpp"
#include "sim/torch/homes.hpp"

namespace pipeloom::torch {

/// The first message between two ranks that is received as another one.
struct SwappedMessage {
  Rank from;
  Rank to;
  std::size_t nth = 0;   ///< of the messages between the two that both rows have, from 0
  Action sent;           ///< the SEND of the nth
  Action received;       ///< the RECV of the nth, which is for another SEND
  std::size_t cell = 0;  ///< of the RECV in the row of `to`
};

/// The first mismatch of each ordered pair of ranks, by `from`, then `to`. Messages that only one of the rows has are passed over: they
/// never meet, which the dry run finds. REQUIRES: fits(lists, homes). O(actions log actions).
[[nodiscard]] std::vector<SwappedMessage> swapped_messages(const ActionLists& lists, const Homes& homes);

/// "message 3 from rank 0 to rank 1 is sent as 0SEND_F2 and received as 2RECV_B0"; the count from 1.
[[nodiscard]] std::string describe(const SwappedMessage& swap);

}  // namespace pipeloom::torch
