#pragma once

// Matrices as they lie in memory, row by row, and the layers' operations on rows: sums, and LayerNorm.

#include <cstddef>
#include <span>
#include <vector>

namespace pipeloom::executor {

using Tensor = std::vector<float>;

/// rows times the same row: where a bias is added before the product is.
[[nodiscard]] inline Tensor repeated(std::span<const float> row, std::size_t rows) {
  Tensor out;
  out.reserve(rows * row.size());
  for (std::size_t i = 0; i < rows; ++i) out.insert(out.end(), row.begin(), row.end());
  return out;
}

/// sum[j] += the elements of column j, rows in their order: the gradient of a bias.
inline void add_rows(std::span<const float> rows, std::span<float> sum) {
  for (std::size_t first = 0; first < rows.size(); first += sum.size())
    for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += rows[first + j];
}

/// Empties it and gives its memory back, which clear() would not.
inline void discard(Tensor& tensor) {
  Tensor().swap(tensor);
}

/// Numbers that LayerNorm (Ba, Kiros and Hinton 2016) of rows keeps of one pass; empty: not made yet, or no longer needed. LayerNorm comes
/// before a block's attention and before its linear layers.
///
///   xhat[i] = (x[i] - mean) / sqrt(variance + 1e-5)   over a row
///   n = xhat gain + shift
///
/// and backward, with v = dn gain for dn = dL/dn,
///
///   dx     = (v - mean(v) - xhat mean(v xhat)) / sqrt(variance + 1e-5)   over a row
///   dgain  = sum dn xhat, dshift = sum dn                                over the rows
///
/// Matrices are [rows][width]; gain and shift are [width].
struct NormTape {
  Tensor standardized;       ///< xhat [rows][width]
  Tensor inverse_deviation;  ///< 1 / sqrt(variance + 1e-5) [rows]
  Tensor normed;             ///< n [rows][width]
  Tensor normed_gradient;    ///< dn [rows][width]; the backward pass puts it here
};

/// Calls fn(tensor) for each of them, in a fixed order. `Tape` is NormTape or const NormTape.
template <class Tape, class Fn>
void for_each_norm_tensor(Tape& tape, Fn&& fn) {
  fn(tape.standardized);
  fn(tape.inverse_deviation);
  fn(tape.normed);
  fn(tape.normed_gradient);
}

/// Fills all of the tape but normed_gradient.
void layer_norm(std::span<const float> gain, std::span<const float> shift, std::span<const float> x,
                NormTape& tape);

/// dx += the gradient above. REQUIRES: a whole tape.
void add_norm_input_gradient(std::span<const float> gain, const NormTape& tape, std::span<float> dx);

/// gain += dgain, shift += dshift. REQUIRES: standardized and normed_gradient.
void add_norm_weight_gradient(const NormTape& tape, std::span<float> gain, std::span<float> shift);

}  // namespace pipeloom::executor
