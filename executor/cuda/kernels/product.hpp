#pragma once

// Products of row-by-row matrices (executor/layers/tensor_math.hpp) in the terms of a BLAS that counts column by column: cuBLAS.
//
// A matrix [r][c] row by row is, column by column, its transpose, c x r with c elements from one column to the next. So C = A B is asked for
// as C^T = B^T A^T: the operands change places, and each is transposed once more than it was.

#include <cstddef>
#include <cstdint>

#include "executor/layers/tensor_math.hpp"

namespace pipeloom::executor::cuda {

/// The three products of a layer, as tensor_math.hpp has them.
enum class Sides : std::uint8_t {
  Plain,            ///< C[i][j] = sum_k A[i][k] B[k][j]
  TransposedLeft,   ///< C[i][j] = sum_k A[k][i] B[k][j]
  TransposedRight,  ///< C[i][j] = sum_k A[i][k] B[j][k]
};

/// C (m x n) = op(first) op(second), column by column: element (i, j) of a matrix lies at i + j * stride.
struct ColumnProduct {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t depth = 0;
  bool transpose_first = false;   ///< first is B
  bool transpose_second = false;  ///< second is A
  std::size_t stride_first = 0;
  std::size_t stride_second = 0;
  std::size_t stride_result = 0;
};

[[nodiscard]] constexpr ColumnProduct column_product(ProductShape shape, Sides sides) {
  ColumnProduct out{.m = shape.columns, .n = shape.rows, .depth = shape.depth};
  out.transpose_first = sides == Sides::TransposedRight;
  out.transpose_second = sides == Sides::TransposedLeft;
  out.stride_first = out.transpose_first ? shape.depth : shape.columns;
  out.stride_second = out.transpose_second ? shape.rows : shape.depth;
  out.stride_result = shape.columns;
  return out;
}

}  // namespace pipeloom::executor::cuda
