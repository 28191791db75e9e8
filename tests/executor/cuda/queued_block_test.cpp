// A block as it is queued on a device, run by the host through the functions of its kernels: against executor/layers/block.cpp.

#include "executor/cuda/layers/queued_block.hpp"

#include <cstddef>
#include <utility>

#include "executor/cuda/block_outcome.hpp"
#include "executor/cuda/host_engine.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::queued_block_test {
namespace {

template <class T>
Outcome on_host(const LayersConfig& config) {
  HostEngine engine;
  return on_device<T>(engine, config, 1);
}

}  // namespace

TEST_CASE("a block on a device is the block of the CPU to rounding, in fp32 and in bf16") {
  const LayersConfig config = uneven(Arithmetic::Float);
  const BlockShape shape = config.block();
  CHECK(distance(shape, on_host<float>(config), on_cpu<float>(config)) <= kBlockTolerance<float>);
  const double of_bf16 = distance(shape, on_host<Bf16>(config), on_cpu<Bf16>(config));
  CHECK(of_bf16 <= kBlockTolerance<Bf16>);
  CHECK(of_bf16 > 1e-4);  // it is bf16
}

TEST_CASE("a block on a device is exactly the block of the CPU on integers, in fp32 and in bf16") {
  const LayersConfig config = uneven(Arithmetic::Integer);
  const Outcome right = on_cpu<float>(config);
  for (const Outcome& found : {on_host<float>(config), on_host<Bf16>(config)}) {
    CHECK(found.y == right.y);
    CHECK(found.dx == right.dx);
    CHECK(found.dw == right.dw);
  }
}

TEST_CASE("a block frees on a device what it frees on the CPU") {
  const LayersConfig config = uneven(Arithmetic::Float);
  HostEngine engine;
  const BlockShape shape = config.block();
  const auto parameters = stage_parameters(config, Stage(0));
  QueuedBlock<HostEngine, float> block(engine, shape, static_cast<std::size_t>(config.rows), 1);
  QueuedTape<HostEngine> tape;
  BlockTape right;
  const auto bytes_of_right = [&] {
    std::size_t bytes = 0;
    for_each_tensor(right, [&](const Tensor& tensor) { bytes += tensor.size() * sizeof(float); });
    return bytes;
  };
  const auto bytes_of_tape = [&] {
    std::size_t bytes = 0;
    for_each_buffer(tape, [&](const HostEngine::Buffer& buffer) { bytes += buffer.bytes(); });
    return bytes;
  };
  Tensor y = block_forward(shape, parameters, all_rows(config, 0), right);
  auto on_device_y = block.forward(parameters, uploaded<float>(engine, all_rows(config, 0)), tape);
  CHECK(bytes_of_tape() == bytes_of_right());
  CHECK(engine.held_bytes() == bytes_of_right() + y.size() * sizeof(float));
  y = block_input_gradient(shape, parameters, std::move(y), right);
  on_device_y = block.input_gradient(parameters, std::move(on_device_y), tape);
  CHECK(bytes_of_tape() == bytes_of_right());
  CHECK(engine.held_bytes() == bytes_of_right() + y.size() * sizeof(float));
}

}  // namespace pipeloom::executor::cuda::queued_block_test
