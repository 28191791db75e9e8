// Ranks that fail end the run everywhere, and say where.

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "executor/run/busy_work.hpp"
#include "executor/run/run.hpp"
#include "executor/runs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::faults_test {
namespace {

/// Runs what must fail.
RunFailed failure_of(const Program& program, const RunOptions& options) {
  BusyWork work(one_ms(program), {.message_elements = 4});
  try {
    static_cast<void>(run_on_cpu(program, work, options));
  } catch (const RunFailed& failure) {
    return failure;
  }
  FAIL("the run did not fail");
  throw std::logic_error("not reached");
}

/// Position in its rank's list of the first instruction that runs this op.
std::size_t position_of(const Program& program, Rank rank, Op op) {
  const auto instructions = program.instructions(rank);
  for (std::size_t i = 0; i < instructions.size(); ++i)
    if (instructions[i].code == Program::Code::Run && program.schedule().ops()[instructions[i].index] == op)
      return i;
  return instructions.size();
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a rank that throws ends the run: rank, op and reason are named, what ended is kept") {
  const Program program = async_program("1f1b", 4, 8);
  const Op op = forward(Stage(2), Microbatch(3));
  const std::size_t at = position_of(program, Rank(2), op);
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.before_instruction = [&](Rank rank, std::size_t i) {
    if (rank == Rank(2) && i == at) throw std::runtime_error("out of memory");
  };
  const RunFailed failure = failure_of(program, options);
  CHECK(std::string(failure.what()) == "rank 2 failed in step 0 at 2F3: out of memory");
  CHECK(failure.exit_code() == ExitCode::DeviceFailed);
  REQUIRE(failure.last_actions().size() == 4);
  CHECK(holds(failure.last_actions()[2], "rank 2: step 0, in 2F3; before it: "));
  CHECK(holds(failure.last_actions()[2], "wait [r1F3<1]"));
  const Timeline& partial = failure.partial();
  CHECK(partial.steps == 1);
  const std::size_t first = program.schedule().queue_begin(Rank(2));
  CHECK(partial.end_of(first) > 0);  // 2F0 ended
  for (std::size_t i = first; i < program.schedule().queue_end(Rank(2)); ++i)
    if (program.schedule().ops()[i] == op) CHECK(partial.end_of(i) == -1);
}

TEST_CASE("a run that is asked to end does so in order, and keeps what ended") {
  const Program program = async_program("1f1b", 2, 4);
  std::atomic<bool> stop = false;
  RunOptions options{.warmup_steps = 0, .steps = 1000};  // 15 ms each
  int all = 0;
  options.progress = [&](int over, int steps) {
    all = steps;
    if (over >= 2) stop = true;
  };
  options.stop = &stop;
  const RunFailed failure = failure_of(program, options);
  CHECK(std::string(failure.what()).starts_with("interrupted in step "));
  CHECK(all == 1000);
  CHECK(failure.partial().steps >= 2);
  CHECK(failure.partial().steps < 1000);
  for (std::size_t op = 0; op < program.schedule().num_ops(); ++op)
    CHECK(failure.partial().end_of(op, 1) > 0);  // the second step is whole
}

TEST_CASE("a rank that stalls ends the run within the timeout") {
  const Program program = async_program("zb-h1", 4, 8);
  const Op op = backward_input(Stage(1), Microbatch(0));
  const std::size_t at = position_of(program, Rank(1), op);
  std::atomic<bool> release = false;
  std::atomic<bool> released = false;
  RunOptions options{.warmup_steps = 1, .steps = 1};
  options.timeout_seconds = 1;
  options.before_instruction = [&](Rank rank, std::size_t i) {
    if (rank != Rank(1) || i != at) return;
    while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    released = true;
  };
  BusyWork work(one_ms(program));
  const auto start = std::chrono::steady_clock::now();
  std::string what;
  try {
    static_cast<void>(run_on_cpu(program, work, options));
  } catch (const RunFailed& failure) {
    what = failure.what();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(what == "rank 1 failed in step 0 at 1I0: no end after 1 s, the timeout");
  CHECK(took.count() >= 1);
  CHECK(took.count() < 6);  // 1 s, a look every 100 ms, 100 ms for the others; the rest is for a busy machine
  release = true;
  // The rank was left behind and still uses `work` and `release`.
  while (!released) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

TEST_CASE("a message that is damaged ends the run where it arrives") {
  const Program program = async_program("interleaved-1f1b", 2, 4, 2);
  RunOptions options{.warmup_steps = 1, .steps = 1};
  options.checksums = true;
  options.in_transit = [&](MessageId message, int step, Payload& payload) {
    const MessageInfo& info = program.messages()[message];
    if (step == 1 && info.producer == forward(Stage(0), Microbatch(2))) payload.values[3] = -1;
  };
  const RunFailed failure = failure_of(program, options);
  CHECK(holds(failure.what(), "rank 1 failed in step 1 at "));
  CHECK(holds(failure.what(), "the output of 0F2 from rank 0 in step 1 was damaged on its way"));
  CHECK(failure.partial().steps == 2);
}

TEST_CASE("without checksums the work sees a damaged message") {
  const Program program = async_program("1f1b", 2, 2);
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.in_transit = [](MessageId, int, Payload& payload) { payload.values[0] = 123; };
  CHECK(std::string(failure_of(program, options).what()) ==
        "rank 1 failed in step 0 at 1F0: the input of 1F0 is not the output of stage 0");
}

TEST_CASE("every instruction may fail, in any schedule, and the run always ends") {
  for (const char* name : {"1f1b", "dualpipe"}) {
    const Program program =
        async_program(name, 2, 4, schedules::find(name).generator->requirements.min_chunks);
    for (Rank rank{0}; rank < Rank(2); ++rank)
      for (std::size_t at = 0; at < program.instructions(rank).size(); ++at) {
        RunOptions options{.warmup_steps = 0, .steps = 1};
        options.before_instruction = [&](Rank r, std::size_t i) {
          if (r == rank && i == at) throw std::runtime_error("gone");
        };
        CHECK(holds(failure_of(program, options).what(), "gone"));
      }
  }
}

}  // namespace pipeloom::executor::faults_test
