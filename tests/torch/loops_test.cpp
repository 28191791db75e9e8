#include "torch/loops.hpp"

#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::torch::loops_test {

TEST_CASE("step loops: every recorded order and every batch of messages") {
  int compared = 0;
  for (const auto& one : recorded::torch_schedules()) {
    if (!one.has("runtime")) continue;
    INFO(one.id);
    const int p = one.ranks;
    const int m = one.microbatches;
    const StepLoop loop = one.name == "GPipe" ? gpipe_loop(p, m) : one_f_one_b_loop(p, m);
    CHECK(recorded::rows_text(loop.lists) == recorded::rows_text(one.lists("runtime")));
    CHECK(loop.batches == one.batches);
    ++compared;
  }
  CHECK(compared == 20);
}

}  // namespace pipeloom::torch::loops_test
