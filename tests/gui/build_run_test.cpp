#include "gui/model/run/build_run.hpp"

#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "schedules/generator.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/kinds.hpp"
#include "sim/tracks/memory_track.hpp"
#include "sim/tracks/op_track.hpp"
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace build_run_test {

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

constexpr Ticks kOne = 1'000'000'000;

RunPtr run_of(const std::string& config, const Limits& limits = window_limits()) {
  Run evaluation = study::evaluate(io::read_run_config(io::Document::parse(config, "test").root()), limits);
  std::string title = title_of(*evaluation.effective);
  return build_run(std::move(evaluation), std::move(title), RunSource::Configuration, "");
}

Ticks length_of(const std::vector<IdleSpan>& spans) {
  Ticks sum = 0;
  for (const IdleSpan& span : spans) sum += span.end - span.start;
  return sum;
}

UniformCosts whole_units() {
  return {kOne, 2 * kOne, kOne, kOne, kOne, 0, {}, TimeUnit::Unit};
}

}  // namespace

TEST_CASE("a configuration becomes a run with all that the window shows", "[runs]") {
  // F 1, B 2: (m + p - 1)(F + B) = (8 + 4 - 1) 3 = 33, of which each rank works 24.
  const RunPtr run = run_of(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})");
  CHECK(run->title == "1f1b p=4 m=8");
  CHECK(run->source == RunSource::Configuration);
  CHECK(run->span() == Span{0, 33 * kOne});
  REQUIRE(run->metrics);
  CHECK(run->metrics->makespan == 33 * kOne);
  CHECK(run->metrics->lower_bound.value == 33 * kOne);
  REQUIRE(run->idle.size() == 4);
  for (const auto& spans : run->idle) CHECK(length_of(spans) == 9 * kOne);
  CHECK(run->message_bars.empty());
  CHECK(run->message_track == nullptr);
  CHECK(run->memory_track);
  CHECK(run->memory_track->peak() == 4);  // rank 0 holds p activations of one byte
  Ticks on_path = 0;
  for (const std::size_t op : run->critical())
    on_path += run->timeline.end_of(op) - run->timeline.start_of(op);
  CHECK(on_path == 33 * kOne);
  CHECK_FALSE(run->hang);
}

TEST_CASE("every run has an id of its own, and titles tell chunks", "[runs]") {
  const std::string config = R"({"schedule": "interleaved-1f1b", "ranks": 2, "microbatches": 4})";
  const RunPtr a = run_of(config);
  const RunPtr b = run_of(config);
  CHECK(a->id != b->id);
  CHECK(a->title == "interleaved-1f1b p=2 m=4 v=2");
}

TEST_CASE("messages of the latency model are bars from the producer's end to the arrival", "[runs]") {
  const RunPtr run = run_of(
      R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2, "costs": {"transfer": {"latency": 0.5}}})");
  // Two activations there, two gradients back.
  REQUIRE(run->message_bars.size() == 4);
  const MessageBar& first = run->message_bars.front();
  CHECK(first.start == kOne);
  CHECK(first.end == kOne + kOne / 2);
  CHECK(first.from == Rank(0));
  CHECK(first.to == Rank(1));
  CHECK_FALSE(first.gradient);
  CHECK(run->message_bars.back().gradient);
  REQUIRE(run->message_track);
  CHECK_FALSE(
      run->message_track->bars(tracks::MessageTrack::row_of(Rank(1), tracks::MessageLane::Send)).empty());
}

TEST_CASE("messages that block have the times that the program gave them, and its idle causes", "[runs]") {
  const RunPtr run = run_of(
      R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2, "costs": {"transfer": {"model": "blocking", "latency": 0.5}}})");
  REQUIRE(run->messages);
  REQUIRE(run->message_bars.size() == 4);
  for (const MessageBar& bar : run->message_bars) CHECK(bar.end - bar.start == kOne / 2);
  for (std::size_t rank = 0; rank < 2; ++rank)
    CHECK(length_of(run->idle[rank]) == run->metrics->ranks[rank].idle);
  CHECK(run_slack(*run).empty());
}

TEST_CASE("bound and critical path are left out beyond the limits", "[runs]") {
  Limits limits = window_limits();
  limits.bound_entries = limits.critical_path_entries = 63;  // the run has 64
  const RunPtr run = run_of(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})", limits);
  CHECK(run->critical().empty());
  CHECK(run->metrics->lower_bound.name.empty());
  CHECK(run->metrics->makespan == 33 * kOne);
}

TEST_CASE("slack tells how much later an op could start", "[runs]") {
  // 1F1B, p = m = 2: the chain 0F0 1F0 1B0 1F1 1B1 0B1 takes 1 + 1 + 2 + 1 + 2 + 2 = 9. 0F1 (1-2) may end at 4, when 1F1 starts;
  // 0B0 (4-6) may end at 7, when 0B1 starts.
  const RunPtr run = run_of(R"({"schedule": "1f1b", "ranks": 2, "microbatches": 2})");
  CHECK(run->span().end == 9 * kOne);
  CHECK(run_slack(*run) == std::vector<Ticks>{0, 2 * kOne, kOne, 0, 0, 0, 0, 0});
}

