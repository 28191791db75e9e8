#pragma once

// The computation of every kernel, as functions of a cell or a row: nvcc wraps them in kernels (kernels.cu), tests without a device call
// them in loops. T is float or Bf16; arithmetic is in float whatever T is, losses in double. No kernel adds with atomics, so the same
// inputs give the same bits in every run.
//
//   cells   operator()(row, column): one thread each; neighbouring threads have neighbouring columns
//   rows    operator()(team, row): a team of 32 lanes each (WarpTeam in kernels.cu, HostTeam in tests)
//
// A team has each(n, fn), which calls fn(j) for every j < n, and sum(n, fn), which adds fn(j) over them in an order of its own: lane l
// adds j = l, l + 32, ..., then lanes are added in pairs 16, 8, 4, 2 and 1 apart.

#include <cstddef>

#include "executor/cuda/kernels/numbers.hpp"

namespace pipeloom::executor::cuda {

inline constexpr std::size_t kLanes = 32;

/// Cells [rows][columns]: x += bias.
template <class T>
struct AddBias {
  std::size_t columns = 0;
  const T* bias = nullptr;  ///< [columns]
  T* x = nullptr;

  PIPELOOM_HOST_DEVICE void operator()(std::size_t row, std::size_t column) const {
    T& cell = x[row * columns + column];
    cell = narrowed<T>(widened(cell) + widened(bias[column]));
  }
};

/// Cells: h += b1, g = GeLU(h) of the h that is kept.
template <class T>
struct BiasActivation {
  std::size_t columns = 0;
  Arithmetic arithmetic = Arithmetic::Float;
  const T* bias = nullptr;  ///< [columns]
  T* hidden = nullptr;
  T* activated = nullptr;

  PIPELOOM_HOST_DEVICE void operator()(std::size_t row, std::size_t column) const {
    const std::size_t i = row * columns + column;
    hidden[i] = narrowed<T>(widened(hidden[i]) + widened(bias[column]));
    activated[i] = narrowed<T>(activation(arithmetic, widened(hidden[i])));
  }
};

/// Cells: dh = dg GeLU'(h), in place.
template <class T>
struct ActivationGradient {
  std::size_t columns = 0;
  Arithmetic arithmetic = Arithmetic::Float;
  const T* hidden = nullptr;
  T* gradient = nullptr;

  PIPELOOM_HOST_DEVICE void operator()(std::size_t row, std::size_t column) const {
    const std::size_t i = row * columns + column;
    gradient[i] = narrowed<T>(widened(gradient[i]) * activation_slope(arithmetic, widened(hidden[i])));
  }
};

/// Rows: xhat = (x - mean) / sqrt(variance + 1e-5), n = xhat gain + shift. The deviation is kept in float.
template <class T>
struct NormForward {
  std::size_t width = 0;
  const T* x = nullptr;
  const T* gain = nullptr;   ///< [width]
  const T* shift = nullptr;  ///< [width]
  T* standardized = nullptr;
  float* inverse_deviation = nullptr;  ///< [rows]
  T* normed = nullptr;

  template <class Team>
  PIPELOOM_HOST_DEVICE void operator()(const Team& team, std::size_t row) const {
    constexpr float kVarianceFloor = 1e-5F;
    const std::size_t first = row * width;
    const auto count = static_cast<float>(width);
    const float mean = team.sum(width, [&](std::size_t j) { return widened(x[first + j]); }) / count;
    const float squares = team.sum(width, [&](std::size_t j) {
      const float distance = widened(x[first + j]) - mean;
      return distance * distance;
    });
    const float inverse = 1.0F / std::sqrt(squares / count + kVarianceFloor);
    inverse_deviation[row] = inverse;
    team.each(width, [&](std::size_t j) {
      const float value = (widened(x[first + j]) - mean) * inverse;
      standardized[first + j] = narrowed<T>(value);
      normed[first + j] = narrowed<T>(value * widened(gain[j]) + widened(shift[j]));
    });
  }
};

/// Rows: dx = e + (v - mean(v) - xhat mean(v xhat)) / deviation, with v = dn gain.
template <class T>
struct NormBackward {
  std::size_t width = 0;
  const T* normed_gradient = nullptr;
  const T* gain = nullptr;  ///< [width]
  const T* standardized = nullptr;
  const float* inverse_deviation = nullptr;  ///< [rows]
  const T* output_gradient = nullptr;
  T* input_gradient = nullptr;

