// A rank's layers as they are queued on the streams of a device, run by the host in every order that their events allow: against
// LayerRank and the run without a pipeline.

#include "executor/cuda/layers/queued_layers.hpp"

#include <numeric>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedule.hpp>
#include "executor/cuda/device/precision.hpp"
#include "executor/cuda/host_engine.hpp"
#include "executor/cuda/layers/serial.hpp"
#include "executor/cuda/on_streams.hpp"
#include "executor/cuda/small_schedules.hpp"
#include "executor/layers/layers.hpp"
#include "executor/small_layers.hpp"
#include "schedules/generator.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::queued_layers_test {
namespace {

template <class T>
using HostLayers = QueuedLayers<HostEngine, T>;

/// Streams 1, 2, ...
template <class T>
class OnHost : public OnStreams<HostEngine, T> {
 public:
  OnHost(HostEngine& engine, const LayersConfig& config, const Schedule& schedule)
      : OnStreams<HostEngine, T>(engine, streams_of(schedule), config, schedule) {}

 private:
  static std::vector<int> streams_of(const Schedule& schedule) {
    std::vector<int> streams(static_cast<std::size_t>(schedule.ranks()) * 3);
    std::iota(streams.begin(), streams.end(), 1);
    return streams;
  }
};

template <class T>
Gradients gradients_of(const LayersConfig& config, const Schedule& schedule, unsigned seed) {
  HostEngine engine(seed);
  OnHost<T> run(engine, config, schedule);
  run.run(0);
  return run.gradients();
}

/// Stage 1 of three on a rank of its own: input and gradient come from outside, from one of these.
template <class Layers, class RunOp>
std::size_t peak_of(Layers& layers, const Schedule& schedule, RunOp&& run_op) {
  for (const Op op : schedule.queue(Rank(1))) run_op(layers, op);
  layers.end_step(0);
  return layers.peak_bytes();
}

template <class T>
std::size_t peak_on_device(const LayersConfig& config, const Schedule& schedule) {
  HostEngine engine;
  HostLayers<T> layers(engine, config, schedule, Rank(1));
  const std::size_t peak = peak_of(layers, schedule, [&](HostLayers<T>& rank, Op op) {
    const std::size_t elements = rank.elements_into(op);
    HostEngine::Buffer input;
    if (elements > 0) input = engine.allocate(elements * sizeof(T), 1);
    static_cast<void>(rank.run(op, 0, std::move(input), elements, 1));
  });
  engine.run_all();
  return peak;
}

std::size_t peak_on_cpu(const LayersConfig& config, const Schedule& schedule) {
  LayerRank layers(config, schedule, Rank(1));
  return peak_of(layers, schedule, [&](LayerRank& rank, Op op) {
    Payload input;
    if (op.kind() == OpKind::Forward || carries_gradient(op.kind()))
      input.values =
          input_rows(config, op.microbatch(), rows_of_slice(config, op.slice(), schedule.slices()));
    static_cast<void>(rank.run(op, 0, std::move(input)));
  });
}

}  // namespace

TEST_CASE("device layers, every schedule: gradients of integers are exactly those without a pipeline") {
  const LayersConfig config = small(Arithmetic::Integer);
  unsigned seed = 0;
  for_each_small([&](const Schedule& schedule, const std::string& name) {
    INFO(name);
    const Reference& reference = reference_of(config, sizes_of(schedule));
    REQUIRE(first_mismatch(reference, gradients_of<float>(config, schedule, ++seed)) == "");
    REQUIRE(first_mismatch(reference, gradients_of<Bf16>(config, schedule, ++seed)) == "");
  });
}

TEST_CASE("device layers, every schedule: recomputation and offload leave the gradients as they are") {
  const LayersConfig config = small(Arithmetic::Integer);
  unsigned seed = 0;
  for_each_small([&](const Schedule& plain, const std::string& name) {
    INFO(name);
    const Schedule schedule = moved_and_made_again(plain);
    HostEngine engine(++seed);
    OnHost<float> run(engine, config, schedule);
    const int host_buffers = engine.host_buffers();
    run.run(0);
    REQUIRE(first_mismatch(reference_of(config, sizes_of(schedule)), run.gradients()) == "");
    REQUIRE(engine.host_buffers() == host_buffers);  // all were taken before the first op
  });
}

TEST_CASE(
    "device layers, every schedule: floats as in a serial run on the device, the same in every order of "
    "streams") {
  const LayersConfig config = small(Arithmetic::Float);
  for_each_small([&](const Schedule& schedule, const std::string& name) {
    INFO(name);
    const Gradients serial = gradients_of<float>(config, serial_schedule(sizes_of(schedule)), 0);
    const Gradients found = gradients_of<float>(config, schedule, 1);
    REQUIRE(first_mismatch(with_gradients(reference_of(config, sizes_of(schedule)), serial), found) == "");
    const Gradients again = gradients_of<float>(config, schedule, 2);
    REQUIRE(found.stages == again.stages);
    REQUIRE(found.losses == again.losses);
  });
}

