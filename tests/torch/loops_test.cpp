#include "sim/torch/loops.hpp"

#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::torch {
namespace {

/// [offset, length] of the batches of each rank, as the index records them.
nlohmann::json batches_of(const StepLoop& loop) {
  nlohmann::json out = nlohmann::json::object();
  for (std::size_t rank = 0; rank < loop.batches.size(); ++rank) {
    auto& list = out[std::to_string(rank)] = nlohmann::json::array();
    for (const auto& [begin, end] : loop.batches[rank]) list.push_back({begin, end - begin});
  }
  return out;
}

}  // namespace

TEST_CASE("step loops: every recorded order and every batch of messages") {
  int compared = 0;
  for (const auto& one : recorded::torch_index()["schedules"]) {
    if (!recorded::has_kind(one, "runtime")) continue;
    INFO(one["id"].get<std::string>());
    const int p = one["pp"];
    const int m = one["microbatches"];
    const StepLoop loop = one["schedule"] == "GPipe" ? gpipe_loop(p, m) : one_f_one_b_loop(p, m);
    CHECK(recorded::rows_text(loop.lists) == recorded::rows_text(recorded::torch_lists(one, "runtime")));
    CHECK(batches_of(loop) == one["runtime_p2p_batches"]);
    ++compared;
  }
  CHECK(compared == 20);
}

}  // namespace pipeloom::torch
