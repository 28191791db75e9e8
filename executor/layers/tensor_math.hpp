#pragma once

// Products of matrices in single precision, row by row: OpenBLAS where it was found (PIPELOOM_BLAS) and is installed, else plain loops.
//
// The same shapes and values give the same bits wherever the operands lie and whichever thread calls: the library runs on the
// calling thread alone (a rank of the pipeline is a thread, so several would disturb each other). The two implementations differ in
// the order of their additions, so their results agree to rounding only, and exactly where every partial sum is an integer of
// at most 2^24.

#include <cstddef>
#include <span>
#include <string_view>

namespace pipeloom::executor {

/// Replace forgets the destination's earlier contents, Add adds to them.
enum class Into : bool { Replace, Add };

/// Sizes of a product: C is rows x columns, and `depth` products are added for every element of it.
struct ProductShape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t depth = 0;
  // Elements from one row of an operand, as it lies in memory, to the next, where it is some columns of a wider matrix.
  // 0: its rows lie one after another.
  std::size_t stride_a = 0;
  std::size_t stride_b = 0;
  std::size_t stride_c = 0;
};

/// C[i][j] = sum_k A[i][k] B[k][j]: a layer's output from its input and weights.
/// REQUIRES of all three: no overlap; spans that begin with the first element and reach the last one.
void multiply(ProductShape shape, std::span<const float> a, std::span<const float> b, std::span<float> c,
              Into into);

/// C[i][j] = sum_k A[k][i] B[k][j]: the gradient of the weights from input and gradient of the output.
void multiply_transposed_left(ProductShape shape, std::span<const float> a, std::span<const float> b,
                              std::span<float> c, Into into);

/// C[i][j] = sum_k A[i][k] B[j][k]: the gradient of the input from the gradient of the output and weights.
void multiply_transposed_right(ProductShape shape, std::span<const float> a, std::span<const float> b,
                               std::span<float> c, Into into);

/// "OpenBLAS 0.3.21" or "plain loops": a measurement must name it. Loads the library, which sets a variable of the
/// environment: call it, or a product, before other threads start.
[[nodiscard]] std::string_view multiplier_name();

}  // namespace pipeloom::executor
