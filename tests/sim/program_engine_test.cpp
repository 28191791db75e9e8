// Programs written out by hand, their times derived next to them; then against a replay that knows no queues.

#include "sim/messages/program_engine.hpp"

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/eager_program.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace pipeloom::program_engine_test {
namespace {

using test::eager_program;
using test::needs_of;
using test::scene;
using test::sends_of;

/// Receives waited in front of their entry, sends posted behind it; blocking: both are waited for.
Program plain_program(const std::shared_ptr<const Schedule>& schedule, bool blocking_sends) {
  ProgramBuilder out(schedule);
  for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank) {
    out.begin_rank(rank);
    for_each_entry(*schedule, schedule->queue_begin(rank), schedule->queue_end(rank),
                   [&](std::size_t first, std::size_t) {
                     out.exchange(needs_of(out.messages(), *schedule, first));
                     out.run(first);
                     const auto sends = sends_of(out.messages(), *schedule, first);
                     if (blocking_sends)
                       out.exchange(sends);
                     else if (!sends.empty())
                       (void)out.post(sends);
                   });
  }
  return std::move(out).build();
}

ProgramRun run_of(const Program& program, const Costs& costs, const MessageRules& rules = {},
                  const Steps& steps = {}) {
  auto outcome = run_program(program, costs, rules, steps);
  REQUIRE(std::holds_alternative<ProgramRun>(outcome));
  return std::get<ProgramRun>(std::move(outcome));
}

std::string times_of(const ProgramRun& run) {
  return test::times_of(run.timeline);
}

/// Two stages, F 2, B 3, a hop of 10, of which 4 keep a link busy.
Costs hop_costs(const Schedule& schedule) {
  Costs costs = uniform_costs(schedule.placement(), {.forward = 2, .backward = 3, .delay = 10});
  costs.forward_sending.assign(costs.forward_delay.size(), 4);
  costs.backward_sending = costs.forward_sending;
  return costs;
}

}  // namespace

TEST_CASE("a blocking group ends when both sides are there, and the hop later") {
  // F 0-2; rank 1 waits since 0: message 2-12; F 12-14, B 14-17; gradient posted at 17 and wanted since 12: 17-27.
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  const ProgramRun run = run_of(plain_program(schedule, true), hop_costs(*schedule));
  CHECK(times_of(run) == "0F0 0-2, 0B0 27-30, 1F0 12-14, 1B0 14-17");
}

TEST_CASE("a sender that must wait for its receiver is late for its next op") {
  // 0F0 0-2, sent 2-12 and waited for, so 0F1 runs 12-14 and not 2-4.
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1F1 1B0 1B1");
  const Costs costs = hop_costs(*schedule);
  CHECK(run_of(plain_program(schedule, true), costs).timeline.start_of(1) == 12);
  CHECK(run_of(plain_program(schedule, false), costs).timeline.start_of(1) == 2);
}

TEST_CASE("without queues, and with receives posted early, messages cost their latency alone") {
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    INFO("seed " << seed);
    test::Random random(seed);
    auto [schedule, costs] = test::random_problem(4'000'000 + seed);
    if (random.chance(30)) {
      schedule = std::make_shared<const Schedule>(test::random_extras(random, *schedule));
      costs = test::random_costs(random, *schedule);
    }
    // A rank takes messages in as they come, where the latency model takes them in when all else of the entry is there.
    if (!schedule->has_groups() && !schedule->has_copies()) test::add_besides(random, *schedule, costs);
    if (costs.overlap.rule == OverlapRule::Sequential) continue;  // a program sends behind the whole group
    const Program program = eager_program(schedule);
    // Random orders may take messages in another order than they are sent: the only thing that may be wrong.
    for (const Diagnostic& found : check_program(program)) REQUIRE(found.code == "mispaired");
    const ProgramRun run = run_of(program, costs);
    const Timeline expected = simulate(schedule, costs);
    REQUIRE(run.timeline.start == expected.start);
    REQUIRE(run.timeline.end == expected.end);
  }
}

TEST_CASE("work in time order and work in any order find the same times") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    INFO("seed " << seed);
    auto [schedule, costs] = test::random_problem(4'100'000 + seed);
    test::Random random(seed);
    if (seed % 2 == 0) test::add_besides(random, *schedule, costs);
    const Program program = eager_program(schedule);
    for (const QueueDiscipline queue : {QueueDiscipline::None, QueueDiscipline::PerPair}) {
      const auto free = run_program(program, costs, {.queue = queue});
      // Nothing is sent that takes time (no sending time is given), so shared links never make a message wait.
      const auto linked = run_program(program, costs, {.queue = queue, .shared_links = true});
      REQUIRE(free.index() == linked.index());
      if (!std::holds_alternative<ProgramRun>(free)) continue;
      REQUIRE(std::get<ProgramRun>(free).timeline.end == std::get<ProgramRun>(linked).timeline.end);
    }
  }
}

