#include "gui/model/panels/details.hpp"

#include <nlohmann/json.hpp>

#include <pipeloom/metrics.hpp>
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace details_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// A simulated configuration.
RunPtr configured(const std::string& text) {
  const io::Document document = io::Document::parse(text, "run.json");
  return build_run(study::evaluate(io::read_run_config(document.root())), "run", RunSource::Configuration,
                   "run.json");
}

Details of(const RunModel& run, const std::string& op) {
  return details_of_op(run, OpWalk(run.schedule), find_op(run, op), {});
}

std::string fact(const Details& details, const std::string& name) {
  for (const DetailLine& line : details.facts)
    if (line.name == name) return line.value;
  return "none";
}

}  // namespace

TEST_CASE("an op's details: what, where, when") {
  const RunPtr run = run_of(kScene);
  const Details details = of(*run, "1/1B1");
  CHECK(details.title == "B 1 of stage 1");
  CHECK(details.line == "2 units, 5 units to 7 units · rank 1");
  CHECK(details.sentence == "Starts when its rank is through with F 1 of stage 1.");
  CHECK(fact(details, "kind") == "backward");
  CHECK(fact(details, "rank") == "1");
  CHECK(fact(details, "stage") == "1");
  CHECK(fact(details, "microbatch") == "1");
  CHECK(fact(details, "start") == "5.0");
  CHECK(fact(details, "end") == "7.0");
  CHECK(fact(details, "duration") == "2.0");
  CHECK(fact(details, "cost") == "costs.backward = 2.0");
  // One stage per rank, one step, no replicas: nothing to say.
  for (const char* absent : {"chunk", "step", "replica", "slice", "overlapped", "slack", "memory"})
    CHECK(fact(details, absent) == "none");
}

TEST_CASE("its predecessors and successors lead to their ops") {
  const RunPtr run = run_of(kScene);
  const Details details = of(*run, "0/0B0");
  REQUIRE(details.predecessors.size() == 3);
  CHECK(details.predecessors[1].name == "1B0 on rank 1");
  CHECK(details.predecessors[1].value == "gradient, there at 4.0");
  CHECK(details.predecessors[1].op == OpRef{run->id, 5});
  CHECK(details.predecessors[1].strong);
  CHECK(!details.predecessors[0].strong);
  REQUIRE(details.successors.size() == 1);
  CHECK(details.successors[0].op == OpRef{run->id, 3});
}

TEST_CASE("costs name their key and where its value is from") {
  const RunPtr defaults = configured(R"({"schedule": "zb-h1", "ranks": 2, "microbatches": 4})");
  CHECK(fact(of(*defaults, "0/0F0"), "cost") == "costs.forward = 1.0 (default)");

  const RunPtr derived = configured(
      R"({"schedule": "zb-h1", "ranks": 2, "microbatches": 4,
          "costs": {"forward": 1, "backward": 3, "backward_weight": 1, "rank_scale": [1, 1.5]}})");
  // I = B - W = 2, on the slow rank 3.
  CHECK(fact(of(*derived, "0/0I0"), "cost").find("costs.backward_input = 2.0 (derived: ") == 0);
  CHECK(fact(of(*derived, "1/1F0"), "cost") ==
        "costs.forward = 1.0 (given in run.json), costs.rank_scale makes it 1.5");
}

TEST_CASE("chunks and groups are told") {
  const RunPtr chunks =
      configured(R"({"schedule": "interleaved-1f1b", "ranks": 2, "microbatches": 2, "chunks": 2})");
  CHECK(fact(of(*chunks, "1/3F0"), "chunk") == "1");
  const RunPtr group = run_of("0F0 (0F1;0B0)OVERLAP_F_B 0B1 | 1F0 1B0 1F1 1B1");
  CHECK(fact(of(*group, "0/0B0"), "overlapped") == "(0F1;0B0)OVERLAP_F_B");
  CHECK(fact(of(*group, "0/0B0"), "cost") == "costs.backward = 2.0, costs.overlapped rules for the group");
}

TEST_CASE("the key that makes a duration another one is named") {
  const auto cost_of = [](const std::string& more) {
    const RunPtr run = configured(R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2,
        "costs": {"forward": 1, "backward": 2, )" +
                                  more + "}}");
    return fact(of(*run, "1/1F0"), "cost");
  };
  CHECK(cost_of(R"("exceptions": [{"kind": "F", "stage": 1, "time": 3}])")
            .find("costs.exceptions makes it 3.0") != std::string::npos);
  CHECK(cost_of(R"("rank_scale": [1, 2])").find("costs.rank_scale makes it 2.0") != std::string::npos);
  CHECK(cost_of(R"("stage_scale": [1, 2])").find("costs.stage_scale makes it 2.0") != std::string::npos);
  CHECK(cost_of(R"("stage_scale": [1, 2], "rank_scale": [1, 2])")
            .find("costs.stage_scale and costs.rank_scale make it 4.0") != std::string::npos);
  // An exception of another stage says nothing of this one.
  CHECK(cost_of(R"("exceptions": [{"kind": "F", "stage": 0, "time": 3}])").find("makes") ==
        std::string::npos);
}

