// All ranks on one GPU, the GPU being a fake: order, gradients, times and failures of what is queued on streams.

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "executor/cuda/fake/fake_cuda.hpp"
#include "executor/cuda/host_work.hpp"
#include "executor/cuda/run/run.hpp"
#include "executor/layers/gradient_check.hpp"
#include "executor/run/clock.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "schedules/flavours.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::one_gpu_test {
namespace {

/// What is wrong with two steps of these layers, with delays in front of every instruction that is queued.
std::string mistake(const Program& program, Arithmetic arithmetic, QueueDiscipline queue) {
  const LayersConfig config = small(arithmetic);
  Layers layers(config);
  HostWork work(layers);
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.queue = queue;
  options.checksums = true;
  options.before_instruction = random_delays(7, 30);
  const RunResult run = run_on_one_gpu(program, work, options);
  const std::string wrong = disorder(run.timeline);
  if (!wrong.empty()) return wrong;
  const Reference& right = reference_of(config, sizes_of(program.schedule()));
  const std::string mismatch = first_mismatch(right, collect_gradients(program.schedule(), run.gradients));
  return mismatch.empty() ? wrong_copy(program.schedule(), right, run.gradients) : mismatch;
}

}  // namespace

TEST_CASE("every schedule with all ranks on one GPU: gradients are right") {
  const int p = GENERATE(2, 4);
  for (const schedules::Generator& generator : schedules::runnable()) {
    int runs = 0;
    for (const auto& params : schedules::small_flavours(generator, p, {2 * p + 2})) {
      INFO(schedules::describe(generator, params));
      const Program program = async_program(generator, params);
      CHECK(mistake(program, runs++ % 2 == 0 ? Arithmetic::Integer : Arithmetic::Float,
                    QueueDiscipline::PerPair) == "");
    }
  }
  CHECK(fake_cuda::live_allocations() == 0);
}

TEST_CASE("every discipline of queues on one GPU") {
  const QueueDiscipline queue = GENERATE(QueueDiscipline::None, QueueDiscipline::PerRank,
                                         QueueDiscipline::PerDirection, QueueDiscipline::PerPair);
  CHECK(mistake(async_program("zb-h1", 4, 8), Arithmetic::Integer, queue) == "");
  CHECK(mistake(async_program("dualpipe", 4, 8), Arithmetic::Integer, queue) == "");
  CHECK(mistake(async_program("chimera", 4, 8), Arithmetic::Integer, queue) == "");
}

TEST_CASE("a rank that fails keeps nobody waiting for its gradients") {
  const Program program = async_program("dualpipe", 2, 4);
  Layers layers(small(Arithmetic::Integer));
  HostWork work(layers);
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.before_instruction = [&](Rank rank, std::size_t instruction) {
    if (rank == Rank(0) || instruction + 1 < program.instructions(rank).size()) return;
    sleep_ms(50);  // rank 0 needs nothing more of it but this
    throw std::runtime_error("no more");
  };
  CHECK_THROWS_WITH(run_on_one_gpu(program, work, options), Catch::Matchers::EndsWith("no more"));
  CHECK(fake_cuda::live_allocations() == 0);
}

TEST_CASE("a rank that posts after another has failed uses no event of the other") {
  const Program program = async_program("1f1b", 2, 4);
  Layers layers(small(Arithmetic::Integer));
  HostWork work(layers);
  RunOptions options{.warmup_steps = 0, .steps = 1};
  std::atomic<bool> has_posted = false;
  options.before_instruction = [&](Rank rank, std::size_t instruction) {
    if (rank == Rank(0)) {
      if (program.instructions(rank)[instruction].code != Program::Code::Post) return;
      while (!has_posted) sleep_ms(1);
      sleep_ms(50);  // rank 1 has failed by now, and its events are destroyed
    } else if (instruction > 0) {
      has_posted = true;  // instruction 0 posts the receive
      throw std::runtime_error("no more");
    }
  };
  CHECK_THROWS_WITH(run_on_one_gpu(program, work, options), Catch::Matchers::EndsWith("no more"));
  CHECK(fake_cuda::live_allocations() == 0);
}