TEST_CASE("idle causes cover a rank's idle time exactly") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    INFO("seed " << seed);
    test::Random random(seed);
    auto [schedule, costs] = test::random_problem(4'200'000 + seed);
    if (random.chance(50)) test::add_besides(random, *schedule, costs);
    const MessageRules rules{.queue = random.chance(50) ? QueueDiscipline::PerRank : QueueDiscipline::None,
                             .shared_links = random.chance(50)};
    const auto outcome = run_program(plain_program(schedule, false), costs, rules);
    if (!std::holds_alternative<ProgramRun>(outcome)) continue;
    const auto& run = std::get<ProgramRun>(outcome);
    const auto causes = idle_causes(run);
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank) {
      Ticks busy = 0;
      for_each_entry(*schedule, schedule->queue_begin(rank), schedule->queue_end(rank),
                     [&](std::size_t first, std::size_t last) {
                       busy += run.timeline.end_of(last - 1) - run.timeline.start_of(first);
                     });
      REQUIRE(causes[rank.at()].total() == span_of(run.timeline).length() - busy);
    }
  }
}

TEST_CASE("one queue per rank lets a message wait behind one that it has nothing to do with") {
  // Rank 0 posts the receive of the gradient before it sends 0F1, and that gradient comes late: 0F1 stands behind it.
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  ProgramBuilder out(schedule);
  const auto id = [&](const char* op) {
    for (std::size_t i = 0;; ++i)
      if (to_text(schedule->ops()[i]) == op) return out.messages().sent_by(i);
  };
  out.begin_rank(Rank(0));
  out.run(0);
  (void)out.post(std::vector<Endpoint>{{id("0F0"), true}});
  const auto gradient0 = out.post(std::vector<Endpoint>{{id("1B0"), false}});
  out.run(1);
  (void)out.post(std::vector<Endpoint>{{id("0F1"), true}});
  out.wait(gradient0);
  out.run(2);
  out.exchange(std::vector<Endpoint>{{id("1B1"), false}});
  out.run(3);
  out.begin_rank(Rank(1));
  out.exchange(std::vector<Endpoint>{{id("0F0"), false}});
  out.run(4);
  out.run(5);
  (void)out.post(std::vector<Endpoint>{{id("1B0"), true}});
  out.exchange(std::vector<Endpoint>{{id("0F1"), false}});
  out.run(6);
  out.run(7);
  (void)out.post(std::vector<Endpoint>{{id("1B1"), true}});
  const Program program = std::move(out).build();
  REQUIRE(check_program(program).empty());
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 2, .backward = 3, .delay = 1});

  // Free: 0F0 0-2 arrives at 3, 1F0 3-5, 1B0 5-8; 0F1 2-4 is wanted at 8: 8-9, 1F1 9-11.
  const ProgramRun free = run_of(program, costs);
  CHECK(free.timeline.start_of(6) == 9);
  CHECK(message_totals(free, program).head_of_line == 0);
  // One queue: the gradient is done at 9, and only then is 0F1 at the head on rank 0: 9-10. It was posted at both ends at 8.
  const ProgramRun queued = run_of(program, costs, {.queue = QueueDiscipline::PerRank});
  CHECK(queued.timeline.start_of(6) == 10);
  CHECK(message_totals(queued, program).head_of_line == 1);
  CHECK(idle_causes(queued)[1].queueing == 1);
  // A queue per direction keeps gradients and activations apart.
  CHECK(run_of(program, costs, {.queue = QueueDiscipline::PerDirection}).timeline.start_of(6) == 9);
}

TEST_CASE("messages share a rank's engines while they are sent") {
  // Both forwards leave at 2 and 4; each keeps the link busy for 4 and takes 10: 2-12, then 6-16.
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1F1 1B0 1B1");
  const Costs costs = hop_costs(*schedule);
  const ProgramRun run = run_of(eager_program(schedule), costs, {.shared_links = true});
  CHECK(run.timeline.start_of(4) == 12);
  CHECK(run.timeline.start_of(5) == 16);
  CHECK(message_totals(run, eager_program(schedule)).queued >= 2);
  CHECK(run_of(eager_program(schedule), costs).timeline.start_of(5) == 14);
}

