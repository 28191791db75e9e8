// Every schedule on threads: orders, messages, times.

#include <algorithm>
#include <sstream>

#include <pipeloom/schedule.hpp>
#include "executor/run/busy_work.hpp"
#include "executor/run/run.hpp"
#include "executor/runs.hpp"
#include "schedules/flavours.hpp"
#include "sim/io/formats/timeline_jsonl.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/messages/message_plans.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cpu_backend_test {
namespace {

/// Ops that take no time: what is left is the order.
Costs no_time(const Program& program) {
  return uniform_costs(program.schedule().placement(), {.forward = 0,
                                                        .backward = 0,
                                                        .backward_input = 0,
                                                        .backward_weight = 0,
                                                        .unit = TimeUnit::Millisecond});
}

RunResult run_delayed(const Program& program, RunOptions options) {
  BusyWork work(no_time(program), {.message_elements = 3});
  options.before_instruction = random_delays(7, 60);
  options.checksums = true;
  options.timeout_seconds = 20;
  return run_on_cpu(program, work, options);
}

/// Calls fn(program) for every schedule with p ranks.
template <class Fn>
int for_each_program(int p, Fn&& fn) {
  int runs = 0;
  for (const schedules::Generator& generator : schedules::runnable())
    for (const auto& params : schedules::small_flavours(generator, p, {p, 2 * p, 2 * p + 2})) {
      INFO(schedules::describe(generator, params));
      fn(async_program(generator, params));
      ++runs;
    }
  return runs;
}

}  // namespace

TEST_CASE("every schedule runs in its order on 2, 4 and 8 threads, whatever is late") {
  const int p = GENERATE(2, 4, 8);
  const int runs = for_each_program(p, [](const Program& program) {
    const RunResult run = run_delayed(program, {.warmup_steps = 0, .steps = 2});
    CHECK(disorder(run.timeline) == "");
    CHECK(run.timeline.steps == 2);
    CHECK(run.messages.size() == 2 * program.messages().size());
    CHECK(run.message_bytes == std::vector<std::size_t>(program.messages().size(), 3 * sizeof(float)));
    for (const MeasuredMessage& message : run.messages)
      CHECK(message.done >= std::max(message.sent, message.received));
  });
  CHECK(runs >= 20);
}

TEST_CASE("every schedule runs with one communicator per direction and with tags") {
  const auto queue = GENERATE(QueueDiscipline::PerDirection, QueueDiscipline::None);
  for_each_program(4, [&](const Program& program) {
    RunOptions options{.warmup_steps = 0, .steps = 1};
    options.queue = queue;
    try {
      CHECK(disorder(run_delayed(program, options).timeline) == "");
    } catch (const ScheduleError&) {
      // A queue per direction is too little for some: the simulator says so as well.
      CHECK(queue == QueueDiscipline::PerDirection);
    }
  });
}

TEST_CASE("blocking programs run") {
  for (const char* name : {"1f1b", "interleaved-1f1b", "zbv", "dualpipe", "gpipe"}) {
    INFO(name);
    const auto schedule =
        async_program(name, 4, 8, schedules::find(name).generator->requirements.min_chunks).shared_schedule();
    const RunResult run = run_delayed(step_blocking(schedule), {.warmup_steps = 1, .steps = 1});
    CHECK(disorder(run.timeline) == "");
  }
}

TEST_CASE("a program that would hang is refused, with the reason") {
  // Blocking one by one: rank 0 wants to send 0F1 when rank 1 wants to send 1B0.
  const auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  ProgramBuilder out(schedule);
  const MessageTable& messages = out.messages();
  const auto one_by_one = [&](Rank rank, std::size_t first) {
    out.begin_rank(rank);
    std::vector<std::uint32_t> batches;
    for (std::size_t i = first; i < first + 4; ++i) {
      if (messages.needed_by(i) != kNoMessage) {
        const Endpoint receive{messages.needed_by(i), false};
        out.exchange({&receive, 1});
      }
      out.run(i);
      if (messages.sent_by(i) == kNoMessage) continue;
      const Endpoint send{messages.sent_by(i), true};
      out.exchange({&send, 1});
    }
  };
  one_by_one(Rank(0), 0);
  one_by_one(Rank(1), 4);
  const Program program = std::move(out).build();
  BusyWork work(no_time(program));
  CHECK_THROWS_WITH(run_on_cpu(program, work, {}),
                    Catch::Matchers::Contains("the program hangs after 4 of 8 entries"));
}