TEST_CASE("events of ops and messages become times of the run") {
  Callers sleeper([](Op /*op*/) { sleep_ms(2); });
  HostWork work(sleeper);
  const Program program = async_program("1f1b", 2, 3);
  const RunResult run = run_on_one_gpu(program, work, {.warmup_steps = 1, .steps = 2});
  REQUIRE(run.timeline.steps == 2);
  CHECK(disorder(run.timeline) == "");
  for (std::size_t i = 0; i < run.timeline.start.size(); ++i)
    CHECK(run.timeline.end[i] - run.timeline.start[i] >= ticks_of_seconds(0.002) - ticks_of_seconds(1e-6));
  const std::size_t count = program.messages().size();
  REQUIRE(run.messages.size() == 2 * count);
  for (std::size_t i = 0; i < run.messages.size(); ++i) {
    const MeasuredMessage& message = run.messages[i];
    const MessageInfo& info = program.messages()[static_cast<MessageId>(i % count)];
    const int step = static_cast<int>(i / count);
    CHECK(message.sent >= run.timeline.end_of(info.producer_op, step));
    CHECK(message.started >= std::max(message.sent, message.received));
    CHECK(message.done >= message.started);
    CHECK(message.done <= run.timeline.start_of(info.consumer_op, step));
  }
  // Rank 1 has nothing to do before its first activation comes.
  CHECK(run.messages[program.messages().needed_by(program.schedule().queue_begin(Rank(1)))].waited);
}

TEST_CASE("a kernel that does not end is named within the timeout") {
  // The op's thread may outlive the test.
  static std::atomic<bool> release = false;
  static Callers sleeper([](Op op) {
    if (op != forward(Stage(1), Microbatch(2))) return;
    while (!release) sleep_ms(1);
  });
  static HostWork work(sleeper);
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.timeout_seconds = 0.3;
  try {
    static_cast<void>(run_on_one_gpu(async_program("gpipe", 2, 4), work, options));
    FAIL("it ended");
  } catch (const RunFailed& failure) {
    CHECK_THAT(failure.what(),
               Catch::Matchers::Contains("rank 1 failed in step 0 at 1F2: no end after 0.3 s"));
    CHECK(failure.last_actions().size() == 2);
    // What rank 0 had done, and what came before the op, is kept.
    const Schedule& schedule = *failure.partial().schedule;
    CHECK(failure.partial().end_of(schedule.queue_begin(Rank(0)), 0) >= 0);
    CHECK(failure.partial().end_of(schedule.queue_begin(Rank(1)) + 1, 0) >= 0);
    CHECK(failure.partial().end_of(schedule.queue_begin(Rank(1)) + 2, 0) == -1);
  }
  release = true;
  CHECK(fake_cuda::live_allocations() == 0);
}

TEST_CASE("a damaged message is found by its checksum") {
  Callers sleeper([](Op /*op*/) {});
  HostWork work(sleeper);
  std::atomic<int> copies = 0;
  fake_cuda::on_copy([&](void* data, std::size_t bytes) {
    if (copies++ == 5) static_cast<char*>(data)[bytes - 1] ^= 1;
  });
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.checksums = true;
  CHECK_THROWS_WITH(run_on_one_gpu(async_program("1f1b", 2, 4), work, options),
                    Catch::Matchers::Contains("has other bits than its sender gave it"));
  fake_cuda::on_copy({});
}

TEST_CASE("without a device there is a clear word") {
  Callers sleeper([](Op /*op*/) {});
  HostWork work(sleeper);
  fake_cuda::set_devices(0);
  CHECK_THROWS_WITH(run_on_one_gpu(async_program("1f1b", 2, 4), work, {}),
                    Catch::Matchers::StartsWith("no CUDA device: "));
  fake_cuda::set_devices(1);
}

}  // namespace pipeloom::executor::cuda::one_gpu_test
