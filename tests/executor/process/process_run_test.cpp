// Ranks that are processes: the same results as threads, on one clock, and failures that everybody hears of.

#include "executor/process/process_run.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <pipeloom/schedule.hpp>
#include "executor/layers/gradient_check.hpp"
#include "executor/process/as_processes.hpp"
#include "executor/run/busy_work.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "schedules/flavours.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::process_run_test {
namespace {

using std::chrono::milliseconds;

/// What is wrong with a run of layers as processes; "" if nothing is.
std::string wrong_with(const Program& program, const LayersConfig& config, const RunOptions& options) {
  Layers layers(config);
  const std::vector<Outcome> outcomes = run_as_processes(program, layers, options);
  for (const Outcome& outcome : outcomes)
    if (!outcome.error.empty()) return outcome.error;
  const RunResult& run = outcomes.front().result.all.value();
  if (const std::string found = disorder(run.timeline); !found.empty()) return found;
  return first_mismatch(reference_of(config, sizes_of(program.schedule())),
                        collect_gradients(program.schedule(), run.gradients));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every schedule on 2 and 4 processes: order kept, gradients exact") {
  const int p = GENERATE(2, 4);
  for (const schedules::Generator& generator : schedules::runnable()) {
    int runs = 0;
    for (const auto& params : schedules::small_flavours(generator, p, {2 * p})) {
      INFO(schedules::describe(generator, params));
      RunOptions options{.warmup_steps = 0, .steps = 2};
      options.checksums = true;
      options.handshake = runs % 2 == 0;
      options.queue = runs % 3 == 0 ? QueueDiscipline::None : QueueDiscipline::PerPair;
      options.before_instruction = random_delays(7, 40);
      CHECK(wrong_with(async_program(generator, params), small(Arithmetic::Integer), options) == "");
      ++runs;
    }
    INFO(generator.name);
    CHECK(runs > 0);
  }
}

TEST_CASE("processes of one machine share its clock, however far apart they started") {
  // Every process's clock counts from its own start: rank r starts some 20 r ms late.
  const Program program = async_program("1f1b", 4, 8);
  BusyWork work(one_ms(program), {.message_elements = 64});
  const RunOptions options{.warmup_steps = 1, .steps = 3};
  const auto outcomes = run_as_processes(program, work, options, [](Rank rank, ProcessSetup&) {
    std::this_thread::sleep_for(milliseconds(20 * rank.value()));
  });
  for (const Outcome& outcome : outcomes) REQUIRE(outcome.error == "");
  const ProcessResult& result = outcomes.front().result;
  CHECK(disorder(result.all->timeline) == "");
  REQUIRE(result.clocks.size() == 4);
  CHECK(result.clocks[0].offset == 0);
  for (std::size_t r = 1; r < 4; ++r) {
    CHECK(result.clocks[r].error == 0);
    CHECK_FALSE(outcomes[r].result.all.has_value());
  }
}

TEST_CASE("messages between processes: posted, started, there, in this order") {
  const Program program = async_program("zb-h1", 3, 6);
  BusyWork work(one_ms(program), {.message_elements = 1000});
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.handshake = GENERATE(true, false);
  const auto outcomes = run_as_processes(program, work, options);
  REQUIRE(outcomes.front().error == "");
  const ProcessResult& result = outcomes.front().result;
  REQUIRE(result.all->messages.size() == 2 * program.messages().size());
  for (const MeasuredMessage& message : result.all->messages) {
    CHECK(message.sent <= message.started);
    CHECK(message.started <= message.done);
    if (options.handshake) CHECK(message.received <= message.started);
  }
}

TEST_CASE("a rank that throws ends all processes with one story") {
  const Program program = async_program("1f1b", 4, 8);
  BusyWork work(one_ms(program), {.message_elements = 4});
  const RunOptions options{.warmup_steps = 0, .steps = 2};
  const Rank bad(GENERATE(0, 2));
  const auto outcomes = run_as_processes(program, work, options, [&](Rank rank, ProcessSetup& setup) {
    if (rank == bad)
      setup.options.before_instruction = [](Rank, std::size_t i) {
        if (i == 5) throw std::runtime_error("out of memory");
      };
  });
  for (Rank rank{0}; rank < Rank(4); ++rank) {
    const Outcome& outcome = outcomes[rank.at()];
    INFO("rank " << rank.value());
    CHECK(outcome.is_run_failed);
    CHECK(holds(outcome.error, "rank " + std::to_string(bad.value()) + " failed in step 0 at "));
    CHECK(holds(outcome.error, ": out of memory"));
    CHECK(outcome.is_told == (rank != Rank(0)));
    CHECK(outcome.last_actions.size() == 4);
  }
  if (bad == Rank(0)) return;
  // Rank 2 has had the output of 1F0: that it ended is in the coordinator's picture.
  const Outcome& told = outcomes.front();
  CHECK(told.partial.end_of(program.schedule().queue_begin(Rank(1))) > 0);
}

TEST_CASE("a rank that stays in an op ends all processes within the timeout") {
  const Program program = async_program("1f1b", 3, 6);
  BusyWork work(one_ms(program), {.message_elements = 4});
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.timeout_seconds =
      3;  // also the time in which the ranks meet and give a sign of life on a busy machine
  std::atomic<bool> release = false;
  std::atomic<bool> is_released = false;
  const auto outcomes = run_as_processes(program, work, options, [&](Rank rank, ProcessSetup& setup) {
    if (rank != Rank(1)) return;
    setup.options.before_instruction = [&](Rank, std::size_t i) {
      if (i != 4) return;
      while (!release) std::this_thread::sleep_for(milliseconds(1));
      is_released = true;
    };
  });
  for (const Outcome& outcome : outcomes) {
    INFO(outcome.error);
    CHECK(holds(outcome.error, "rank 1 failed in step 0 at "));
  }
  release = true;
  while (!is_released) std::this_thread::sleep_for(milliseconds(1));
  std::this_thread::sleep_for(milliseconds(50));  // until what was left behind has gone through its state
}

TEST_CASE("a damaged message ends all processes and is named") {
  const Program program = async_program("gpipe", 2, 4);
  Layers layers(small(Arithmetic::Float));
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.checksums = true;
  const auto outcomes = run_as_processes(program, layers, options, [](Rank rank, ProcessSetup& setup) {
    if (rank == Rank(1))
      setup.options.in_transit = [](MessageId, int, Payload& payload) { payload.values.front() += 1; };
  });
  for (const Outcome& outcome : outcomes) {
    CHECK(holds(outcome.error,
                "rank 1 failed in step 0 at wait [r0F0<0]: the output of 0F0 from rank 0 in step 0"));
    CHECK(holds(outcome.error, "checksum"));
  }
}

TEST_CASE("processes that do not agree do not start, and each says why") {
  const Program program = async_program("1f1b", 3, 6);
  BusyWork work(one_ms(program), {.message_elements = 4});
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.timeout_seconds = 10;
  SECTION("other agreements") {
    const auto outcomes = run_as_processes(program, work, options, [](Rank rank, ProcessSetup& setup) {
      if (rank == Rank(2)) setup.agreements = {{"work", "something else"}};
    });
    for (const Outcome& outcome : outcomes) {
      CHECK(holds(outcome.error, "rank 2 has another work: something else"));
      CHECK(holds(outcome.error, "the test's"));
    }
  }
  SECTION("another program") {
    const auto outcomes = run_as_processes(program, work, options, [](Rank rank, ProcessSetup& setup) {
      if (rank == Rank(1)) setup.program = async_program("gpipe", 3, 6);
    });
    for (const Outcome& outcome : outcomes) CHECK(holds(outcome.error, "rank 1 has another program"));
  }
  SECTION("a number of processes that is not the schedule's") {
    const auto outcomes =
        run_as_processes(program, work, options, [](Rank, ProcessSetup& setup) { setup.world_size = 4; });
    for (const Outcome& outcome : outcomes)
      CHECK(outcome.error == "found 4 processes; the schedule has 3 ranks: start as many");
  }
  SECTION("a rank that does not come") {
    options.timeout_seconds = 3;
    const auto outcomes = run_as_processes(program, work, options, [](Rank rank, ProcessSetup& setup) {
      if (rank == Rank(1)) setup.world_size = 5;  // refused before it calls
    });
    CHECK(holds(outcomes[0].error, "rank 1 did not come"));
    CHECK(holds(outcomes[2].error, "rank 1 did not come"));
  }
}

}  // namespace pipeloom::executor::process_run_test
