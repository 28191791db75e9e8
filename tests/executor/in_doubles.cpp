#include "executor/in_doubles.hpp"

#include <algorithm>
#include <cmath>

#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor {
namespace {

/// LayerNorm of one row.
Doubles normed(const Doubles& x, const double* gain, const double* shift) {
  const auto width = static_cast<double>(x.size());
  double mean = 0;
  double square = 0;
  for (const double value : x) mean += value / width;
  for (const double value : x) square += (value - mean) * (value - mean) / width;
  Doubles n;
  for (std::size_t j = 0; j < x.size(); ++j)
    n.push_back((x[j] - mean) / std::sqrt(square + 1e-5) * gain[j] + shift[j]);
  return n;
}

/// The linear layers, of one row.
Doubles row_through_layers(const BlockShape& shape, const Doubles& p, const Doubles& x) {
  const std::size_t d = shape.width;
  const std::size_t h = shape.hidden;
  const double* gain = p.data();
  const double* shift = gain + d;
  const double* w1 = shift + d;
  const double* b1 = w1 + d * h;
  const double* w2 = b1 + h;
  const double* b2 = w2 + h * d;
  const Doubles n = normed(x, gain, shift);
  Doubles y = x;
  for (std::size_t j = 0; j < d; ++j) y[j] += b2[j];
  for (std::size_t k = 0; k < h; ++k) {
    double z = b1[k];
    for (std::size_t j = 0; j < d; ++j) z += n[j] * w1[j * h + k];
    const double g = z * 0.5 * std::erfc(-z / std::sqrt(2.0));
    for (std::size_t j = 0; j < d; ++j) y[j] += g * w2[k * d + j];
  }
  return y;
}

Doubles row_of(const Doubles& x, std::size_t width, std::size_t row) {
  const auto first = x.begin() + static_cast<std::ptrdiff_t>(row * width);
  return {first, first + static_cast<std::ptrdiff_t>(width)};
}

/// o of row i and head h from [q k v] of all rows.
void add_head(const BlockShape& shape, const Doubles& qkv, std::size_t i, std::size_t h, Doubles& o) {
  const std::size_t d = shape.width;
  const std::size_t c = d / shape.heads;
  Doubles weight;
  double sum = 0;
  for (std::size_t j = 0; j <= i; ++j) {
    double score = 0;
    for (std::size_t a = h * c; a < (h + 1) * c; ++a) score += qkv[i * 3 * d + a] * qkv[j * 3 * d + d + a];
    weight.push_back(std::exp(score / std::sqrt(static_cast<double>(c))));
    sum += weight.back();
  }
  for (std::size_t j = 0; j <= i; ++j)
    for (std::size_t a = h * c; a < (h + 1) * c; ++a) o[a] += weight[j] / sum * qkv[j * 3 * d + 2 * d + a];
}

Doubles through_attention(const BlockShape& shape, const Doubles& p, const Doubles& x) {
  const std::size_t d = shape.width;
  const double* gain = p.data() + shape.linear_parameters();
  const double* shift = gain + d;
  const double* wqkv = shift + d;
  const double* bqkv = wqkv + 3 * d * d;
  const double* wo = bqkv + 3 * d;
  const double* bo = wo + d * d;
  Doubles y = x;
  Doubles qkv;
  for (std::size_t i = 0; i * d < x.size(); ++i) {
    const Doubles n = normed(row_of(x, d, i), gain, shift);
    for (std::size_t k = 0; k < 3 * d; ++k) {
      qkv.push_back(bqkv[k]);
      for (std::size_t j = 0; j < d; ++j) qkv.back() += n[j] * wqkv[j * 3 * d + k];
    }
    Doubles o(d);
    for (std::size_t h = 0; h < shape.heads; ++h) add_head(shape, qkv, i, h, o);
    for (std::size_t j = 0; j < d; ++j) {
      y[i * d + j] += bo[j];
      for (std::size_t k = 0; k < d; ++k) y[i * d + j] += o[k] * wo[k * d + j];
    }
  }
  return y;
}

}  // namespace

Doubles widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

Doubles through_block(const BlockShape& shape, const Doubles& p, const Doubles& x) {
  const Doubles mixed = shape.heads > 0 ? through_attention(shape, p, x) : x;
  Doubles y;
  for (std::size_t i = 0; i * shape.width < x.size(); ++i)
    for (const double value : row_through_layers(shape, p, row_of(mixed, shape.width, i))) y.push_back(value);
  return y;
}

double weighted_output(const BlockShape& shape, const Doubles& p, const Doubles& x, const Doubles& e) {
  double sum = 0;
  const Doubles y = through_block(shape, p, x);
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * e[i];
  return sum;
}

Doubles differences(Doubles at, const std::function<double(const Doubles&)>& fn) {
  constexpr double kStep = 1e-5;
  Doubles slopes;
  for (double& value : at) {
    const double middle = value;
    value = middle + kStep;
    const double above = fn(at);
    value = middle - kStep;
    slopes.push_back((above - fn(at)) / (2 * kStep));
    value = middle;
  }
  return slopes;
}

double largest_gap(std::span<const float> found, const Doubles& wanted) {
  REQUIRE(found.size() == wanted.size());
  double gap = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    gap = std::max(gap, std::fabs(static_cast<double>(found[i]) - wanted[i]));
  return gap;
}

}  // namespace pipeloom::executor
