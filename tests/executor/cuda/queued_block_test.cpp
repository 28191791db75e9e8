// A block as it is queued on a device, run by the host through the functions of its kernels: against executor/block.cpp.

#include "executor/cuda/queued_block.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "executor/model.hpp"
#include "host_engine.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda {
namespace {

struct Outcome {
  std::vector<float> y;
  std::vector<float> dx;
  std::vector<float> dw;
};

/// Sizes that no team or part divides: 70 rows are 2 parts, 35 columns a team and a bit.
LayersConfig uneven(Arithmetic arithmetic) {
  LayersConfig config;
  config.width = 35;
  config.hidden = arithmetic == Arithmetic::Integer ? 141 : 53;
  config.rows = 70;
  config.arithmetic = arithmetic;
  return config;
}

Tensor rows(const LayersConfig& config, int which) {
  return input_rows(config, Microbatch(which), {0, static_cast<std::size_t>(config.rows)});
}

template <class T>
std::vector<T> as_t(const std::vector<float>& values) {
  std::vector<T> out;
  for (const float value : values) out.push_back(narrowed<T>(value));
  return out;
}

template <class T>
std::vector<float> downloaded(HostEngine& engine, const HostEngine::Buffer& buffer) {
  std::vector<T> values(buffer.bytes() / sizeof(T));
  engine.download(values.data(), buffer.data(), buffer.bytes());
  std::vector<float> out;
  for (const T value : values) out.push_back(widened(value));
  return out;
}

template <class T>
HostEngine::Buffer uploaded(HostEngine& engine, const std::vector<float>& values) {
  const std::vector<T> narrow = as_t<T>(values);
  return engine.upload(narrow.data(), narrow.size() * sizeof(T));
}

std::vector<float> initial_gradient(const BlockShape& shape) {
  return std::vector<float>(shape.parameters(), 2.0F);  // it is added to
}

template <class T>
Outcome on_device(const LayersConfig& config) {
  HostEngine engine;
  const BlockShape shape = config.block();
  const std::vector<T> parameters = as_t<T>(stage_parameters(config, Stage(0)));
  std::vector<float> gradient = initial_gradient(shape);
  QueuedBlock<HostEngine, T> block(engine, shape, static_cast<std::size_t>(config.rows), 1);
  QueuedTape<HostEngine> tape;
  Outcome out;
  const auto y = block.forward(parameters, uploaded<T>(engine, rows(config, 0)), tape);
  out.y = downloaded<T>(engine, y);
  const auto dx = block.input_gradient(parameters, uploaded<T>(engine, rows(config, 1)), tape);
  out.dx = downloaded<T>(engine, dx);
  block.weight_gradient(tape, gradient);
  engine.run_all();
  out.dw = gradient;
  return out;
}

/// `rounding` is applied to what both are given.
template <class T>
Outcome on_cpu(const LayersConfig& config) {
  const auto rounded = [](const std::vector<float>& values) {
    std::vector<float> out;
    for (const T value : as_t<T>(values)) out.push_back(widened(value));
    return out;
  };
  const BlockShape shape = config.block();
  const std::vector<float> parameters = rounded(stage_parameters(config, Stage(0)));
  BlockTape tape;
  Outcome out;
  out.y = block_forward(shape, parameters, rounded(rows(config, 0)), tape);
  out.dx = block_input_gradient(shape, parameters, rounded(rows(config, 1)), tape);
  out.dw = initial_gradient(shape);
  block_weight_gradient(shape, tape, out.dw);
  return out;
}

/// The length of the difference, in lengths of `wanted`.
double distance(std::span<const float> found, std::span<const float> wanted) {
  REQUIRE(found.size() == wanted.size());
  double apart = 0;
  double length = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    apart += std::pow(static_cast<double>(found[i]) - static_cast<double>(wanted[i]), 2);
    length += std::pow(static_cast<double>(wanted[i]), 2);
  }
  return std::sqrt(apart / length);
}

void check_close(const BlockShape& shape, const Outcome& found, const Outcome& wanted, double tolerance) {
  CHECK(distance(found.y, wanted.y) <= tolerance);
  CHECK(distance(found.dx, wanted.dx) <= tolerance);
  const BlockParameters<const float> of_found(shape, found.dw);
  const BlockParameters<const float> of_wanted(shape, wanted.dw);
  CHECK(distance(of_found.gain, of_wanted.gain) <= tolerance);
  CHECK(distance(of_found.shift, of_wanted.shift) <= tolerance);
  CHECK(distance(of_found.w1, of_wanted.w1) <= tolerance);
  CHECK(distance(of_found.b1, of_wanted.b1) <= tolerance);
  CHECK(distance(of_found.w2, of_wanted.w2) <= tolerance);
  CHECK(distance(of_found.b2, of_wanted.b2) <= tolerance);
}

}  // namespace

TEST_CASE("a block on a device in fp32 is the block of the CPU, to rounding") {
  // Both round every sum of at most 70 products, in orders of their own: 70 x 2^-24 = 4e-6 each, a few sums behind each other.
  const LayersConfig config = uneven(Arithmetic::Float);
  check_close(config.block(), on_device<float>(config), on_cpu<float>(config), 2e-5);
}

TEST_CASE(
    "a block on a device in bf16 is the block of the CPU with the same inputs, to the rounding of what is "
    "stored") {
  // Each tensor that is stored is off by 2^-9 of each element at most, 2^-9 / sqrt(3) = 0.0011 of its length. y has 5 such tensors behind
  // it (n, the product, h, g, x + b2) and itself; the gradients up to 9. If all errors pointed the same way it would be 10 x 2^-9 = 0.02.
  const LayersConfig config = uneven(Arithmetic::Float);
  check_close(config.block(), on_device<Bf16>(config), on_cpu<Bf16>(config), 0.02);
  CHECK(distance(on_device<Bf16>(config).y, on_cpu<Bf16>(config).y) > 1e-4);  // it is bf16
}

TEST_CASE("a block on a device is exactly the block of the CPU on integers, in fp32 and in bf16") {
  const LayersConfig config = uneven(Arithmetic::Integer);
  const Outcome right = on_cpu<float>(config);
  for (const Outcome& found : {on_device<float>(config), on_device<Bf16>(config)}) {
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
  Tensor y = block_forward(shape, parameters, rows(config, 0), right);
  auto on_device_y = block.forward(parameters, uploaded<float>(engine, rows(config, 0)), tape);
  CHECK(bytes_of_tape() == bytes_of_right());
  CHECK(engine.held_bytes() == bytes_of_right() + y.size() * sizeof(float));
  y = block_input_gradient(shape, parameters, std::move(y), right);
  on_device_y = block.input_gradient(parameters, std::move(on_device_y), tape);
  CHECK(bytes_of_tape() == bytes_of_right());
  CHECK(engine.held_bytes() == bytes_of_right() + y.size() * sizeof(float));
}

}  // namespace pipeloom::executor::cuda
