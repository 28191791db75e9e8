#pragma once

// Matrices as they lie in memory, row by row, and the little that layers do with rows.

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

}  // namespace pipeloom::executor