TEST_CASE("ranks of one node share its NIC") {
  // Two pipelines side by side would not meet; a V of four ranks on two nodes does: 1 -> 2 and 2 -> 1 cross, others do not.
  const auto schedule = scene("0F0 0B0 | 1F0 1B0 | 2F0 2B0 | 3F0 3B0");
  const Costs costs = hop_costs(*schedule);
  const MessageRules nodes{.shared_links = true, .ranks_per_node = 2};
  CHECK(span_of(run_of(eager_program(schedule), costs, nodes).timeline).end ==
        span_of(simulate(schedule, costs)).end);
}

TEST_CASE("two ranks that both send first and wait stand still, and it is said how") {
  // One queue each: rank 0 sends 0F1 first and then takes the gradient; rank 1 sends the gradient first and then takes 0F1.
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  const Program program = plain_program(schedule, true);
  const auto outcome = run_program(program, hop_costs(*schedule), {});
  REQUIRE(std::holds_alternative<ProgramHang>(outcome));
  const auto& hang = std::get<ProgramHang>(outcome);
  CHECK(hang.cycle.size() == 2);
  CHECK(
      wait_lines(hang, program) ==
      std::vector<std::string>{"rank 0 waits in SEND_F of stage 0 microbatch 1 to rank 1, which",
                               "rank 1 waits in SEND_B of stage 1 microbatch 0 to rank 0: the cycle closes"});
}

TEST_CASE("a message that nobody receives is named") {
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  ProgramBuilder out(schedule);
  out.begin_rank(Rank(0));
  out.run(0);
  out.exchange(std::vector<Endpoint>{{1, false}});
  out.run(1);
  out.begin_rank(Rank(1));
  out.exchange(std::vector<Endpoint>{{0, false}});
  out.run(2);
  out.run(3);
  (void)out.post(std::vector<Endpoint>{{1, true}});
  const Program program = std::move(out).build();
  const auto found = check_program(program);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "unsent");
  CHECK(found[0].message == "rank 0: the output of 0F0 is sent 0 times to rank 1; once is right");
  const auto outcome = run_program(program, hop_costs(*schedule), {});
  REQUIRE(std::holds_alternative<ProgramHang>(outcome));
  CHECK(describe(std::get<ProgramHang>(outcome), program) ==
        "rank 1 waits in RECV_F of stage 1 microbatch 0 from rank 0, which rank 0 never posts; "
        "rank 0 waits in RECV_B of stage 0 microbatch 0 from rank 1");
}

TEST_CASE("messages without tags that pair wrongly are found") {
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F1 1F0 1B0 1B1");
  const auto found = check_program(plain_program(schedule, false));
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "mispaired");
  CHECK(found[0].message ==
        "rank 1: message 0 from rank 0 is received as 0F1, but rank 0 sends 0F0 then; messages carry no "
        "tags, so "
        "they pair in order: change the order on one side");
}

TEST_CASE("the program's text shows groups, posts and waits") {
  const auto schedule = scene("0F0 0B0 | 1F0 1B0");
  CHECK(program_text(plain_program(schedule, true), Rank(0)) == "0F0 [s0F0>1] [r1B0<1] 0B0");
  CHECK(program_text(eager_program(schedule), Rank(1)) == "[r0F0<0] 1F0 1B0 <s1B0>0#0");
  const auto two = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  CHECK(program_text(eager_program(two), Rank(1)) ==
        "<r0F0<0#0 <r0F1<0#1 >#0 1F0 1B0 <s1B0>0#2 >#1 1F1 1B1 <s1B1>0#3");
}

TEST_CASE("under the barrier rule steps repeat, under post-validation they interlock") {
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2});
  const Program program = eager_program(schedule);
  for (const StepRule rule : {StepRule::Barrier, StepRule::PostValidation}) {
    const Steps steps{.rule = rule, .optimizer = 5, .count = 3};
    const Timeline expected = simulate(schedule, costs, steps);
    const ProgramRun run = run_of(program, costs, {}, steps);
    CHECK(run.timeline.start == expected.start);
    CHECK(steady_period(program, costs, {}, steps) == steady_period(*schedule, costs, steps));
  }
}

TEST_CASE("the critical entries reach from the first start to the last end") {
  const auto schedule = scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  const Program program = eager_program(schedule);
  const Costs costs = uniform_costs(schedule->placement(), {.forward = 1, .backward = 2, .delay = 1});
  // 0F0, over to 1F0, 1B0, 1F1, 1B1, back to 0B1: 1 + 1 + 1 + 2 + 1 + 2 + 1 + 2 = 11.
  const ProgramRun run = run_of(program, costs);
  CHECK(span_of(run.timeline).end == 11);
  std::string path;
  for (const std::size_t op : critical_entries(run, program)) path += to_text(schedule->ops()[op]) + " ";
  CHECK(path == "0F0 1F0 1B0 1F1 1B1 0B1 ");
}

}  // namespace pipeloom::program_engine_test
