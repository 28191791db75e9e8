// For machines with a GPU: what it computes, against the CPU and against itself without a pipeline. Prints a line for everything that is
// compared, with how far it was off. Ends with 0, with 1 if something is wrong, or with 77 where there is no GPU.

#include "executor/cuda/layers/device_layers.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/cuda/block_outcome.hpp"
#include "executor/cuda/device/cuda_error.hpp"
#include "executor/cuda/kernels/cuda_engine.hpp"
#include "executor/cuda/layers/serial.hpp"
#include "executor/cuda/on_streams.hpp"
#include "executor/cuda/run/device_busy.hpp"
#include "executor/cuda/small_schedules.hpp"
#include "executor/layers/layers.hpp"
#include "executor/small_layers.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::cuda {

void wait_until_done(CudaEngine& /*engine*/, cudaStream_t stream) {
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

namespace {

int failed = 0;

void report(bool right, std::string_view what) {
  static_cast<void>(std::fputs(fmt::format("{} {}\n", right ? "ok   " : "WRONG", what).c_str(), stdout));
  static_cast<void>(std::fflush(stdout));
  failed += right ? 0 : 1;
}

template <class T>
constexpr const char* kName = sizeof(T) == 4 ? "fp32" : "bf16";
template <class T>
constexpr Precision kPrecision = sizeof(T) == 4 ? Precision::Fp32 : Precision::Bf16;

template <class T>
void check_block() {
  const Stream stream;
  CudaEngine engine;
  LayersConfig config = uneven(Arithmetic::Float);
  const double off = distance(config.block(), on_device<T>(engine, config, stream.get()), on_cpu<T>(config));
  report(off <= kBlockTolerance<T>, fmt::format("block in {}: off by {:.2e} of its length, allowed {:.0e}",
                                                kName<T>, off, kBlockTolerance<T>));
  config = uneven(Arithmetic::Integer);
  const Outcome found = on_device<T>(engine, config, stream.get());
  const Outcome right = on_cpu<T>(config);
  report(found.y == right.y && found.dx == right.dx && found.dw == right.dw,
         fmt::format("block of integers in {}: equal", kName<T>));
}

/// Stage 1 of three, given input and gradient from outside.
struct MiddleOutcome {
  Outcome numbers;
  std::size_t peak = 0;
};

MiddleOutcome middle_on_cpu(const LayersConfig& config, const Schedule& schedule) {
  LayerRank rank(config, schedule, Rank(1));
  MiddleOutcome out;
  for (const Op op : schedule.queue(Rank(1))) {
    Payload input;
    if (op.kind() == OpKind::Forward) input.values = all_rows(config, 0);
    if (carries_gradient(op.kind())) input.values = all_rows(config, 1);
    Payload output = rank.run(op, 0, std::move(input));
    if (op.kind() == OpKind::Forward) out.numbers.y = std::move(output.values);
    if (carries_gradient(op.kind())) out.numbers.dx = std::move(output.values);
  }
  out.numbers.dw = rank.gradients().slots[0];
  out.peak = rank.peak_bytes();
  return out;
}

template <class T>
MiddleOutcome middle_on_gpu(const LayersConfig& config, const Schedule& schedule) {
  const Stream stream;
  CudaEngine engine;
  DeviceLayers layers(config, kPrecision<T>);
  const auto rank = layers.rank_work(schedule, Rank(1));
  MiddleOutcome out;
  for (const Op op : schedule.queue(Rank(1))) {
    DeviceTensor input;
    const bool is_given = op.kind() == OpKind::Forward || carries_gradient(op.kind());
    if (is_given) {
      const Tensor rows = all_rows(config, op.kind() == OpKind::Forward ? 0 : 1);
      input = {uploaded<T>(engine, rows), rows.size()};
    }
    const DeviceTensor output = rank->run(op, 0, std::move(input), stream.get());
    if (is_given)
      (op.kind() == OpKind::Forward ? out.numbers.y : out.numbers.dx) =
          downloaded<T>(engine, output.buffer, stream.get());
  }
  wait_until_done(engine, stream.get());
  rank->end_step(0);
  out.numbers.dw = rank->gradients().slots[0];
  out.peak = rank->peak_bytes();
  return out;
}

/// Every kind of op, alone and behind the others.
template <class T>
void check_ops() {
  for (const char* queue : {"1F0 1B0", "1F0 1I0 1W0", "1F0 1R0 1B0", "1F0 1R0 1I0 1W0", "1F0 1O0 1L0 1B0",
                            "1F0 1O0 1L0 1R0 1I0 1W0"}) {
    const Schedule schedule = parse_schedule(fmt::format("0F0 0B0 | {} | 2F0 2B0", queue));
    LayersConfig config = uneven(Arithmetic::Float);
    const MiddleOutcome right = middle_on_cpu(config, schedule);
    const MiddleOutcome found = middle_on_gpu<T>(config, schedule);
    // In bf16 the CPU's weights and inputs are not rounded: one more tensor of 2^-9 behind every other.
    const double allowed = 2 * kBlockTolerance<T>;
    const double off = distance(config.block(), found.numbers, right.numbers);
    report(off <= allowed, fmt::format("{} in {}: off by {:.2e} of its length, allowed {:.0e}", queue,
                                       kName<T>, off, allowed));
    if (kPrecision<T> == Precision::Fp32)
      report(found.peak == right.peak,
             fmt::format("{}: peak of {} bytes, on the CPU {}", queue, found.peak, right.peak));
    config = uneven(Arithmetic::Integer);
    const Outcome integers = middle_on_gpu<T>(config, schedule).numbers;
    const Outcome equal = middle_on_cpu(config, schedule).numbers;
    report(integers.y == equal.y && integers.dx == equal.dx && integers.dw == equal.dw,
           fmt::format("{} of integers in {}: equal", queue, kName<T>));
  }
}

template <class T>
Gradients gradients_of(const LayersConfig& config, const Schedule& schedule) {
  std::vector<Stream> streams(static_cast<std::size_t>(schedule.ranks()) * 3);
  std::vector<cudaStream_t> handles;
  for (const Stream& stream : streams) handles.push_back(stream.get());
  CudaEngine engine;
  OnStreams<CudaEngine, T> run(engine, handles, config, schedule);
  run.run(0);
  return run.gradients();
}

/// All ranks on one GPU, three streams each, with nothing between them but events.
template <class T>
void check_schedules() {
  const LayersConfig integers = small(Arithmetic::Integer);
  const LayersConfig floats = small(Arithmetic::Float);
  int schedules = 0;
  int wrong = 0;
  const auto compare = [&](const std::string& mismatch, const std::string& what) {
    if (!mismatch.empty()) report(false, fmt::format("{} in {}: {}", what, kName<T>, mismatch));
    wrong += mismatch.empty() ? 0 : 1;
  };
  for_each_small([&](const Schedule& plain, const std::string& name) {
    ++schedules;
    for (const Schedule& schedule : {plain, moved_and_made_again(plain)})
      compare(first_mismatch(reference_of(integers, sizes_of(schedule)), gradients_of<T>(integers, schedule)),
              name + ", integers");
    DeviceLayers layers(floats, kPrecision<T>);
    const Reference serial =
        with_gradients(reference_of(floats, sizes_of(plain)), serial_gradients(layers, sizes_of(plain)));
    compare(first_mismatch(serial, gradients_of<T>(floats, plain)), name + ", floats");
  });
  report(wrong == 0, fmt::format("{} schedules in {}: gradients of integers equal those of the CPU without a "
                                 "pipeline, of floats those of the GPU within the derived tolerance",
                                 schedules, kName<T>));
}

/// Two ops of 3 ms, the second given the first one's output, then a tensor that is not.
void check_busy() {
  const Schedule schedule = parse_schedule("0F0 0B0 | 1F0 1B0");
  constexpr Ticks kThreeMs = 3'000'000'000;
  Costs costs;
  costs.unit = TimeUnit::Millisecond;
  for (auto& kind : costs.duration) kind.assign(2, kThreeMs);
  DeviceBusy busy(costs, 1000);
  const auto first = busy.rank_work(schedule, Rank(0));
  const auto second = busy.rank_work(schedule, Rank(1));
  const Stream stream;
  CudaEngine engine;
  Event begin;
  Event end;
  begin.record(stream.get());
  DeviceTensor tensor = first->run(forward(Stage(0), Microbatch(0)), 0, {}, stream.get());
  tensor = second->run(forward(Stage(1), Microbatch(0)), 0, std::move(tensor), stream.get());
  end.record(stream.get());
  wait_until_done(engine, stream.get());
  const float took = milliseconds_between(begin.get(), end.get());
  report(took >= 5.99F && took < 50.0F, fmt::format("busy for 2 x 3 ms: {:.3f} ms", took));
  second->end_step(0);
  report(tensor.elements == 0, "busy: the last stage gives nothing");

  DeviceTensor strange{uploaded<float>(engine, std::vector<float>(1000, 1.5F)), 1000};
  static_cast<void>(second->run(forward(Stage(1), Microbatch(0)), 1, std::move(strange), stream.get()));
  wait_until_done(engine, stream.get());
  std::string said;
  try {
    second->end_step(1);
  } catch (const std::runtime_error& error) {
    said = error.what();
  }
  report(said == "the input of 1F0 is not the output of the stage before it",
         "busy: a strange tensor: " + said);
}

void check_all() {
  check_block<float>();
  check_block<Bf16>();
  check_ops<float>();
  check_ops<Bf16>();
  check_schedules<float>();
  check_schedules<Bf16>();
  check_busy();
}

}  // namespace
}  // namespace pipeloom::executor::cuda

int main() {
  using namespace pipeloom;
  try {
    static_cast<void>(executor::cuda::require_devices());
  } catch (const SystemError& error) {
    static_cast<void>(std::fputs(fmt::format("skipped: {}\n", error.what()).c_str(), stdout));
    return 77;
  }
  try {
    executor::cuda::check_all();
  } catch (const std::exception& error) {
    executor::cuda::report(false, error.what());
  }
  return executor::cuda::failed == 0 ? 0 : 1;
}
