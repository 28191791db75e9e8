// What profilers show.

#include "executor/cuda/run/range_names.hpp"

#include <pipeloom/schedule.hpp>
#include "schedules/generator.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::range_names_test {

TEST_CASE("ops have the names of PyTorch's pipeline runtime") {
  const Schedule zb = schedules::make(*schedules::find("zb-h1").generator, {.ranks = 2, .microbatches = 4});
  CHECK(range_name(zb, zb.queue_begin(Rank(1)), zb.queue_begin(Rank(1)) + 1) == "PP:1F0");
  CHECK(range_name(zb, zb.queue_begin(Rank(1)) + 1, zb.queue_begin(Rank(1)) + 2) == "PP:1I0");
}

TEST_CASE("an overlapped group has one name") {
  const Schedule schedule =
      schedules::make(*schedules::find("dualpipe").generator, {.ranks = 4, .microbatches = 8});
  for (std::size_t op = 0; op < schedule.num_ops(); ++op) {
    if (!schedule.ops()[op].joined()) continue;
    const std::string name = range_name(schedule, op, op + 2);
    CHECK(name ==
          "PP:(" + to_text(schedule.ops()[op]) + ";" + to_text(schedule.ops()[op + 1]) + ")OVERLAP_F_B");
    return;
  }
  FAIL("dualpipe has no group");
}

}  // namespace pipeloom::executor::cuda::range_names_test
