#include "executor/tensor_math.hpp"

#include <algorithm>

#ifdef PIPELOOM_OPENBLAS
#include <cblas.h>
#endif

namespace pipeloom::executor {

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
              into == Into::Add ? 1.0F : 0.0F, c.data(), narrow(shape.columns));
}

}  // namespace

void multiply(ProductShape shape, std::span<const float> a, std::span<const float> b, std::span<float> c,
              Into into) {
  gemm(shape, {a, CblasNoTrans, shape.depth}, {b, CblasNoTrans, shape.columns}, c, into);
}

void multiply_transposed_left(ProductShape shape, std::span<const float> a, std::span<const float> b,
                              std::span<float> c, Into into) {
  gemm(shape, {a, CblasTrans, shape.rows}, {b, CblasNoTrans, shape.columns}, c, into);
}

void multiply_transposed_right(ProductShape shape, std::span<const float> a, std::span<const float> b,
                               std::span<float> c, Into into) {
  gemm(shape, {a, CblasNoTrans, shape.depth}, {b, CblasTrans, shape.depth}, c, into);
}

std::string_view multiplier_name() {
  return "OpenBLAS " PIPELOOM_OPENBLAS;
}

#else

namespace {

void prepare(std::span<float> c, Into into) {
  if (into == Into::Replace) std::fill(c.begin(), c.end(), 0.0F);
}

/// row += factor * other: what the compiler turns into vector instructions.
void add_scaled(std::span<float> row, float factor, std::span<const float> other) {
  for (std::size_t j = 0; j < row.size(); ++j) row[j] += factor * other[j];
}

}  // namespace

void multiply(ProductShape shape, std::span<const float> a, std::span<const float> b, std::span<float> c,
              Into into) {
  prepare(c, into);
  for (std::size_t i = 0; i < shape.rows; ++i)
    for (std::size_t k = 0; k < shape.depth; ++k)
      add_scaled(c.subspan(i * shape.columns, shape.columns), a[i * shape.depth + k],
                 b.subspan(k * shape.columns, shape.columns));
}

void multiply_transposed_left(ProductShape shape, std::span<const float> a, std::span<const float> b,
                              std::span<float> c, Into into) {
  prepare(c, into);
  for (std::size_t k = 0; k < shape.depth; ++k)
    for (std::size_t i = 0; i < shape.rows; ++i)
      add_scaled(c.subspan(i * shape.columns, shape.columns), a[k * shape.rows + i],
                 b.subspan(k * shape.columns, shape.columns));
}

void multiply_transposed_right(ProductShape shape, std::span<const float> a, std::span<const float> b,
                               std::span<float> c, Into into) {
  prepare(c, into);
  for (std::size_t i = 0; i < shape.rows; ++i)
    for (std::size_t j = 0; j < shape.columns; ++j) {
      float sum = 0.0F;
      for (std::size_t k = 0; k < shape.depth; ++k) sum += a[i * shape.depth + k] * b[j * shape.depth + k];
      c[i * shape.columns + j] += sum;
    }
}

std::string_view multiplier_name() {
  return "plain loops";
}

#endif

}  // namespace pipeloom::executor
