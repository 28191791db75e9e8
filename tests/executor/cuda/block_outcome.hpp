#pragma once

// One block, its output and gradients: on a device of any kind, and on the CPU from the same numbers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "executor/cuda/layers/queued_block.hpp"
#include "executor/layers/model.hpp"

namespace pipeloom::executor::cuda {

struct Outcome {
  std::vector<float> y;
  std::vector<float> dx;
  std::vector<float> dw;
};

/// Sizes that no team or part divides: 70 rows are 2 parts, 35 columns a team and a bit.
inline LayersConfig uneven(Arithmetic arithmetic) {
  LayersConfig config;
  config.width = 35;
  config.hidden = arithmetic == Arithmetic::Integer ? 141 : 53;
  config.rows = 70;
  config.arithmetic = arithmetic;
  return config;
}

inline Tensor all_rows(const LayersConfig& config, int which) {
  return input_rows(config, Microbatch(which), {0, static_cast<std::size_t>(config.rows)});
}

/// What gradients are before anything is added.
inline std::vector<float> initial_gradient(const BlockShape& shape) {
  return std::vector<float>(shape.parameters(), 2.0F);
}

template <class T>
std::vector<T> as_t(const std::vector<float>& values) {
  std::vector<T> out;
  for (const float value : values) out.push_back(narrowed<T>(value));
  return out;
}

/// What T makes of them.
template <class T>
std::vector<float> rounded(const std::vector<float>& values) {
  std::vector<float> out;
  for (const float value : values) out.push_back(widened(narrowed<T>(value)));
  return out;
}

template <class T, class Engine>
typename Engine::Buffer uploaded(Engine& engine, const std::vector<float>& values) {
  const std::vector<T> narrow = as_t<T>(values);
  return engine.upload(narrow.data(), narrow.size() * sizeof(T));
}

template <class T, class Engine>
std::vector<float> downloaded(Engine& engine, const typename Engine::Buffer& buffer,
                              typename Engine::Stream behind) {
  wait_until_done(engine, behind);
  std::vector<T> values(buffer.bytes() / sizeof(T));
  engine.download(values.data(), buffer.data(), buffer.bytes());
  std::vector<float> out;
  for (const T value : values) out.push_back(widened(value));
  return out;
}

/// Forward, input gradient and weight gradient. `engine` has wait_until_done(engine, stream).
template <class T, class Engine>
Outcome on_device(Engine& engine, const LayersConfig& config, typename Engine::Stream stream) {
  const BlockShape shape = config.block();
  const auto weights = uploaded<T>(engine, stage_parameters(config, Stage(0)));
  const std::span<const T> parameters(weights.template as<T>(), shape.parameters());
  const auto gradient = uploaded<float>(engine, initial_gradient(shape));
  QueuedBlock<Engine, T> block(engine, shape, static_cast<std::size_t>(config.rows), stream);
  QueuedTape<Engine> tape;
  Outcome out;
  const auto y = block.forward(parameters, uploaded<T>(engine, all_rows(config, 0)), tape);
  out.y = downloaded<T>(engine, y, stream);
  const auto dx = block.input_gradient(parameters, uploaded<T>(engine, all_rows(config, 1)), tape);
  out.dx = downloaded<T>(engine, dx, stream);
  block.weight_gradient(tape, {gradient.template as<float>(), shape.parameters()});
  out.dw = downloaded<float>(engine, gradient, stream);
  return out;
}

/// executor/layers/block.cpp, given what the device is given in T.
template <class T>
Outcome on_cpu(const LayersConfig& config) {
  const BlockShape shape = config.block();
  const std::vector<float> parameters = rounded<T>(stage_parameters(config, Stage(0)));
  BlockTape tape;
  Outcome out;
  out.y = block_forward(shape, parameters, rounded<T>(all_rows(config, 0)), tape);
  out.dx = block_input_gradient(shape, parameters, rounded<T>(all_rows(config, 1)), tape);
  out.dw = initial_gradient(shape);
  block_weight_gradient(shape, tape, out.dw);
  return out;
}

/// The length of the difference, in lengths of `wanted`; infinite where something is NaN.
inline double distance(std::span<const float> found, std::span<const float> wanted) {
  if (found.size() != wanted.size()) return HUGE_VAL;
  double apart = 0;
  double length = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    apart += std::pow(static_cast<double>(found[i]) - static_cast<double>(wanted[i]), 2);
    length += std::pow(static_cast<double>(wanted[i]), 2);
  }
  const double ratio = std::sqrt(apart / length);
  return std::isnan(ratio) ? HUGE_VAL : ratio;
}

/// The largest distance of y, dx and each part of the gradient.
inline double distance(const BlockShape& shape, const Outcome& found, const Outcome& wanted) {
  const BlockParameters<const float> a(shape, found.dw);
  const BlockParameters<const float> b(shape, wanted.dw);
  return std::max({distance(found.y, wanted.y), distance(found.dx, wanted.dx), distance(a.gain, b.gain),
                   distance(a.shift, b.shift), distance(a.w1, b.w1), distance(a.b1, b.b1),
                   distance(a.w2, b.w2), distance(a.b2, b.b2)});
}

/// How far a block in T may be from the CPU's, given the same numbers.
///
/// float: both round every sum of at most 70 products, in orders of their own: 70 x 2^-24 = 4e-6 each, a few sums behind each other.
/// Bf16: each tensor that is stored is off by at most 2^-9 of each element. y has 5 of them behind it (n, the product, h, g, x + b2) and
/// is one, gradients have up to 10 (those, and dg, dh, dn, dx): 10 x 2^-9 = 0.02 if all errors pointed the same way.
template <class T>
constexpr double kBlockTolerance = sizeof(T) == sizeof(float) ? 2e-5 : 0.02;

}  // namespace pipeloom::executor::cuda
