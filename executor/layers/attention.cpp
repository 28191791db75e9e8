#include "executor/layers/attention.hpp"

#include <algorithm>
#include <cmath>

#include "executor/layers/tensor_math.hpp"

namespace pipeloom::executor {
namespace {

/// The first column of one slice in S and P, and the number of its columns.
struct Columns {
  std::size_t first = 0;
  std::size_t size = 0;
};

/// Sizes of one pass, and the products of all heads with them.
class Heads {
 public:
  Heads(const AttentionShape& shape, std::span<const SliceKeys> slices) : shape_(shape) {
    for (const SliceKeys& slice : slices) {
      columns_.push_back({context_, slice.keys.size() / shape.width});
      context_ += columns_.back().size;
    }
  }

  [[nodiscard]] std::size_t count() const { return shape_.heads; }
  [[nodiscard]] std::size_t slices() const { return columns_.size(); }
  [[nodiscard]] std::size_t context() const { return context_; }
  /// Rows of the pass's own slice, the last one.
  [[nodiscard]] std::size_t rows() const { return columns_.back().size; }
  /// Number of columns that row i may attend to.
  [[nodiscard]] std::size_t seen_by(std::size_t row) const { return columns_.back().first + row + 1; }
  [[nodiscard]] float scale() const { return 1.0F / std::sqrt(static_cast<float>(shape_.head_width())); }

  /// The columns of a head in q, k, v, o or one of their gradients.
  template <class T>
  [[nodiscard]] std::span<T> head_in(std::span<T> matrix, std::size_t head) const {
    return matrix.subspan(head * shape_.head_width());
  }
  /// P of one head.
  template <class T>
  [[nodiscard]] std::span<T> square_of(std::span<T> all, std::size_t head) const {
    return all.subspan(head * rows() * context_, rows() * context_);
  }

  /// A_h B_h^T into the columns of a slice: scores from queries and keys, dP from do and values.
  void row_products(std::size_t slice, std::size_t head, std::span<const float> a, std::span<const float> b,
                    std::span<float> square) const {
    const Columns columns = columns_[slice];
    multiply_transposed_right({.rows = rows(),
                               .columns = columns.size,
                               .depth = shape_.head_width(),
                               .stride_a = shape_.width,
                               .stride_b = shape_.width,
                               .stride_c = context_},
                              head_in(a, head), head_in(b, head), square.subspan(columns.first),
                              Into::Replace);
  }
  /// Rows of `b` mixed by the factors of the square, over all slices one after another: o from P and values, dq from dS and keys.
  /// The rows of `to` are `stride` apart.
  template <class RowsOf>
  void mix(std::size_t head, std::span<const float> square, RowsOf&& rows_of, std::span<float> to,
           std::size_t stride) const {
    for (std::size_t slice = 0; slice < slices(); ++slice)
      multiply({.rows = rows(),
                .columns = shape_.head_width(),
                .depth = columns_[slice].size,
                .stride_a = context_,
                .stride_b = shape_.width,
                .stride_c = stride},
               square.subspan(columns_[slice].first), head_in(std::span<const float>(rows_of(slice)), head),
               head_in(to, head), slice == 0 ? Into::Replace : Into::Add);
  }
  /// The other way: to += square^T B_h for the columns of a slice: dk from dS and queries, dv from P and do.
  void add_mixed_back(std::size_t slice, std::size_t head, std::span<const float> square,
                      std::span<const float> b, std::span<float> to) const {
    const Columns columns = columns_[slice];
    multiply_transposed_left({.rows = columns.size,
                              .columns = shape_.head_width(),
                              .depth = rows(),
                              .stride_a = context_,
                              .stride_b = shape_.width,
                              .stride_c = shape_.width},
                             square.subspan(columns.first), head_in(b, head), head_in(to, head), Into::Add);
  }