TEST_CASE("a group with a time of its own is told where it is from") {
  // 0: 0F0, then 0F1 with 1B0 on one rank of both stages.
  const RunPtr run = configured(
      R"({"schedule": "dualpipev", "ranks": 2, "microbatches": 6, "costs": {"forward": 1, "backward": 2,
          "overlapped": 2.5, "exceptions": [{"stage": 0, "microbatch": 4, "overlapped": 9}]}})");
  int own = 0;
  int others = 0;
  for (std::size_t i = 0; i < run->schedule->num_ops(); ++i) {
    const auto [first, last] = entry_at(*run, i);
    if (last - first == 1) continue;
    const Ticks took = run->timeline.end[i] - run->timeline.start[i];
    const std::string source = cost_source(*run, i);
    INFO(source);
    if (took == Ticks{9'000'000'000}) {
      ++own;
      CHECK(source.ends_with(", costs.exceptions rules for the group"));
    } else {
      ++others;
      CHECK(source.ends_with(", costs.overlapped rules for the group"));
    }
  }
  CHECK(own == 2);  // the ops of one group
  CHECK(others > 0);
}

TEST_CASE("memory around an op leaves out what others take and free at the same instant") {
  // 0: 100 bytes static. 10: F takes 5. 20: it ends, another F takes 5. 30: B starts, frees 5 at 40.
  const std::vector<MemoryStep> curve = {{0, 100}, {10, 105}, {20, 110}, {40, 105}};
  const OpExtras first = memory_around(curve, {5, 0, 1, 0}, 10, 20);
  CHECK(first.before == 100);
  CHECK(first.after == 105);
  const OpExtras backward = memory_around(curve, {0, 5, 0, 1}, 30, 40);
  CHECK(backward.before == 110);
  CHECK(backward.after == 105);
}

TEST_CASE("slack and memory of the selection come from a job") {
  Session session;
  const RunPtr run = open_in(
      session,
      configured(
          R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2, "memory": {"activation_bytes": 7}})"));
  DetailsPart& part = session.part<DetailsPart>();
  CHECK(part.current(session) == nullptr);
  CHECK(state_of(part, session) == "null");
  run_command(session, "select-op", "0/0F1");
  REQUIRE(part.current(session) != nullptr);
  CHECK(fact(*part.current(session), "slack") == "none");
  settle(session);
  REQUIRE(part.current(session) != nullptr);
  // 0F1 ends at 2, 1F1 runs from 4 on: two units of room. 0F0's activation is there, 0F1's comes.
  CHECK(fact(*part.current(session), "slack") == "2.0");
  CHECK(fact(*part.current(session), "memory") == "1 before, 2 after, in activations of a stage");
  // The same rank: nothing to wait for.
  run_command(session, "select-op", "0/0B1");
  CHECK(fact(*part.current(session), "slack") == "0.0, critical");
  CHECK(fact(*part.current(session), "memory") == "1 before, 0 after, in activations of a stage");
}

TEST_CASE("a gap's details say what it waited for") {
  Session session;
  const RunPtr run = open_in(session, run_of(kScene));
  run_command(session, "select-largest-gap");
  const auto state = nlohmann::json::parse([&] {
    CHECK(session.part<DetailsPart>().current(session) != nullptr);
    return state_of(session.part<DetailsPart>(), session);
  }());
  CHECK(state["title"] == "Gap on rank 0 of scene");
  CHECK(state["line"] == "2 units, 2 units to 4 units · warmup");
  // 1B0 runs from 2 to 4, all of the gap.
  CHECK(state["chain"] == nlohmann::json::array({"B 0 of stage 1"}));
  CHECK(state["sentence"].get<std::string>().find("0B0 of rank 0 waits for 1B0 of rank 1") == 0);
  CHECK(state["facts"]["cause"] == "warmup");
  CHECK(state["facts"]["length"] == "2.0");
  CHECK(state["facts"]["would help"] == "up to 2 units");
  CHECK(state["predecessors"] == nlohmann::json::array({"1/1B0"}));
  CHECK(state["successors"] == nlohmann::json::array({"0/0B0"}));
}

TEST_CASE("the chain of a long wait names both ends") {
  Session session;
  const RunPtr run = open_in(session, configured(R"({"schedule": "1f1b", "ranks": 8, "microbatches": 8})"));
  run_command(session, "select-gap", "0/0");
  const Details* details = session.part<DetailsPart>().current(session);
  REQUIRE(details != nullptr);
  // Rank 0 runs F0 to F7 until 8 and waits for B0, which comes back over stages 7 to 1: F0 of stage 7 ends at 8, B of stage s at 8 + 2 (8 - s).
  CHECK(details->line == "14 units, 8 units to 22 units · warmup");
  REQUIRE(details->chain.size() == kMostInChain);
  CHECK(details->chain[0].name == "B 0 of stage 1");
  CHECK(details->chain[0].value == "ends 22 units");
  CHECK(details->chain[1].name == "B 0 of stage 2");
  CHECK(details->chain[2].name == "3 more");
  CHECK_FALSE(details->chain[2].op);
  CHECK(details->chain[4].name == "B 0 of stage 7");
}

TEST_CASE("details as text for the clipboard") {
  const RunPtr run = run_of("0F0 0B0");
  CHECK(to_text(of(*run, "0F0")) ==
        "F 0 of stage 0\n1 unit, 0 units to 1 unit · rank 0\nWaits for "
        "nothing.\nkind\tforward\nrank\t0\nstage\t0\nmicrobatch\t0\nstart\t0.0\nend\t1.0\n"
        "duration\t1.0\ncost\tcosts.forward = 1.0\n"
        "before 0B0 on rank 0\tactivation, could start at 1.0\nbefore 0B0 on rank 0\tqueue, could start at "
        "1.0\n");
}

}  // namespace details_test
