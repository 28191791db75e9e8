#include "executor/layers/block.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "executor/layers/tensor_math.hpp"

namespace pipeloom::executor {
namespace {

float normal_distribution(float h) {
  return 0.5F * (1.0F + std::erf(h / std::numbers::sqrt2_v<float>));
}

float normal_density(float h) {
  constexpr float kScale = 0.39894228F;  // 1 / sqrt(2 pi)
  return kScale * std::exp(-0.5F * h * h);
}

float activation(Arithmetic arithmetic, float h) {
  return arithmetic == Arithmetic::Integer ? std::max(h, 0.0F) : h * normal_distribution(h);
}

float activation_slope(Arithmetic arithmetic, float h) {
  if (arithmetic == Arithmetic::Integer) return h > 0.0F ? 1.0F : 0.0F;
  return normal_distribution(h) + h * normal_density(h);
}

}  // namespace

Tensor block_forward(const BlockShape& shape, std::span<const float> parameters, Tensor x, BlockTape& tape,
                     std::span<SliceKeys> slices) {
  if (shape.heads > 0)
    x = attention_forward(shape.attention(), parameters.subspan(shape.linear_parameters()), std::move(x),
                          tape.attention, slices);
  const BlockParameters<const float> p(shape, parameters);
  const std::size_t rows = x.size() / shape.width;
  if (shape.arithmetic == Arithmetic::Float)
    layer_norm(p.gain, p.shift, x, tape.norm);
  else
    tape.norm.normed = x;

  tape.hidden = repeated(p.b1, rows);
  multiply({rows, shape.hidden, shape.width}, tape.norm.normed, p.w1, tape.hidden, Into::Add);
  tape.activated.resize(tape.hidden.size());
  for (std::size_t i = 0; i < tape.hidden.size(); ++i)
    tape.activated[i] = activation(shape.arithmetic, tape.hidden[i]);

  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < shape.width; ++j) x[i * shape.width + j] += p.b2[j];
  multiply({rows, shape.width, shape.hidden}, tape.activated, p.w2, x, Into::Add);
  return x;
}

Tensor block_input_gradient(const BlockShape& shape, std::span<const float> parameters, Tensor e,
                            BlockTape& tape, std::span<SliceKeys> slices) {
  const BlockParameters<const float> p(shape, parameters);
  const std::size_t rows = e.size() / shape.width;
  tape.hidden_gradient.resize(rows * shape.hidden);
  multiply_transposed_right({rows, shape.hidden, shape.width}, e, p.w2, tape.hidden_gradient, Into::Replace);
  for (std::size_t i = 0; i < tape.hidden.size(); ++i)
    tape.hidden_gradient[i] *= activation_slope(shape.arithmetic, tape.hidden[i]);
  discard(tape.hidden);

  tape.output_gradient = e;
  if (shape.arithmetic == Arithmetic::Integer) {
    multiply_transposed_right({rows, shape.width, shape.hidden}, tape.hidden_gradient, p.w1, e, Into::Add);
    return e;
  }
  tape.norm.normed_gradient.resize(e.size());
  multiply_transposed_right({rows, shape.width, shape.hidden}, tape.hidden_gradient, p.w1,
                            tape.norm.normed_gradient, Into::Replace);
  add_norm_input_gradient(p.gain, tape.norm, e);
  discard(tape.norm.inverse_deviation);
  if (shape.heads > 0)
    e = attention_input_gradient(shape.attention(), parameters.subspan(shape.linear_parameters()),
                                 std::move(e), tape.attention, slices);
  return e;
}

void block_weight_gradient(const BlockShape& shape, const BlockTape& tape, std::span<float> gradient) {
  const BlockParameters<float> to(shape, gradient);
  const std::size_t rows = tape.output_gradient.size() / shape.width;
  multiply_transposed_left({shape.hidden, shape.width, rows}, tape.activated, tape.output_gradient, to.w2,
                           Into::Add);
  add_rows(tape.output_gradient, to.b2);
  multiply_transposed_left({shape.width, shape.hidden, rows}, tape.norm.normed, tape.hidden_gradient, to.w1,
                           Into::Add);
  add_rows(tape.hidden_gradient, to.b1);
  if (shape.arithmetic == Arithmetic::Integer) return;
  add_norm_weight_gradient(tape.norm, to.gain, to.shift);
  if (shape.heads > 0)
    attention_weight_gradient(shape.attention(), tape.attention, gradient.subspan(shape.linear_parameters()));
}

}  // namespace pipeloom::executor
