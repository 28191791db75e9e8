#include "executor/layers/tensor.hpp"

#include <cmath>
#include <cstddef>

namespace pipeloom::executor {
namespace {

constexpr float kVarianceFloor = 1e-5F;

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

}  // namespace

void layer_norm(std::span<const float> gain, std::span<const float> shift, std::span<const float> x,
                NormTape& tape) {
  const std::size_t width = gain.size();
  const std::size_t rows = x.size() / width;
  tape.standardized.resize(x.size());
  tape.inverse_deviation.resize(rows);
  tape.normed.resize(x.size());
  for (std::size_t i = 0; i < rows; ++i)
    standardize(x.subspan(i * width, width), std::span(tape.standardized).subspan(i * width, width),
                tape.inverse_deviation[i]);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < width; ++j)
      tape.normed[i * width + j] = tape.standardized[i * width + j] * gain[j] + shift[j];
}

void add_norm_input_gradient(std::span<const float> gain, const NormTape& tape, std::span<float> dx) {
  const std::size_t width = gain.size();
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

void add_norm_weight_gradient(const NormTape& tape, std::span<float> gain, std::span<float> shift) {
  add_rows(tape.normed_gradient, shift);
  for (std::size_t i = 0; i < tape.standardized.size(); ++i)
    gain[i % gain.size()] += tape.normed_gradient[i] * tape.standardized[i];
}

}  // namespace pipeloom::executor
