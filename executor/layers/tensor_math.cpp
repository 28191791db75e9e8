#include "executor/layers/tensor_math.hpp"

#include <algorithm>

#include "sim/kinds.hpp"

#ifdef PIPELOOM_OPENBLAS
#include <cblas.h>
#include <dlfcn.h>

#include <cstdlib>
#endif

namespace pipeloom::executor {
namespace {

std::size_t stride_or(std::size_t stride, std::size_t width) {
  return stride == 0 ? width : stride;
}

/// The layout of an operand in memory: rows of `stride` elements.
struct Operand {
  std::span<const float> values;
  bool transposed = false;
  std::size_t stride = 0;
};

#ifdef PIPELOOM_OPENBLAS

constexpr std::string_view kLibrary = "OpenBLAS " PIPELOOM_OPENBLAS;

/// The product of OpenBLAS, or null where the library is not installed. Loaded when layers need it and no sooner: its constructor starts a
/// thread per core and takes memory for each, for which no other command should pay. A rank multiplies on its own thread alone.
decltype(&cblas_sgemm) sgemm() {
  static const auto function = []() -> decltype(&cblas_sgemm) {
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);  // NOLINT(concurrency-mt-unsafe): asked for before ranks start
    void* const library = ::dlopen(PIPELOOM_OPENBLAS_FILE, RTLD_NOW | RTLD_LOCAL);
    void* const symbol = library == nullptr ? nullptr : ::dlsym(library, "cblas_sgemm");
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the result of dlsym()
    return reinterpret_cast<decltype(&cblas_sgemm)>(symbol);
  }();
  return function;
}

bool has_library() {
  return sgemm() != nullptr;
}

blasint narrow(std::size_t size) {
  return static_cast<blasint>(size);
}

void library_product(ProductShape shape, const Operand& a, const Operand& b, std::span<float> c, Into into) {
  const auto side = [](const Operand& operand) { return operand.transposed ? CblasTrans : CblasNoTrans; };
  sgemm()(CblasRowMajor, side(a), side(b), narrow(shape.rows), narrow(shape.columns), narrow(shape.depth),
          1.0F, a.values.data(), narrow(a.stride), b.values.data(), narrow(b.stride),
          into == Into::Add ? 1.0F : 0.0F, c.data(), narrow(stride_or(shape.stride_c, shape.columns)));
}

#else

constexpr std::string_view kLibrary = "";

bool has_library() {
  return false;
}

void library_product(ProductShape, const Operand&, const Operand&, std::span<float>, Into) {}

#endif

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

/// row += factor * other: a loop that the compiler turns into vector instructions.
void add_scaled(std::span<float> row, float factor, std::span<const float> other) {
  for (std::size_t j = 0; j < row.size(); ++j) row[j] += factor * other[j];
}

}  // namespace

void multiply(ProductShape shape, std::span<const float> a, std::span<const float> b, std::span<float> c,
              Into into) {
  const std::size_t a_stride = stride_or(shape.stride_a, shape.depth);
  const std::size_t b_stride = stride_or(shape.stride_b, shape.columns);
  if (has_library()) return library_product(shape, {a, false, a_stride}, {b, false, b_stride}, c, into);
  prepare(shape, c, into);
  for (std::size_t i = 0; i < shape.rows; ++i)
    for (std::size_t k = 0; k < shape.depth; ++k)
      add_scaled(row_of(shape, c, i), a[i * a_stride + k], b.subspan(k * b_stride, shape.columns));
}

void multiply_transposed_left(ProductShape shape, std::span<const float> a, std::span<const float> b,
                              std::span<float> c, Into into) {
  const std::size_t a_stride = stride_or(shape.stride_a, shape.rows);
  const std::size_t b_stride = stride_or(shape.stride_b, shape.columns);
  if (has_library()) return library_product(shape, {a, true, a_stride}, {b, false, b_stride}, c, into);
  prepare(shape, c, into);
  for (std::size_t k = 0; k < shape.depth; ++k)
    for (std::size_t i = 0; i < shape.rows; ++i)
      add_scaled(row_of(shape, c, i), a[k * a_stride + i], b.subspan(k * b_stride, shape.columns));
}

void multiply_transposed_right(ProductShape shape, std::span<const float> a, std::span<const float> b,
                               std::span<float> c, Into into) {
  const std::size_t a_stride = stride_or(shape.stride_a, shape.depth);
  const std::size_t b_stride = stride_or(shape.stride_b, shape.depth);
  if (has_library()) return library_product(shape, {a, false, a_stride}, {b, true, b_stride}, c, into);
  prepare(shape, c, into);
  for (std::size_t i = 0; i < shape.rows; ++i)
    for (std::size_t j = 0; j < shape.columns; ++j) {
      float sum = 0.0F;
      for (std::size_t k = 0; k < shape.depth; ++k) sum += a[i * a_stride + k] * b[j * b_stride + k];
      row_of(shape, c, i)[j] += sum;
    }
}

std::string_view multiplier_name() {
  return has_library() ? kLibrary : "plain loops";
}

}  // namespace pipeloom::executor
