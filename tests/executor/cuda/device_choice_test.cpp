// Which GPU a process takes.

#include "executor/cuda/run/device_choice.hpp"

#include <pipeloom/error.hpp>
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::device_choice_test {

TEST_CASE("processes of a machine take its GPUs in turn") {
  const net::World world{.rank = 11, .size = 16, .local_rank = 3, .master = {}};
  CHECK(device_for(world, 8) == 3);
  CHECK(device_for(world, 4) == 3);
  CHECK(device_for(world, 1) == 0);  // the launcher shows each its own
}

TEST_CASE("more processes than GPUs are refused") {
  CHECK_THROWS_WITH(device_for({.rank = 3, .size = 4, .local_rank = 3, .master = {}}, 2),
                    "found 3; this machine has 2 GPUs: start at most as many processes on it, or none by a "
                    "launcher, so that all ranks share one GPU");
}

}  // namespace pipeloom::executor::cuda::device_choice_test
