#include "executor/tensor_math.hpp"

#include <algorithm>

#ifdef PIPELOOM_OPENBLAS
#include <cblas.h>
#endif

namespace pipeloom::executor {
namespace {

std::size_t stride_or(std::size_t stride, std::size_t width) {
  return stride == 0 ? width : stride;
}

}  // namespace

#ifdef PIPELOOM_OPENBLAS

namespace {

blasint narrow(std::size_t size) {
  return static_cast<blasint>(size);
}

/// How an operand lies in memory: rows of `stride` elements.
struct Operand {
  std::span<const float> values;
  CBLAS_TRANSPOSE transpose = CblasNoTrans;
  std::size_t stride = 0;
};

void gemm(ProductShape shape, const Operand& a, const Operand& b, std::span<float> c, Into into) {
  [[maybe_unused]] static const bool single_threaded = (openblas_set_num_threads(1), true);
  cblas_sgemm(CblasRowMajor, a.transpose, b.transpose, narrow(shape.rows), narrow(shape.columns),
              narrow(shape.depth), 1.0F, a.values.data(), narrow(a.stride), b.values.data(), narrow(b.stride),
              into == Into::Add ? 1.0F : 0.0F, c.data(), narrow(stride_or(shape.stride_c, shape.columns)));
}

}  // namespace

void multiply(ProductShape shape, std::span<const float> a, std::span<const float> b, std::span<float> c,
              Into into) {
  gemm(shape, {a, CblasNoTrans, stride_or(shape.stride_a, shape.depth)},
       {b, CblasNoTrans, stride_or(shape.stride_b, shape.columns)}, c, into);
}

void multiply_transposed_left(ProductShape shape, std::span<const float> a, std::span<const float> b,
                              std::span<float> c, Into into) {
  gemm(shape, {a, CblasTrans, stride_or(shape.stride_a, shape.rows)},
       {b, CblasNoTrans, stride_or(shape.stride_b, shape.columns)}, c, into);
}

void multiply_transposed_right(ProductShape shape, std::span<const float> a, std::span<const float> b,
                               std::span<float> c, Into into) {
  gemm(shape, {a, CblasNoTrans, stride_or(shape.stride_a, shape.depth)},
       {b, CblasTrans, stride_or(shape.stride_b, shape.depth)}, c, into);
}

std::string_view multiplier_name() {
  return "OpenBLAS " PIPELOOM_OPENBLAS;
}

#else

namespace {

std::span<float> row_of(const ProductShape& shape, std::span<float> c, std::size_t row) {
  return c.subspan(row * stride_or(shape.stride_c, shape.columns), shape.columns);
}

void prepare(const ProductShape& shape, std::span<float> c, Into into) {
  if (into == Into::Add) return;
  for (std::size_t i = 0; i < shape.rows; ++i) {
    const std::span<float> row = row_of(shape, c, i);
    std::fill(row.begin(), row.end(), 0.0F);
  }
}

/// row += factor * other: what the compiler turns into vector instructions.
void add_scaled(std::span<float> row, float factor, std::span<const float> other) {
  for (std::size_t j = 0; j < row.size(); ++j) row[j] += factor * other[j];
}

}  // namespace

void multiply(ProductShape shape, std::span<const float> a, std::span<const float> b, std::span<float> c,
              Into into) {
  const std::size_t a_stride = stride_or(shape.stride_a, shape.depth);
  const std::size_t b_stride = stride_or(shape.stride_b, shape.columns);
  prepare(shape, c, into);
  for (std::size_t i = 0; i < shape.rows; ++i)
    for (std::size_t k = 0; k < shape.depth; ++k)
      add_scaled(row_of(shape, c, i), a[i * a_stride + k], b.subspan(k * b_stride, shape.columns));
}

void multiply_transposed_left(ProductShape shape, std::span<const float> a, std::span<const float> b,
                              std::span<float> c, Into into) {
  const std::size_t a_stride = stride_or(shape.stride_a, shape.rows);
  const std::size_t b_stride = stride_or(shape.stride_b, shape.columns);
  prepare(shape, c, into);
  for (std::size_t k = 0; k < shape.depth; ++k)
    for (std::size_t i = 0; i < shape.rows; ++i)
      add_scaled(row_of(shape, c, i), a[k * a_stride + i], b.subspan(k * b_stride, shape.columns));
}

void multiply_transposed_right(ProductShape shape, std::span<const float> a, std::span<const float> b,
                               std::span<float> c, Into into) {
  const std::size_t a_stride = stride_or(shape.stride_a, shape.depth);
  const std::size_t b_stride = stride_or(shape.stride_b, shape.depth);
  prepare(shape, c, into);
  for (std::size_t i = 0; i < shape.rows; ++i)
    for (std::size_t j = 0; j < shape.columns; ++j) {
      float sum = 0.0F;
      for (std::size_t k = 0; k < shape.depth; ++k) sum += a[i * a_stride + k] * b[j * b_stride + k];
      row_of(shape, c, i)[j] += sum;
    }
}

std::string_view multiplier_name() {
  return "plain loops";
}

#endif

}  // namespace pipeloom::executor
