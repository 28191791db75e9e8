#include "executor/block.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "executor/tensor_math.hpp"

namespace pipeloom::executor {
namespace {

constexpr float kVarianceFloor = 1e-5F;

/// rows times the same row.
Tensor repeated(std::span<const float> row, std::size_t rows) {
  Tensor out;
  out.reserve(rows * row.size());
  for (std::size_t i = 0; i < rows; ++i) out.insert(out.end(), row.begin(), row.end());
  return out;
}

void standardize(std::span<const float> x, std::span<float> out, float& inverse_deviation) {
  const auto width = static_cast<float>(x.size());
  float mean = 0.0F;
  for (const float value : x) mean += value;
  mean /= width;
  float variance = 0.0F;
  for (const float value : x) variance += (value - mean) * (value - mean);
  inverse_deviation = 1.0F / std::sqrt(variance / width + kVarianceFloor);
  for (std::size_t j = 0; j < x.size(); ++j) out[j] = (x[j] - mean) * inverse_deviation;
}

void norm_forward(const BlockShape& shape, const BlockParameters<const float>& p, std::span<const float> x,
                  BlockTape& tape) {
  const std::size_t rows = x.size() / shape.width;
  tape.standardized.resize(x.size());
  tape.inverse_deviation.resize(rows);
  tape.normed.resize(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    standardize(x.subspan(i * shape.width, shape.width),
                std::span(tape.standardized).subspan(i * shape.width, shape.width),
                tape.inverse_deviation[i]);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < shape.width; ++j)
      tape.normed[i * shape.width + j] = tape.standardized[i * shape.width + j] * p.gain[j] + p.shift[j];
}

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

/// dx += LayerNorm'(dn gain). For a row with v = dn gain: (v - mean(v) - xhat mean(v xhat)) / deviation.
void add_norm_gradient(const BlockShape& shape, std::span<const float> gain, const BlockTape& tape,
                       Tensor& dx) {
  const std::size_t width = shape.width;
  const auto scale = 1.0F / static_cast<float>(width);
  for (std::size_t i = 0; i < tape.inverse_deviation.size(); ++i) {
    const float* dn = &tape.normed_gradient[i * width];
    const float* xhat = &tape.standardized[i * width];
    float mean = 0.0F;
    float along = 0.0F;
    for (std::size_t j = 0; j < width; ++j) {
      mean += dn[j] * gain[j];
      along += dn[j] * gain[j] * xhat[j];
    }
    for (std::size_t j = 0; j < width; ++j)
      dx[i * width + j] +=
          (dn[j] * gain[j] - mean * scale - xhat[j] * along * scale) * tape.inverse_deviation[i];
  }
}

void add_rows(std::span<const float> rows, std::span<float> sum) {
  for (std::size_t first = 0; first < rows.size(); first += sum.size())
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += rows[first + j];
}

void free(Tensor& tensor) {
  Tensor().swap(tensor);
}

}  // namespace

Tensor block_forward(const BlockShape& shape, std::span<const float> parameters, Tensor x, BlockTape& tape) {
  const BlockParameters<const float> p(shape, parameters);
  const std::size_t rows = x.size() / shape.width;
  if (shape.arithmetic == Arithmetic::Float)
    norm_forward(shape, p, x, tape);
  else
    tape.normed = x;

  tape.hidden = repeated(p.b1, rows);
  multiply({rows, shape.hidden, shape.width}, tape.normed, p.w1, tape.hidden, Into::Add);
  tape.activated.resize(tape.hidden.size());
  for (std::size_t i = 0; i < tape.hidden.size(); ++i)
    tape.activated[i] = activation(shape.arithmetic, tape.hidden[i]);

  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < shape.width; ++j) x[i * shape.width + j] += p.b2[j];
  multiply({rows, shape.width, shape.hidden}, tape.activated, p.w2, x, Into::Add);
  return x;
}

Tensor block_input_gradient(const BlockShape& shape, std::span<const float> parameters, Tensor e,
                            BlockTape& tape) {
  const BlockParameters<const float> p(shape, parameters);
  const std::size_t rows = e.size() / shape.width;
  tape.hidden_gradient.resize(rows * shape.hidden);
  multiply_transposed_right({rows, shape.hidden, shape.width}, e, p.w2, tape.hidden_gradient, Into::Replace);
  for (std::size_t i = 0; i < tape.hidden.size(); ++i)
    tape.hidden_gradient[i] *= activation_slope(shape.arithmetic, tape.hidden[i]);
  free(tape.hidden);

  tape.output_gradient = e;
  if (shape.arithmetic == Arithmetic::Integer) {
    multiply_transposed_right({rows, shape.width, shape.hidden}, tape.hidden_gradient, p.w1, e, Into::Add);
    return e;
  }
  tape.normed_gradient.resize(e.size());
  multiply_transposed_right({rows, shape.width, shape.hidden}, tape.hidden_gradient, p.w1,
                            tape.normed_gradient, Into::Replace);
  add_norm_gradient(shape, p.gain, tape, e);
  free(tape.inverse_deviation);
  return e;
}

void block_weight_gradient(const BlockShape& shape, const BlockTape& tape, std::span<float> gradient) {
  const BlockParameters<float> to(shape, gradient);
  const std::size_t rows = tape.output_gradient.size() / shape.width;
  multiply_transposed_left({shape.hidden, shape.width, rows}, tape.activated, tape.output_gradient, to.w2,
                           Into::Add);
  add_rows(tape.output_gradient, to.b2);
  multiply_transposed_left({shape.width, shape.hidden, rows}, tape.normed, tape.hidden_gradient, to.w1,
                           Into::Add);
  add_rows(tape.hidden_gradient, to.b1);
  if (shape.arithmetic == Arithmetic::Integer) return;
  add_rows(tape.normed_gradient, to.shift);
  for (std::size_t i = 0; i < tape.standardized.size(); ++i)
    to.gain[i % shape.width] += tape.normed_gradient[i] * tape.standardized[i];
}

}  // namespace pipeloom::executor