TEST_CASE("device layers: the serial run is the CPU's to rounding") {
  const LayersConfig config = small(Arithmetic::Float);
  const PipelineSizes sizes{.stages = 3, .microbatches = 2, .slices = 2};
  const Reference& reference = reference_of(config, sizes);
  const Gradients found = gradients_of<float>(config, serial_schedule(sizes), 0);
  for (std::size_t unit = 0; unit < 4; ++unit)
    CHECK(found.losses[unit] == Approx(reference.gradients.losses[unit]).epsilon(1e-5));
  for (std::size_t s = 0; s < 3; ++s)
    for (std::size_t i = 0; i < found.stages[s].size(); ++i)
      REQUIRE(found.stages[s][i] == Approx(reference.gradients.stages[s][i])
                                        .margin(1e-5 * static_cast<double>(reference.magnitudes[s][i])));
}

TEST_CASE(
    "device layers: parts of a group on two streams, several blocks, and a second step that starts from "
    "nothing") {
  LayersConfig config = small(Arithmetic::Integer);
  config.blocks = 3;
  for (const char* name : {"dualpipe", "dualpipe-v", "zb-h1"}) {
    INFO(name);
    const int chunks = std::string(name) == "dualpipe-v" ? 2 : 1;
    const Schedule schedule =
        schedules::make(*schedules::find(name).generator, {.ranks = 4, .microbatches = 8, .chunks = chunks});
    HostEngine engine(5);
    OnHost<float> run(engine, config, schedule);
    for (int step = 0; step < 3; ++step) {
      run.run(step);
      CHECK(first_mismatch(reference_of(config, sizes_of(schedule)), run.gradients()) == "");
    }
  }
}

TEST_CASE("device layers: forward_only gives the losses of the whole step and keeps nothing") {
  const LayersConfig config = small(Arithmetic::Integer);
  const Schedule schedule =
      forward_only(schedules::make(*schedules::find("1f1b").generator, {.ranks = 4, .microbatches = 4}));
  HostEngine engine;
  OnHost<Bf16> run(engine, config, schedule);
  run.run(0);
  CHECK(run.gradients().losses == reference_of(config, sizes_of(schedule)).gradients.losses);
  for (std::size_t rank = 0; rank < 4; ++rank) CHECK(run.rank(rank).peak_bytes() == 0);
}

TEST_CASE("device layers: peaks are those of the CPU, and in bf16 half of them without the deviations") {
  LayersConfig config = small(Arithmetic::Float);
  config.blocks = 2;
  for (const char* queue : {"1F0 1B0", "1F0 1I0 1W0", "1F0 1R0 1B0", "1F0 1O0 1L0 1B0",
                            "1F0 1O0 1L0 1R0 1I0 1W0", "1F0 1F1 1I0 1B1 1W0", "1F0 1O0 1F1 1B1 1L0 1B0"}) {
    INFO(queue);
    const bool two = std::string(queue).find("F1") != std::string::npos;
    const Schedule schedule = parse_schedule(std::string(two ? "0F0 0F1 0B0 0B1 | " : "0F0 0B0 | ") + queue +
                                             (two ? " | 2F0 2F1 2B0 2B1" : " | 2F0 2B0"));
    const std::size_t cpu = peak_on_cpu(config, schedule);
    CHECK(cpu > 0);
    CHECK(peak_on_device<float>(config, schedule) == cpu);
    CHECK(peak_on_device<Bf16>(config, schedule) >= cpu / 2);
    CHECK(peak_on_device<Bf16>(config, schedule) < cpu);
  }
  // 6 rows, 2 blocks, after F: xhat 18, n 18, h 72, g 72 numbers of 2 bytes and 6 deviations of 4, per block.
  CHECK(peak_on_device<Bf16>(config, parse_schedule("0F0 0B0 | 1F0 1B0 | 2F0 2B0")) == 2 * (180 * 2 + 6 * 4));
}

TEST_CASE("device layers: offloaded passes take the host's memory in turn") {
  const LayersConfig config = small(Arithmetic::Integer);
  const Schedule schedule = parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1O0 1L0 1B0 1F1 1O1 1L1 1B1");
  HostEngine engine;
  OnHost<float> run(engine, config, schedule);
  for (int step = 0; step < 2; ++step) run.run(step);
  CHECK(engine.host_buffers() == 1);
  CHECK(first_mismatch(reference_of(config, sizes_of(schedule)), run.gradients()) == "");
}

TEST_CASE("device layers: two streams that add to the same gradients at once take turns") {
  // Nothing is between the two B but what the layers ask for themselves: the second waits for the first's additions.
  const LayersConfig config = small(Arithmetic::Float);
  const Schedule schedule = parse_schedule("0F0 0F1 0B0 0B1");
  const auto gradient = [&](unsigned seed) {
    HostEngine engine(seed);
    HostLayers<float> rank(engine, config, schedule, Rank(0));
    const auto run = [&](Op op, int stream) { static_cast<void>(rank.run(op, 0, {}, 0, stream)); };
    run(forward(Stage(0), Microbatch(0)), 1);
    run(forward(Stage(0), Microbatch(1)), 2);
    run(backward(Stage(0), Microbatch(0)), 1);
    run(backward(Stage(0), Microbatch(1)), 2);
    return rank.gradients().slots;
  };
  for (unsigned seed = 1; seed < 20; ++seed) CHECK(gradient(seed) == gradient(0));
}

