// Ranks with a GPU each, GPUs and NCCL being fakes: the same checks as on one GPU, and what the network may do.

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "executor/cuda/fake/fake_cuda.hpp"
#include "executor/cuda/fake/fake_nccl.hpp"
#include "executor/cuda/host_work.hpp"
#include "executor/cuda/run/run.hpp"
#include "executor/layers/gradient_check.hpp"
#include "executor/process/as_processes.hpp"
#include "executor/run/clock.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "schedules/flavours.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::nccl_test {
namespace {

/// Every rank as a process with a GPU.
std::vector<Outcome> run_ranks(const Program& program, Work& work, const RunOptions& options) {
  HostWork device_work(work);
  fake_cuda::set_devices(program.schedule().ranks());
  auto outcomes = run_as_processes(program, work, options, [&](Rank /*rank*/, ProcessSetup& setup) {
    setup.run = [&device_work](const ProcessSetup& own, const net::World& world) {
      return run_with_nccl(own.program, device_work, own.options, world, own.agreements);
    };
  });
  fake_cuda::set_devices(1);
  return outcomes;
}

/// "" or what is wrong with two steps of these layers; the outcome is left in `result`.
std::string mistake(const Program& program, const RunOptions& options, RunResult& result) {
  const LayersConfig config = small(Arithmetic::Integer);
  Layers layers(config);
  const auto outcomes = run_ranks(program, layers, options);
  for (const Outcome& outcome : outcomes)
    if (!outcome.error.empty()) return outcome.error;
  result = outcomes.front().result.all.value();
  const Reference& right = reference_of(config, sizes_of(program.schedule()));
  const std::string mismatch = first_mismatch(right, collect_gradients(program.schedule(), result.gradients));
  return mismatch.empty() ? wrong_copy(program.schedule(), right, result.gradients) : mismatch;
}

std::string mistake(const Program& program, const RunOptions& options) {
  RunResult result;
  return mistake(program, options, result);
}

RunOptions two_steps() {
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.queue = QueueDiscipline::PerPair;
  options.timeout_seconds = 20;
  return options;
}

}  // namespace

TEST_CASE("every schedule with NCCL: gradients are right") {
  for (const schedules::Generator& generator : schedules::runnable()) {
    const int v = generator.requirements.min_chunks;
    for (const auto& params :
         schedules::flavours(generator, {.ranks = 4, .microbatches = 8, .chunks = v}, {0})) {
      if (!schedules::refusal(generator, params).empty()) continue;
      INFO(schedules::describe(generator, params));
      RunOptions options = two_steps();
      options.before_instruction = random_delays(3, 30);
      CHECK(mistake(async_program(generator, params), options) == "");
    }
  }
  CHECK(fake_cuda::live_allocations() == 0);
}

TEST_CASE("every layout of communicators, with and without handshake and checksums") {
  const QueueDiscipline queue = GENERATE(QueueDiscipline::None, QueueDiscipline::PerRank,
                                         QueueDiscipline::PerDirection, QueueDiscipline::PerPair);
  const bool handshake = GENERATE(true, false);
  fake_nccl::set_latency(2);
  RunOptions options = two_steps();
  options.queue = queue;
  options.handshake = handshake;
  options.checksums = handshake;
  CHECK(mistake(async_program("zb-h1", 4, 8), options) == "");
  CHECK(mistake(async_program("dualpipe", 4, 8), options) == "");
  CHECK(mistake(async_program("chimera", 4, 8), options) == "");
  fake_nccl::set_latency(0);
}

TEST_CASE("times of messages come from both ends") {
  const bool handshake = GENERATE(true, false);
  RunOptions options = two_steps();
  options.handshake = handshake;
  const Program program = async_program("1f1b", 3, 4);
  RunResult run;
  REQUIRE(mistake(program, options, run) == "");
  const std::size_t count = program.messages().size();
  REQUIRE(run.messages.size() == 2 * count);
  for (const MeasuredMessage& message : run.messages) {
    // All clocks are one here, compared over sockets to within half a round trip: some 10 ms on a busy machine.
    const Ticks slack = ticks_of_seconds(0.02);
    CHECK(message.started >= std::max(message.sent, message.received) - slack);
    CHECK(message.done >= message.started - slack);
  }
  CHECK(run.message_bytes == std::vector<std::size_t>(count, run.message_bytes.front()));
}

TEST_CASE("an error of the network ends the run everywhere, with NCCL's words") {
  Callers callers([](Op op) {
    if (op == forward(Stage(1), Microbatch(1))) fake_nccl::break_network(ncclRemoteError);
  });
  const auto outcomes = run_ranks(async_program("1f1b", 2, 4), callers, two_steps());
  fake_nccl::break_network(ncclSuccess);
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.is_run_failed);
    CHECK_THAT(outcome.error,
               Catch::Matchers::Contains("remote process exited or there was a network error"));
    CHECK(outcome.last_actions.size() == 2);
  }
}

TEST_CASE("a kernel that does not end stops all ranks within the timeout") {
  static std::atomic<bool> release = false;
  static Callers callers([](Op op) {
    while (op == forward(Stage(1), Microbatch(2)) && !release) sleep_ms(1);
  });
  RunOptions options = two_steps();
  options.timeout_seconds = 1;
  const auto outcomes = run_ranks(async_program("gpipe", 2, 4), callers, options);
  release = true;
  for (const Outcome& outcome : outcomes)
    CHECK_THAT(outcome.error, Catch::Matchers::Contains("rank 1 failed in step 0 at 1F2"));
}

TEST_CASE("a rank that fails keeps no other GPU waiting for its gradients") {
  const Program program = async_program("dualpipe", 2, 4);
  Layers layers(small(Arithmetic::Integer));
  RunOptions options = two_steps();
  options.before_instruction = [&](Rank rank, std::size_t instruction) {
    if (rank == Rank(0) || instruction + 1 < program.instructions(rank).size()) return;
    sleep_ms(50);  // rank 0 needs nothing more of it but this
    throw std::runtime_error("no more");
  };
  for (const Outcome& outcome : run_ranks(program, layers, options))
    CHECK_THAT(outcome.error,
               Catch::Matchers::Contains("rank 1 failed in step 0") && Catch::Matchers::Contains("no more"));
  CHECK(fake_cuda::live_allocations() == 0);
}

TEST_CASE("a communicator whose ranks do not all come ends at the deadline") {
  Callers callers([](Op /*op*/) {});
  RunOptions options = two_steps();
  options.timeout_seconds = 1;
  fake_nccl::set_latency(1 << 30);
  const auto outcomes = run_ranks(async_program("gpipe", 2, 4), callers, options);
  fake_nccl::set_latency(0);
  for (const Outcome& outcome : outcomes)
    CHECK_THAT(outcome.error,
               Catch::Matchers::Contains("creating an NCCL communicator of ranks 0, 1 did not end in time"));
}

}  // namespace pipeloom::executor::cuda::nccl_test