TEST_CASE("a program with a message that nobody receives is refused") {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0B0 | 1F0 1B0"));
  ProgramBuilder out(schedule);
  out.begin_rank(Rank(0));
  out.run(0);
  out.run(1);
  out.begin_rank(Rank(1));
  out.run(2);
  out.run(3);
  const Program program = std::move(out).build();
  BusyWork work(no_time(program));
  CHECK_THROWS_AS(run_on_cpu(program, work, {}), ScheduleError);
}

TEST_CASE("a measured timeline is written and read back") {
  const Program program = async_program("dualpipe", 4, 8);
  const Costs costs = uniform_costs(program.schedule().placement(), {.forward = 1'000'000'000,
                                                                     .backward = 1'000'000'000,
                                                                     .backward_input = 500'000'000,
                                                                     .backward_weight = 500'000'000,
                                                                     .unit = TimeUnit::Millisecond});
  BusyWork work(costs);
  const RunResult run = run_on_cpu(program, work, {.warmup_steps = 0, .steps = 2});
  std::ostringstream out;
  io::write_timeline_jsonl(out, run.timeline);
  const Timeline read = io::read_timeline(out.str(), "measured.jsonl", TimeUnit::Millisecond).timeline;
  CHECK(read.steps == 2);
  REQUIRE(read.schedule->num_ops() == run.timeline.schedule->num_ops());
  for (Rank rank{0}; rank < Rank(4); ++rank)
    CHECK(queue_text(*read.schedule, rank) == queue_text(program.schedule(), rank));
  for (std::size_t i = 0; i < read.start.size(); ++i) {
    CHECK(read.start[i] == run.timeline.start[i]);
    CHECK(read.end[i] == run.timeline.end[i]);
  }
}

TEST_CASE("the parts of a group run at the same time, or in turn with times of their own") {
  const Program program = async_program("dualpipe", 2, 4);
  Costs costs = uniform_costs(program.schedule().placement(), {.forward = 2'000'000'000,
                                                               .backward = 2'000'000'000,
                                                               .backward_input = 1'000'000'000,
                                                               .backward_weight = 1'000'000'000,
                                                               .unit = TimeUnit::Millisecond});
  const Schedule& schedule = program.schedule();
  std::size_t group = 0;
  while (!schedule.ops()[group].joined()) ++group;
  SECTION("together, as long as the whole group") {
    BusyWork work(costs);
    const Timeline timeline = run_on_cpu(program, work, {.warmup_steps = 0, .steps = 1}).timeline;
    CHECK(timeline.start_of(group) == timeline.start_of(group + 1));
    CHECK(timeline.end_of(group) == timeline.end_of(group + 1));
    CHECK(timeline.end_of(group) - timeline.start_of(group) >= 4'000'000'000);
  }
  SECTION("in turn") {
    costs.overlap.rule = OverlapRule::Sequential;
    BusyWork work(costs);
    RunOptions options{.warmup_steps = 0, .steps = 1};
    options.groups = GroupRule::InTurn;
    const Timeline timeline = run_on_cpu(program, work, options).timeline;
    CHECK(timeline.start_of(group + 1) >= timeline.end_of(group));
    CHECK(timeline.end_of(group) - timeline.start_of(group) >= 2'000'000'000);
  }
}

TEST_CASE("messages take the time that they are given") {
  const Program program = async_program("1f1b", 2, 2);
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.forward_delay = {0, 20'000'000'000};  // 20 ms
  BusyWork work(no_time(program));
  const RunResult run = run_on_cpu(program, work, options);
  for (MessageId id = 0; id < program.messages().size(); ++id) {
    if (!program.messages()[id].is_forward()) continue;
    const MeasuredMessage& message = run.messages[id];
    CHECK(message.done - std::max(message.sent, message.received) >= 20'000'000'000);
  }
}

}  // namespace pipeloom::executor::cpu_backend_test