 private:
  AttentionShape shape_;
  std::vector<Columns> columns_;  // [slice]
  std::size_t context_ = 0;
};

/// Scores become probabilities; the largest is subtracted first, so that no exponential overflows.
void softmax(std::span<float> row, std::size_t seen, float scale) {
  const auto end = row.begin() + static_cast<std::ptrdiff_t>(seen);
  const float largest = *std::max_element(row.begin(), end);
  float sum = 0.0F;
  for (float& value : row.first(seen)) {
    value = std::exp((value - largest) * scale);
    sum += value;
  }
  for (float& value : row.first(seen)) value /= sum;
  std::fill(end, row.end(), 0.0F);
}

/// dP becomes dS.
void softmax_gradient(std::span<const float> p, std::span<float> dp, float scale) {
  float along = 0.0F;
  for (std::size_t j = 0; j < p.size(); ++j) along += p[j] * dp[j];
  for (std::size_t j = 0; j < p.size(); ++j) dp[j] = p[j] * (dp[j] - along) * scale;
}

/// Columns [first, first + width) of rows that are `stride` wide.
Tensor columns_of(std::span<const float> rows, std::size_t stride, std::size_t first, std::size_t width) {
  Tensor out;
  out.reserve(rows.size() / stride * width);
  for (; !rows.empty(); rows = rows.subspan(stride)) {
    const std::span<const float> part = rows.subspan(first, width);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

void put_columns(std::span<const float> from, std::size_t width, std::size_t first, std::span<float> rows,
                 std::size_t stride) {
  for (std::size_t i = 0; i * width < from.size(); ++i)
    std::copy_n(&from[i * width], width, &rows[i * stride + first]);
}

/// q into the tape, k and v into the slice unless they are there.
void project(const AttentionShape& shape, const AttentionParameters<const float>& p, AttentionTape& tape,
             SliceKeys& own) {
  const std::size_t width = shape.width;
  const std::size_t rows = tape.norm.normed.size() / width;
  Tensor projected = repeated(p.bqkv, rows);
  multiply({rows, 3 * width, width}, tape.norm.normed, p.wqkv, projected, Into::Add);
  tape.query = columns_of(projected, 3 * width, 0, width);
  if (!own.keys.empty()) return;
  own.keys = columns_of(projected, 3 * width, width, width);
  own.values = columns_of(projected, 3 * width, 2 * width, width);
}

/// dq into the columns of the tape's projected gradient, and parts of dk and dv into the slices.
void mix_gradients(const AttentionShape& shape, std::span<const float> mixed_gradient, AttentionTape& tape,
                   std::span<SliceKeys> slices) {
  const Heads heads(shape, slices);
  Tensor square(heads.rows() * heads.context());
  for (std::size_t head = 0; head < heads.count(); ++head) {
    const auto p = heads.square_of(std::span<const float>(tape.probabilities), head);
    for (std::size_t slice = 0; slice < slices.size(); ++slice)
      heads.row_products(slice, head, mixed_gradient, slices[slice].values, square);
    for (std::size_t i = 0; i < heads.rows(); ++i)
      softmax_gradient(p.subspan(i * heads.context(), heads.context()),
                       std::span(square).subspan(i * heads.context(), heads.context()), heads.scale());
    heads.mix(
        head, square, [&](std::size_t slice) -> const Tensor& { return slices[slice].keys; },
        tape.projected_gradient, 3 * shape.width);
    for (std::size_t slice = 0; slice < slices.size(); ++slice) {
      heads.add_mixed_back(slice, head, square, tape.query, slices[slice].key_gradient);
      heads.add_mixed_back(slice, head, p, mixed_gradient, slices[slice].value_gradient);
    }
  }
}

}  // namespace

Tensor attention_forward(const AttentionShape& shape, std::span<const float> parameters, Tensor x,
                         AttentionTape& tape, std::span<SliceKeys> slices) {
  const AttentionParameters<const float> p(shape.width, parameters);
  layer_norm(p.gain, p.shift, x, tape.norm);
  project(shape, p, tape, slices.back());

  const Heads heads(shape, slices);
  tape.probabilities.resize(heads.count() * heads.rows() * heads.context());
  tape.mixed.resize(x.size());
  for (std::size_t head = 0; head < heads.count(); ++head) {
    const std::span<float> square = heads.square_of(std::span(tape.probabilities), head);
    for (std::size_t slice = 0; slice < slices.size(); ++slice)
      heads.row_products(slice, head, tape.query, slices[slice].keys, square);
    for (std::size_t i = 0; i < heads.rows(); ++i)
      softmax(square.subspan(i * heads.context(), heads.context()), heads.seen_by(i), heads.scale());
    heads.mix(
        head, square, [&](std::size_t slice) -> const Tensor& { return slices[slice].values; }, tape.mixed,
        shape.width);
  }

  for (std::size_t i = 0; i < x.size(); ++i) x[i] += p.bo[i % shape.width];
  multiply({heads.rows(), shape.width, shape.width}, tape.mixed, p.wo, x, Into::Add);
  return x;
}

Tensor attention_input_gradient(const AttentionShape& shape, std::span<const float> parameters, Tensor e,
                                AttentionTape& tape, std::span<SliceKeys> slices) {
  const AttentionParameters<const float> p(shape.width, parameters);
  const std::size_t width = shape.width;
  const std::size_t rows = e.size() / width;
  // The last slice gets here first.
  for (SliceKeys& slice : slices) {
    slice.key_gradient.resize(slice.keys.size());
    slice.value_gradient.resize(slice.values.size());
  }
  Tensor mixed_gradient(e.size());
  multiply_transposed_right({rows, width, width}, e, p.wo, mixed_gradient, Into::Replace);
  tape.projected_gradient.resize(3 * e.size());
  mix_gradients(shape, mixed_gradient, tape, slices);
  discard(tape.query);
  discard(tape.probabilities);

  SliceKeys& own = slices.back();
  put_columns(own.key_gradient, width, width, tape.projected_gradient, 3 * width);
  put_columns(own.value_gradient, width, 2 * width, tape.projected_gradient, 3 * width);
  for_each_key_tensor(own, discard);

  tape.output_gradient = e;
  tape.norm.normed_gradient.resize(e.size());
  multiply_transposed_right({rows, width, 3 * width}, tape.projected_gradient, p.wqkv,
                            tape.norm.normed_gradient, Into::Replace);
  add_norm_input_gradient(p.gain, tape.norm, e);
  discard(tape.norm.inverse_deviation);
  return e;
}

void attention_weight_gradient(const AttentionShape& shape, const AttentionTape& tape,
                               std::span<float> gradient) {
  const AttentionParameters<float> to(shape.width, gradient);
  const std::size_t width = shape.width;
  const std::size_t rows = tape.output_gradient.size() / width;
  multiply_transposed_left({width, width, rows}, tape.mixed, tape.output_gradient, to.wo, Into::Add);
  add_rows(tape.output_gradient, to.bo);
  multiply_transposed_left({width, 3 * width, rows}, tape.norm.normed, tape.projected_gradient, to.wqkv,
                           Into::Add);
  add_rows(tape.projected_gradient, to.bqkv);
  add_norm_weight_gradient(tape.norm, to.gain, to.shift);
}

}  // namespace pipeloom::executor