TEST_CASE("a measured run has gaps of its phases and nothing that only a simulation knows", "[runs]") {
  UniformCosts costs = whole_units();
  costs.delay = kOne;
  const RunPtr run = build_timed_run(test::times_in(test::one_f_one_b(3, 4), costs), "measured", "m.jsonl");
  CHECK(run->source == RunSource::TimelineFile);
  CHECK(run->file == "m.jsonl");
  CHECK_FALSE(run->metrics);
  CHECK_FALSE(run->costs);
  CHECK(run_slack(*run).empty());
  for (const auto& spans : run->idle)
    for (const IdleSpan& span : spans)
      CHECK((span.cause == IdleCause::Warmup || span.cause == IdleCause::Cooldown ||
             span.cause == IdleCause::Imbalance));
  // p = 3, m = 4: each rank works 4 (1 + 2).
  for (const auto& spans : run->idle) CHECK(length_of(spans) == run->span().length() - 12 * kOne);
}

TEST_CASE("a run that hangs shows what ran and who waits for whom", "[runs]") {
  // Rank 0 runs 0F0 and waits for the gradient of microbatch 0; rank 1 wants microbatch 1 first, which rank 0 sends only after that.
  const auto schedule = test::scene("0F0 0B0 0F1 0B1 | 1F1 1F0 1B0 1B1");
  const RunPtr run = build_hanging_run(schedule, uniform_costs(schedule->placement(), whole_units()), "stuck",
                                       RunSource::ScheduleFile, "stuck.csv");
  REQUIRE(run->hang);
  REQUIRE(run->schedule->num_ops() == 1);
  CHECK(run->ranks() == 2);
  CHECK(run->schedule->ops()[0] == forward(Stage(0), Microbatch(0)));
  CHECK(run->timeline.schedule == run->schedule);
  CHECK(run->span() == Span{0, kOne});
  CHECK(run->op_track->has(Rank(0), Lane::Work));
  CHECK_FALSE(run->op_track->has(Rank(1), Lane::Work));

  const WaitGraph<Op>& graph = run->hang->graph;
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.cycle == std::vector<std::size_t>{0, 1});
  for (const WaitNode<Op>& node : graph.nodes) {
    CHECK(node.on == Rank(1 - node.rank.value()));
    CHECK(schedule->ops()[node.at] ==
          (node.rank == Rank(0) ? backward(Stage(0), Microbatch(0)) : forward(Stage(1), Microbatch(1))));
    CHECK(node.needs ==
          (node.rank == Rank(0) ? backward(Stage(1), Microbatch(0)) : forward(Stage(0), Microbatch(1))));
  }
  REQUIRE(run->hang->lines.size() == 2);
  CHECK(run->hang->lines[0] == "rank 0 stands at 0B0 and waits for 1B0 of rank 1, which");
  REQUIRE(run->hang->remedies.size() == 1);
  CHECK(run->hang->remedies[0].starts_with("on rank "));
}

TEST_CASE("a rank that got further than the others keeps all that it ran, groups and copies included",
          "[runs]") {
  // Rank 1 never gets 0F1: it is in no queue before 0B1, which waits for it.
  const auto schedule = test::scene("0F0 0F1 0B1 0B0 | 1F0 1B0 1F1 1B1");
  // 0B1 waits for 1B1, which comes after 1B0: this runs. Turned round on rank 1 it does not.
  CHECK_FALSE(find_hang(*schedule));
  const auto stuck = test::scene("0F0 0B1 0F1 0B0 | 1F0 1B0 1F1 1B1");
  const RunPtr run = build_hanging_run(stuck, uniform_costs(stuck->placement(), whole_units()), "stuck",
                                       RunSource::ScheduleFile, "");
  REQUIRE(run->hang);
  CHECK(test::times_of(run->timeline) ==
        "0F0 0-1000000000, 1F0 1000000000-2000000000, 1B0 2000000000-4000000000");
}

TEST_CASE("the search for an order reports how far it is, and ends when it is not wanted") {
  const Cancelled cancelled;
  const Limits limits = window_limits(cancelled);
  CHECK(limits.progress(0.25));
  CHECK(cancelled.share() == 0.25);
  cancelled.set();
  CHECK_FALSE(limits.progress(0.5));
}

TEST_CASE("a simulation ends when it is not wanted") {
  const Cancelled cancelled;
  const char* config = R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})";
  CHECK(run_of(config, window_limits(cancelled)) != nullptr);
  cancelled.set();
  CHECK_THROWS_AS(run_of(config, window_limits(cancelled)), Stopped);
}

TEST_CASE("runs larger than the window shows are refused before anything is made") {
  const auto require = [](const std::string& text) {
    const io::Document document = io::Document::parse(text, "config");
    require_shown(io::read_run_config(document.root()));
  };
  CHECK_NOTHROW(require(R"({"schedule": "1f1b", "ranks": 131072, "microbatches": 1})"));
  CHECK_THROWS_WITH(require(R"({"schedule": "1f1b", "ranks": 1048576, "microbatches": 4})"),
                    "1f1b has 1048576 ranks and 8.39e+06 ops; the window shows up to 131072 ranks and "
                    "1.6e+07 ops; make it smaller, or take `pipeloom simulate`");
  // A forward and a backward of 9e6 passes; an input gradient, a weight gradient and a forward of 6e6.
  CHECK_THROWS_AS(require(R"({"schedule": "gpipe", "ranks": 1000, "microbatches": 9000})"), InputError);
  CHECK_THROWS_AS(require(R"({"schedule": "zb-h1", "ranks": 1000, "microbatches": 6000})"), InputError);
  CHECK_NOTHROW(require(R"({"schedule": "gpipe", "ranks": 1000, "microbatches": 6000})"));
}

}  // namespace build_run_test
