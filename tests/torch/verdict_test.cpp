#include "sim/torch/verdict.hpp"

#include "sim/io/formats/torch_csv.hpp"
#include "support/catch.hpp"
#include "torch/recorded_lists.hpp"

namespace pipeloom::torch::verdict_test {
namespace {

LoadingRun run_of(const recorded::CustomFile& file) {
  return {file.lowered ? Form::ComputeComms : Form::ComputeOnly, file.ranks, file.stages, file.microbatches,
          Target::V210};
}

std::vector<int> numbers_of(const std::vector<Rank>& ranks) {
  std::vector<int> out;
  for (const Rank rank : ranks) out.push_back(rank.value());
  return out;
}

Verdict verdict(const char* text, const LoadingRun& run) {
  return verdict_of(parse_action_lists(text), run);
}

LoadingRun compute(int ranks, int stages, int microbatches) {
  return {Form::ComputeOnly, ranks, stages, microbatches};
}

std::vector<std::string> codes(const char* text) {
  std::vector<std::string> out;
  for (const Lint& lint : runtime_lints(parse_action_lists(text), {Rank(0), Rank(1)}))
    out.push_back(lint.code);
  return out;
}

using Codes = std::vector<std::string>;

}  // namespace

TEST_CASE("verdict: every recorded custom file, phase and exception") {
  int compared = 0;
  for (const auto& one : recorded::custom_files()) {
    INFO(one.name);
    const LoadingRun run = run_of(one);
    const Verdict got = io::torch_verdict(one.text(), one.name, run.form, run);
    CHECK(got.ok() == one.ok);
    CHECK(numbers_of(got.rank_of_stage) == one.rank_of_stage);
    CHECK(got.phase == one.phase);
    CHECK(got.exception == one.exception);
    if (!one.dry_run.empty()) {
      const auto dry = dry_run_of(io::read_torch_actions(one.text(), one.name).lists, got);
      REQUIRE(dry);
      CHECK(dry->stuck.has_value() == (one.dry_run == "deadlock"));
      if (one.dry_run_steps > 0) CHECK(dry->steps == static_cast<std::size_t>(one.dry_run_steps));
    }
    ++compared;
  }
  CHECK(compared == 25);
}

TEST_CASE("verdict: every recorded compute list is loaded, and its lowered forms trip no assertion") {
  for (const auto& one : recorded::torch_schedules()) {
    INFO(one.id);
    LoadingRun run = compute(one.ranks, one.stages, one.microbatches);
    run.target = Target::V210;
    const Verdict loaded = verdict_of(one.lists("compute"), run);
    CHECK(loaded.ok());
    CHECK(numbers_of(loaded.rank_of_stage) == one.rank_of_stage);
    run.form = Form::ComputeComms;
    for (const char* kind : {"comms", "comms_mas1", "comms_mas2", "comms_mas4", "defer"}) {
      if (!one.has(kind)) continue;
      const ActionLists lists = one.lists(kind);
      CHECK(verdict_of(lists, run).ok());
      CHECK(runtime_lints(lists, loaded.rank_of_stage).empty());
    }
  }
}

TEST_CASE("verdict: the first 1F1B list that PyTorch builds does not pass PyTorch's own check") {
  // Its last rank forwards 1..m instead of 0..m-1, so backward 0 comes without a forward.
  for (const auto& one : recorded::torch_schedules()) {
    if (one.name != "1F1B") continue;
    INFO(one.id);
    const int p = one.ranks;
    const Verdict got = verdict_of(one.lists("ir"), compute(p, p, one.microbatches));
    CHECK(got.phase == "validate");
    REQUIRE(got.place);
    CHECK(got.place->rank == Rank(p - 1));
  }
}

TEST_CASE("verdict: what each check says") {
  const Verdict early = verdict("0F0 0B0 | - 1B0 1F0", compute(2, 2, 1));
  CHECK(early.message == "rank 1, step 1: 1B0 stands before the forward of its stage and microbatch");
  CHECK(early.exception == "AssertionError");
  CHECK(early.place->step == 1);
  CHECK(verdict("0F0 0W0", compute(1, 1, 1)).message ==
        "rank 0, step 1: 0W0 stands before the I of its stage and microbatch");
  CHECK(verdict("0F0 0B0 | 0F0 0B0", compute(2, 1, 1)).message ==
        "rank 1, step 0: 0F0: stage 0 is already on rank 0");
  CHECK(verdict("0F0 0B0 3F0", compute(1, 1, 1)).exception == "KeyError");
  CHECK(verdict("0F0 0B0", compute(2, 1, 1)).message ==
        "the file has 1 rows, but the run has 2 ranks; an empty line counts as a row");
  CHECK(verdict("0F0 0B0", compute(1, 1, 2)).message ==
        "stage 0 has 1 forwards for 2 microbatches (distinct ones counted)");
  CHECK(verdict("0F0 0I0", compute(1, 1, 1)).message ==
        "stage 0 has 1 I but 0 W for 1 microbatches (distinct ones counted)");
  CHECK(verdict("0F0", compute(1, 1, 1)).message ==
        "stage 0 has 0 backwards for 1 microbatches (distinct ones counted)");
}

TEST_CASE("verdict: with fewer steps than ranks the grid of the message cannot be made") {
  CHECK(verdict("0B0 | 1F0 1B0 | 2F0 2B0", compute(3, 3, 1)).exception == "IndexError");
}

TEST_CASE("verdict: duplicates and microbatches that do not exist pass") {
  CHECK(verdict("0F0 0F0 0B0 0B0", compute(1, 1, 1)).ok());
  LoadingRun two = compute(2, 2, 1);
  CHECK(verdict("0F0 0F0 0B0 | 1F0 1B0", two).exception == "AssertionError");  // 2.15 sends nothing twice
  two.target = Target::V214;
  CHECK(verdict("0F0 0F0 0B0 | 1F0 1B0", two).ok());
  CHECK(verdict("0F0 0B0 0F7 0B7", compute(1, 1, 2)).ok());
  CHECK(verdict("0F0 0B0 | 1F7 1B7", compute(2, 2, 1)).phase == "lower");
}

TEST_CASE("verdict: microbatch numbers far apart make no large tables") {
  std::string text;
  for (int s = 0; s < 600; ++s)
    text += std::to_string(s) + "F" + std::to_string(1000 * s) + " " + std::to_string(s) + "B" +
            std::to_string(1000 * s) + " ";
  CHECK(verdict(text.c_str(), compute(1, 600, 1)).message ==
        "no rank can go on, so no messages can be placed: neighbouring stages run different microbatches");
}

TEST_CASE("verdict: what PyTorch's classes refuse to be built for") {
  const auto refused = recorded::refused_runs();
  CHECK(refused.size() == 7);
  for (const auto& one : refused) {
    INFO(one.name);
    CHECK(!class_refusal(one.name, one.ranks, one.chunks, one.microbatches).empty());
  }
  for (const auto& one : recorded::torch_schedules()) {
    INFO(one.id);
    CHECK(class_refusal(one.name, one.ranks, one.stages / one.ranks, one.microbatches).empty());
  }
  CHECK(class_refusal("1F1B", 4, 1, 3) ==
        "PyTorch's 1F1B refuses 3 microbatches for 4 stages; it needs as many");
  CHECK(class_refusal("LoopedBFS", 4, 3, 1).empty());
}

TEST_CASE("lints: run-time assertions seen beforehand") {
  CHECK(codes("0UNSHARD 0F0 0SEND_F0 0RECV_B0 0B0 0RESHARD | 1UNSHARD 1RECV_F0 1F0 1B0 1SEND_B0 1RESHARD")
            .empty());
  CHECK(codes("0F0 0SEND_F0 0RECV_B0 0B0 | 1RECV_F0 1RECV_F0 1F0 1B0 1SEND_B0") == Codes{"receive-twice"});
  CHECK(codes("0F0 0SEND_F0 0B0 0RECV_B0 | 1RECV_F0 1F0 1B0 1SEND_B0") ==
        Codes{"compute-before-receive", "receive-unused"});
  CHECK(codes("0SEND_F0 0F0 0RECV_B0 0B0") == Codes{"send-before-compute"});
  CHECK(codes("0F0 0SEND_F0 0SEND_F0 0RECV_B0 0B0") == Codes{"send-twice"});
  CHECK(codes("0F0 0RECV_B0 0B0 0RECV_B0") == Codes{"receive-unused"});
  CHECK(codes("0RECV_F0 0F0 | 1F0 1SEND_F0") == Codes{"no-peer", "compute-before-receive", "no-peer"});
  CHECK(codes("0UNSHARD 0UNSHARD 0F0") == Codes{"unshard-resident"});
  CHECK(codes("0F0 0RESHARD") == Codes{"reshard-absent"});
  CHECK(codes("0UNSHARD 0F0 0RESHARD 0F1 0F2 0F3 0RESHARD") == Codes{"compute-sharded"});
  CHECK(codes("0UNSHARD 0F0 0RESHARD | 1RECV_F0 1F0") == Codes{"compute-sharded"});
  CHECK(codes("0UNSHARD 0RESHARD") == Codes{"reshard-unused"});
  CHECK(codes("0F0 0UNSHARD 0F1") == Codes{"compute-sharded"});
  CHECK(codes("0UNSHARD") == Codes{"unshard-unused"});
  CHECK(codes("7UNSHARD") == Codes{"no-such-stage"});
}

TEST_CASE("lints: a neighbour stage on the same rank hands its tensor over") {
  const auto lints = runtime_lints(parse_action_lists("0F0 1F0 1B0 0B0"), {Rank(0), Rank(0)});
  CHECK(lints.empty());
}

}  // namespace pipeloom::torch::verdict_test
