// Real layers through the whole back end, all ranks on one GPU, the GPU being a fake: everything but the kernels' launches and cuBLAS itself.

#include <memory>
#include <string>
#include <utility>

#include "executor/cuda/device/device_stream.hpp"
#include "executor/cuda/fake/fake_cuda.hpp"
#include "executor/cuda/layers/device_layers.hpp"
#include "executor/cuda/layers/serial.hpp"
#include "executor/cuda/run/device_busy.hpp"
#include "executor/cuda/run/run.hpp"
#include "executor/cuda/small_schedules.hpp"
#include "executor/layers/gradient_check.hpp"
#include "executor/layers/layers.hpp"
#include "executor/run/busy_work.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "sim/messages/message_plans.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::layers_on_one_gpu_test {
namespace {

Program program_of(const Schedule& schedule) {
  return async_plan(std::make_shared<const Schedule>(schedule), {});
}

RunResult run_twice(const Program& program, DeviceWork& work) {
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.before_instruction = random_delays(3, 20);
  return run_on_one_gpu(program, work, options);
}

std::string mistake(const Schedule& schedule, Arithmetic arithmetic, Precision precision) {
  const LayersConfig config = small(arithmetic);
  const PipelineSizes sizes = sizes_of(schedule);
  DeviceLayers layers(config, precision);
  Reference reference = reference_of(config, sizes);
  if (arithmetic == Arithmetic::Float)
    reference = with_gradients(std::move(reference), serial_gradients(layers, sizes));
  const RunResult run = run_twice(program_of(schedule), layers);
  const std::string mismatch = first_mismatch(reference, collect_gradients(schedule, run.gradients));
  return mismatch.empty() ? wrong_copy(schedule, reference, run.gradients) : mismatch;
}

}  // namespace

TEST_CASE("layers of every schedule with all ranks on one GPU: gradients are right") {
  int number = 0;
  for_each_small([&](const Schedule& schedule, const std::string& name) {
    INFO(name);
    // Each takes one of the four combinations in turn.
    const auto arithmetic = number % 2 == 0 ? Arithmetic::Integer : Arithmetic::Float;
    const auto precision = number / 2 % 2 == 0 ? Precision::Fp32 : Precision::Bf16;
    CHECK(mistake(schedule, arithmetic, precision) == "");
    ++number;
  });
  CHECK(number > 20);
  CHECK(fake_cuda::live_allocations() == 0);
}

TEST_CASE(
    "layers with recomputation and offload on one GPU: gradients are right, peaks are those of the CPU") {
  for (const char* name : {"1f1b", "zb-h1", "dualpipe"}) {
    INFO(name);
    const Schedule schedule = moved_and_made_again(
        schedules::make(*schedules::find(name).generator, {.ranks = 4, .microbatches = 8}));
    for (const Precision precision : {Precision::Fp32, Precision::Bf16})
      CHECK(mistake(schedule, Arithmetic::Integer, precision) == "");
  }
  // Without copies the order of a queue says what is held, wherever it runs.
  const Program program = async_program("zb-h1", 4, 8);
  DeviceLayers layers(small(Arithmetic::Float), Precision::Fp32);
  const RunResult on_gpu = run_twice(program, layers);
  Layers cpu_layers(small(Arithmetic::Float));
  CHECK(on_gpu.peak_bytes == run_on_cpu(program, cpu_layers, {.warmup_steps = 0, .steps = 1}).peak_bytes);
}

TEST_CASE("busy work on one GPU takes the times of its costs and sees where its tensors come from") {
  const Program program = async_program("1f1b", 2, 3);
  Costs costs;
  costs.unit = TimeUnit::Millisecond;
  const Ticks two_ms = 2 * ticks_per(TimeUnit::Millisecond);
  for (auto& kind : costs.duration) kind.assign(2, two_ms);
  DeviceBusy busy(costs, 5);
  const RunResult run = run_twice(program, busy);
  CHECK(disorder(run.timeline) == "");
  for (std::size_t i = 0; i < run.timeline.start.size(); ++i)
    CHECK(run.timeline.end[i] - run.timeline.start[i] >= two_ms - ticks_per(TimeUnit::Microsecond));
  CHECK(fake_cuda::live_allocations() == 0);

  // A schedule whose tensors are another's: the same ops, given what another step's would have held.
  const auto rank = busy.rank_work(program.schedule(), Rank(1));
  const Stream stream;
  DeviceTensor tensor;
  {
    const auto producer = busy.rank_work(program.schedule(), Rank(0));
    tensor = producer->run(forward(Stage(0), Microbatch(0)), 0, {}, stream.get());
  }
  static_cast<void>(rank->run(forward(Stage(1), Microbatch(0)), 1, std::move(tensor), stream.get()));
  REQUIRE(cudaStreamSynchronize(stream.get()) == cudaSuccess);
  CHECK_THROWS_WITH(rank->end_step(1), "the input of 1F0 is not the output of the stage before it");
  CHECK_THROWS_WITH(rank->run(forward(Stage(1), Microbatch(1)), 1, {}, stream.get()),
                    "0 numbers came for 1F1, which takes 5");
}

}  // namespace pipeloom::executor::cuda::layers_on_one_gpu_test
