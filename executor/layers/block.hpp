#pragma once

// One block of a transformer: a stage is a stack of these. Shapes below are [rows][columns], row by row. Where the shape has heads, x
// goes through attention first (executor/layers/attention.hpp) and its output is the x of the formulas below; without heads rows
// do not depend on each other.
//
//   n = LayerNorm(x) gain + shift      [rows][width]    (integer arithmetic: n = x)
//   h = n W1 + b1                      [rows][hidden]
//   g = GeLU(h)                        [rows][hidden]   (integer arithmetic: g = max(h, 0))
//   y = x + g W2 + b2                  [rows][width]
//
// LayerNorm is that of executor/layers/tensor.hpp; GeLU(h) = h Phi(h) with the normal distribution's Phi (Hendrycks and Gimpel 2016), not
// its approximation by tanh.
//
// Going backward is two functions, as zero-bubble schedules need it (Qi et al. 2023, section 2): the gradient of the input, which the
// stage before waits for, and the gradient of the weights, any time later. With e = dL/dy:
//
//   input_gradient    dg = e W2^T, dh = dg GeLU'(h), dn = dh W1^T, dx = e + LayerNorm'(dn gain)
//   weight_gradient   dW2 += g^T e, db2 += sum e, dW1 += n^T dh, db1 += sum dh, dgain += sum dn xhat, dshift += sum dn
//
// so every element of a gradient is one sum of products, one per row.

#include <cstddef>
#include <span>

#include "executor/layers/attention.hpp"
#include "executor/layers/tensor.hpp"

namespace pipeloom::executor {

enum class Arithmetic : bool {
  Float,    ///< as above
  Integer,  ///< no norm, ReLU: on small integers every sum is exact (executor/layers/model.hpp)
};

struct BlockShape {
  std::size_t width = 0;
  std::size_t hidden = 0;
  Arithmetic arithmetic = Arithmetic::Float;
  std::size_t heads = 0;  ///< of the attention, a divisor of width; 0: there is none

  [[nodiscard]] AttentionShape attention() const { return {width, heads}; }
  /// Elements of all parameters together: gain[width], shift[width], W1[width][hidden], b1[hidden], W2[hidden][width], b2[width],
  /// one after another, and then those of the attention. Gradients have the same layout. Integer arithmetic keeps gain and shift,
  /// unused.
  [[nodiscard]] std::size_t parameters() const { return linear_parameters() + attention().parameters(); }
  /// Without those of the attention: where those begin.
  [[nodiscard]] std::size_t linear_parameters() const { return 2 * width * hidden + hidden + 3 * width; }
};

/// Views of the parameters, or of their gradients, without those of the attention; T is float or const float.
template <class T>
struct BlockParameters {
  BlockParameters(const BlockShape& shape, std::span<T> all)
      : gain(all.subspan(0, shape.width)),
        shift(all.subspan(shape.width, shape.width)),
        w1(all.subspan(2 * shape.width, shape.width * shape.hidden)),
        b1(all.subspan(2 * shape.width + w1.size(), shape.hidden)),
        w2(all.subspan(2 * shape.width + w1.size() + shape.hidden, w1.size())),
        b2(all.subspan(2 * shape.width + 2 * w1.size() + shape.hidden, shape.width)) {}

  std::span<T> gain;
  std::span<T> shift;
  std::span<T> w1;
  std::span<T> b1;
  std::span<T> w2;
  std::span<T> b2;
};

/// Tensors that a block keeps of one pass. Empty: not made yet, or no longer needed.
struct BlockTape {
  NormTape norm;            ///< F to W; inverse_deviation to I; in integer arithmetic only its n
  Tensor hidden;            ///< h; F to I
  Tensor activated;         ///< g; F to W
  Tensor output_gradient;   ///< e; I to W
  Tensor hidden_gradient;   ///< dh; I to W
  AttentionTape attention;  ///< empty without heads
};

/// Calls fn(tensor) for each of them, in a fixed order.
template <class Tape, class Fn>
void for_each_tensor(Tape& tape, Fn&& fn) {
  for_each_norm_tensor(tape.norm, fn);
  fn(tape.hidden);
  fn(tape.activated);
  fn(tape.output_gradient);
  fn(tape.hidden_gradient);
  for_each_attention_tensor(tape.attention, fn);
}

/// Returns y of x [rows][width], and keeps in the tape what the backward needs. `slices` as for attention_forward(); unused without heads.
[[nodiscard]] Tensor block_forward(const BlockShape& shape, std::span<const float> parameters, Tensor x,
                                   BlockTape& tape, std::span<SliceKeys> slices = {});

/// Returns dx of e [rows][width]; keeps what block_weight_gradient() needs and frees the rest.
/// REQUIRES: a tape that block_forward() wrote, and its slices.
[[nodiscard]] Tensor block_input_gradient(const BlockShape& shape, std::span<const float> parameters,
                                          Tensor e, BlockTape& tape, std::span<SliceKeys> slices = {});

/// Adds to `gradient`, whose elements lie as the parameters do. REQUIRES: a tape that block_input_gradient() wrote.
void block_weight_gradient(const BlockShape& shape, const BlockTape& tape, std::span<float> gradient);

}  // namespace pipeloom::executor
