#include "sim/torch/pairing.hpp"

#include "support/catch.hpp"

namespace pipeloom::torch::pairing_test {
namespace {

std::vector<std::string> swaps(const char* text, const std::vector<Rank>& rank_of_stage, int microbatches) {
  std::vector<std::string> out;
  for (const SwappedMessage& swap :
       swapped_messages(parse_action_lists(text), Homes(rank_of_stage, microbatches)))
    out.push_back(describe(swap));
  return out;
}

const std::vector<Rank> kV = {Rank(0), Rank(1), Rank(1), Rank(0)};
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("pairing: the n-th send meets the n-th receive, of whatever stage") {
  // Stages 0 and 3 of a V are on rank 0: activations of stage 0 and gradients of stage 3 take the same way.
  CHECK(swaps("0SEND_F0 3SEND_B0 | 1RECV_F0 2RECV_B0", kV, 1).empty());
  CHECK(swaps("0SEND_F0 3SEND_B0 | 2RECV_B0 1RECV_F0", kV, 1) ==
        Texts{"message 1 from rank 0 to rank 1 is sent as 0SEND_F0 and received as 2RECV_B0"});
}

TEST_CASE("pairing: each pair of ranks and direction has its first swap told") {
  CHECK(swaps("0SEND_F0 0SEND_F1 0RECV_B0 0RECV_B1 | 1RECV_F1 1RECV_F0 1SEND_B1 1SEND_B0", {Rank(0), Rank(1)},
              2) == Texts{"message 1 from rank 0 to rank 1 is sent as 0SEND_F0 and received as 1RECV_F1",
                          "message 1 from rank 1 to rank 0 is sent as 1SEND_B1 and received as 0RECV_B0"});
}

TEST_CASE("pairing: what only one side has does not shift the others") {
  CHECK(swaps("0SEND_F0 0SEND_F1 | 1RECV_F1", {Rank(0), Rank(1)}, 2).empty());
  CHECK(swaps("0SEND_F1 | 1RECV_F0 1RECV_F1", {Rank(0), Rank(1)}, 2).empty());
}

}  // namespace pipeloom::torch::pairing_test