TEST_CASE(
    "device layers: a gradient is added to another one when both are complete, whatever the streams do") {
  const LayersConfig config = small(Arithmetic::Integer);
  const Schedule schedule = parse_schedule("0F0 0F1 0B0 0B1");
  const std::vector<float>& whole = reference_of(config, sizes_of(schedule)).gradients.stages[0];
  for (unsigned seed = 0; seed < 20; ++seed) {
    HostEngine engine(seed);
    HostLayers<float> one(engine, config, schedule, Rank(0));
    HostLayers<float> other(engine, config, schedule, Rank(0));
    // Ops of each on streams of their own, the sum on another one.
    int stream = 1;
    for (HostLayers<float>* layers : {&one, &other}) {
      for (const Op op : schedule.queue(Rank(0)))
        static_cast<void>(layers->run(op, 0, {}, 0, stream + op.microbatch().value()));
      stream += 2;
    }
    const auto sum = one.weight_gradient(0, stream);
    one.add(other.weight_gradient(0, stream), sum, stream);
    const std::vector<float> found = one.gradients().slots[0];
    REQUIRE(found.size() == whole.size());
    for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == 2 * whole[i]);
  }
}

TEST_CASE("device layers: the host's memory is written again when it has been read") {
  const LayersConfig config = small(Arithmetic::Integer);
  const Schedule schedule = parse_schedule("0F0 0O0 0L0 0F1 0O1 0L1 0B0 0B1");
  for (unsigned seed = 0; seed < 20; ++seed) {
    HostEngine engine(seed);
    HostLayers<float> rank(engine, config, schedule, Rank(0));
    // Each pass on a stream of its own: the second's copy to the host could overtake the first's way back.
    for (const Op op : schedule.queue(Rank(0)))
      static_cast<void>(rank.run(op, 0, {}, 0, 1 + op.microbatch().value()));
    const std::vector<RankGradients> found = {rank.gradients()};
    CHECK(engine.host_buffers() == 1);
    CHECK(first_mismatch(reference_of(config, sizes_of(schedule)), collect_gradients(schedule, found)) == "");
  }
}

TEST_CASE(
    "device layers: ops out of order, twice, of another rank or with a wrong size are refused by name") {
  const LayersConfig config = small(Arithmetic::Float);
  const Schedule schedule = parse_schedule("0F0 0B0 | 1F0 1I0 1W0 | 2F0 2B0");
  HostEngine engine;
  HostLayers<float> rank(engine, config, schedule, Rank(1));
  const auto run = [&](OpKind kind, std::size_t elements) {
    return rank.run(Op(kind, Stage(1), Microbatch(0)), 0, engine.allocate(elements * 4, 1), elements, 1);
  };
  using enum OpKind;
  CHECK_THROWS_WITH(run(BackwardInput, 18), "rank 1 was given 1I0 before what it needs, or twice");
  CHECK_THROWS_WITH(run(Forward, 17), "17 numbers came for 1F0, which takes 18");
  static_cast<void>(run(Forward, 18));
  CHECK_THROWS_AS(run(Forward, 18), std::runtime_error);
  CHECK_THROWS_AS(run(BackwardWeight, 0), std::runtime_error);
  CHECK_THROWS_AS(run(Reload, 0), std::runtime_error);
  CHECK_THROWS_AS(run(Recompute, 0), std::runtime_error);
  static_cast<void>(run(Offload, 0));
  CHECK_THROWS_AS(run(BackwardInput, 18), std::runtime_error);
  static_cast<void>(run(Reload, 0));
  static_cast<void>(run(BackwardInput, 18));
  CHECK_THROWS_WITH(rank.end_step(0), "rank 1 ended step 0 with unit 0 of stage 1 not finished");
  static_cast<void>(run(BackwardWeight, 0));
  CHECK_NOTHROW(rank.end_step(0));
  CHECK_THROWS_WITH(rank.run(forward(Stage(0), Microbatch(0)), 0, {}, 0, 1),
                    "rank 1 was given 0F0, whose stage is on another rank");
}

TEST_CASE("layers that a GPU cannot compute, or not exactly, are refused") {
  LayersConfig config = small(Arithmetic::Integer);
  CHECK_NOTHROW(require_possible_on_device(config, {.stages = 250}, Precision::Bf16));
  CHECK_THROWS_AS(require_possible_on_device(config, {.stages = 251}, Precision::Bf16), InputError);
  CHECK_NOTHROW(require_possible_on_device(config, {.stages = 251}, Precision::Fp32));
  config = small(Arithmetic::Float);
  config.heads = 3;
  CHECK_THROWS_AS(require_possible_on_device(config, {}, Precision::Fp32), InputError);
}

}  // namespace pipeloom::executor::cuda::queued_layers_test