  template <class Team>
  PIPELOOM_HOST_DEVICE void operator()(const Team& team, std::size_t row) const {
    const std::size_t first = row * width;
    const auto v = [&](std::size_t j) { return widened(normed_gradient[first + j]) * widened(gain[j]); };
    const auto xhat = [&](std::size_t j) { return widened(standardized[first + j]); };
    const float scale = 1.0F / static_cast<float>(width);
    const float mean = team.sum(width, v) * scale;
    const float along = team.sum(width, [&](std::size_t j) { return v(j) * xhat(j); }) * scale;
    team.each(width, [&](std::size_t j) {
      const float through_norm = (v(j) - mean - xhat(j) * along) * inverse_deviation[row];
      input_gradient[first + j] = narrowed<T>(widened(output_gradient[first + j]) + through_norm);
    });
  }
};

/// Rows: y becomes y - target, the gradient of the loss; half of its square, added over the row, is the row's loss.
template <class T>
struct SquaredError {
  std::size_t width = 0;
  const float* target = nullptr;
  T* y = nullptr;
  double* loss = nullptr;  ///< [rows]; none: the loss is known already

  template <class Team>
  PIPELOOM_HOST_DEVICE void operator()(const Team& team, std::size_t row) const {
    const std::size_t first = row * width;
    const auto distance = [&](std::size_t j) { return widened(y[first + j]) - target[first + j]; };
    if (loss != nullptr)
      loss[row] = team.sum(width, [&](std::size_t j) {
        return 0.5 * static_cast<double>(distance(j)) * static_cast<double>(distance(j));
      });
    team.each(width, [&](std::size_t j) { y[first + j] = narrowed<T>(distance(j)); });
  }
};

/// One row: all of `from`, added.
struct Total {
  std::size_t count = 0;
  const double* from = nullptr;
  double* to = nullptr;

  template <class Team>
  PIPELOOM_HOST_DEVICE void operator()(const Team& team, std::size_t /*row*/) const {
    *to = team.sum(count, [&](std::size_t j) { return from[j]; });
  }
};

/// Cells [1][columns]: to += from. Gradients of one replica of a stage, added to another's.
struct AddTo {
  const float* from = nullptr;
  float* to = nullptr;

  PIPELOOM_HOST_DEVICE void operator()(std::size_t /*row*/, std::size_t column) const {
    to[column] += from[column];
  }
};

/// Rows of one part of a sum over rows: one thread adds that many.
inline constexpr std::size_t kRowsOfPart = 64;
[[nodiscard]] constexpr std::size_t parts_of(std::size_t rows) {
  return (rows + kRowsOfPart - 1) / kRowsOfPart;
}

/// Cells [parts][columns]: the sum over the part's rows of a, or of a b. First half of a sum over rows.
template <class T>
struct ColumnPart {
  std::size_t rows = 0;
  std::size_t columns = 0;
  const T* a = nullptr;
  const T* b = nullptr;   ///< none: a alone
  float* part = nullptr;  ///< [parts_of(rows)][columns]

  PIPELOOM_HOST_DEVICE void operator()(std::size_t which, std::size_t column) const {
    const std::size_t first = which * kRowsOfPart;
    const std::size_t last = first + kRowsOfPart < rows ? first + kRowsOfPart : rows;
    float sum = 0.0F;
    for (std::size_t i = first * columns + column; i < last * columns; i += columns)
      sum += b == nullptr ? widened(a[i]) : widened(a[i]) * widened(b[i]);
    part[which * columns + column] = sum;
  }
};

/// Cells [1][columns]: adds the parts to the gradient. Second half.
struct ColumnTotal {
  std::size_t parts = 0;
  std::size_t columns = 0;
  const float* part = nullptr;
  float* gradient = nullptr;  ///< [columns]

  PIPELOOM_HOST_DEVICE void operator()(std::size_t /*row*/, std::size_t column) const {
    float sum = 0.0F;
    for (std::size_t which = 0; which < parts; ++which) sum += part[which * columns + column];
    gradient[column] += sum;
  }
};

}  // namespace pipeloom::executor::cuda
