#include "sim/layout/advice.hpp"

#include "support/catch.hpp"

namespace pipeloom::layout::advice_test {

TEST_CASE("advice: microbatches are at least the stages and a multiple of the ranks") {
  CHECK(advised_microbatches(4, 8, {}) == 8);
  CHECK(advised_microbatches(4, 8, 3) == 8);
  CHECK(advised_microbatches(4, 8, 9) == 12);
  CHECK(advised_microbatches(4, 8, 12) == 12);
  CHECK(microbatch_advice(4, 8, {}).level == Advice::Level::Note);
  CHECK(microbatch_advice(4, 8, 12).level == Advice::Level::Note);
  CHECK(microbatch_advice(4, 8, 9).text == "9 microbatches are no multiple of 4 ranks; AReaL would run 12");
  CHECK(microbatch_advice(4, 8, 3).text == "3 microbatches are fewer than the 8 stages; AReaL would run 8");
}

TEST_CASE("advice: Megatron-LM's microbatches with several chunks") {
  CHECK(megatron_microbatch_advice(4, {}).level == Advice::Level::Note);
  CHECK(megatron_microbatch_advice(4, 8).level == Advice::Level::Note);
  CHECK(megatron_microbatch_advice(4, 9).level == Advice::Level::Warning);
  CHECK(megatron_microbatch_advice(4, 2).level == Advice::Level::Warning);
}

TEST_CASE("advice: what a split backward does not go with, in the order in which it is switched off") {
  const auto codes = [](const TrainingOptions& options) {
    std::vector<std::string> out;
    for (const Advice& advice : split_backward_advice("zbv", options)) out.push_back(advice.code);
    return out;
  };
  using Codes = std::vector<std::string>;
  CHECK(codes({}).empty());
  CHECK(codes({.compile = true, .moe = true, .checkpointing = Checkpointing::SelectiveOp}) ==
        Codes{"compile", "donated-buffer", "checkpointing"});
  CHECK(codes({.checkpointing = Checkpointing::MemoryBudget}) == Codes{"checkpointing"});
  CHECK(codes({.checkpointing = Checkpointing::Full}).empty());
  CHECK(codes({.checkpointing = Checkpointing::SelectiveLayer}).empty());
  CHECK(checkpointing_named("selective-op") == Checkpointing::SelectiveOp);
  CHECK(checkpointing_names().size() == 5);
}

}  // namespace pipeloom::layout::advice_test
