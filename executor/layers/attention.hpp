#pragma once

// Causal self-attention with several heads (Vaswani et al. 2017, section 3.2), the part of a transformer's block that mixes rows. Rows
// are the tokens of a microbatch in their order; shapes below are [rows][columns], row by row.
//
//   n = LayerNorm(x) gain + shift               [rows][width]
//   [q k v] = n Wqkv + bqkv                     [rows][3 width], cut into three
//   S_h = q_h k_h^T / sqrt(c)                   [rows][context] for head h, which has the columns h c .. h c + c - 1, c = width / heads
//   P_h = softmax of each row of S_h            over the columns of its own row and those before it; 0 in the others
//   o_h = P_h v_h                               [rows][c]; all heads side by side are o [rows][width]
//   y = x + o Wo + bo                           [rows][width]
//
// A slice is a run of rows: rows of slice j attend to the keys and values of slices 0 .. j, so context = the rows of all of these, and k_h
// and v_h above are theirs, one after another. Slices go forward in order. They go backward in the opposite order (TeraPipe,
// Li et al. 2021, section 3.2): then, when slice j goes backward, every later slice has added its part of dk and dv of slice j.
//
// Backward, with e = dL/dy:
//
//   input_gradient    do = e Wo^T, dP_h = do_h v_h^T, dS_h = P_h (dP_h - rowsum(P_h dP_h)) / sqrt(c), elementwise,
//                     dq_h = dS_h k_h, dk_h += dS_h^T q_h, dv_h += P_h^T do_h     (dk and dv of slices 0 .. j)
//                     dn = [dq dk dv] Wqkv^T, dx = e + LayerNorm'(dn)             (dk and dv of slice j)
//   weight_gradient   dWo += o^T e, dbo += sum e, dWqkv += n^T [dq dk dv], dbqkv += sum [dq dk dv], dgain and dshift of the norm
//
// so every element of a weight's gradient is one sum of products, one per row, as in the rest of the block. P is kept, [heads][rows][context],
// and not made again from q and k: with few rows it is small.

#include <cstddef>
#include <span>

#include "executor/layers/tensor.hpp"

namespace pipeloom::executor {

struct AttentionShape {
  std::size_t width = 0;
  std::size_t heads = 0;  ///< a divisor of width; 0: there is no attention

  [[nodiscard]] std::size_t head_width() const { return width / heads; }
  /// Elements of gain[width], shift[width], Wqkv[width][3 width], bqkv[3 width], Wo[width][width], bo[width], one after another.
  [[nodiscard]] std::size_t parameters() const { return heads == 0 ? 0 : 4 * width * width + 6 * width; }
};

/// Views of the parameters, or of their gradients; T is float or const float.
template <class T>
struct AttentionParameters {
  AttentionParameters(std::size_t width, std::span<T> all)
      : gain(all.subspan(0, width)),
        shift(all.subspan(width, width)),
        wqkv(all.subspan(2 * width, 3 * width * width)),
        bqkv(all.subspan(2 * width + wqkv.size(), 3 * width)),
        wo(all.subspan(5 * width + wqkv.size(), width * width)),
        bo(all.subspan(5 * width + wqkv.size() + wo.size(), width)) {}

  std::span<T> gain;
  std::span<T> shift;
  std::span<T> wqkv;
  std::span<T> bqkv;
  std::span<T> wo;
  std::span<T> bo;
};

/// Tensors that one slice of a microbatch gives to itself and to later slices; all [rows of the slice][width].
struct SliceKeys {
  Tensor keys;            ///< k; from F to the input gradient of the slice
  Tensor values;          ///< v; likewise
  Tensor key_gradient;    ///< dk so far; from the input gradient of the last slice to that of this one
  Tensor value_gradient;  ///< dv so far; likewise
};

template <class Keys, class Fn>
void for_each_key_tensor(Keys& keys, Fn&& fn) {
  fn(keys.keys);
  fn(keys.values);
  fn(keys.key_gradient);
  fn(keys.value_gradient);
}

/// Tensors that the attention keeps of one pass, other than keys and values. Empty: not made yet, or no longer needed.
struct AttentionTape {
  NormTape norm;              ///< F to W; inverse_deviation to I
  Tensor query;               ///< q [rows][width]; F to I
  Tensor probabilities;       ///< P [heads][rows][context]; F to I
  Tensor mixed;               ///< o [rows][width]; F to W
  Tensor output_gradient;     ///< e [rows][width]; I to W
  Tensor projected_gradient;  ///< [dq dk dv] [rows][3 width]; I to W
};

template <class Tape, class Fn>
void for_each_attention_tensor(Tape& tape, Fn&& fn) {
  for_each_norm_tensor(tape.norm, fn);
  fn(tape.query);
  fn(tape.probabilities);
  fn(tape.mixed);
  fn(tape.output_gradient);
  fn(tape.projected_gradient);
}

/// y from x. `slices` are those of the microbatch up to this one, the last: the others are read, and it is written unless it has keys
/// already, from a pass over the same x that kept nothing else (recomputation).
/// REQUIRES: shape.heads > 0, slices is not empty, keys and values in all but its last.
[[nodiscard]] Tensor attention_forward(const AttentionShape& shape, std::span<const float> parameters,
                                       Tensor x, AttentionTape& tape, std::span<SliceKeys> slices);

/// dx from e. Adds to the gradients in `slices`, frees all of the last one, keeps in the tape what attention_weight_gradient() needs and
/// frees the rest.
/// REQUIRES: tape and slices as attention_forward() left them; the later slices went backward before.
[[nodiscard]] Tensor attention_input_gradient(const AttentionShape& shape, std::span<const float> parameters,
                                              Tensor e, AttentionTape& tape, std::span<SliceKeys> slices);

/// Adds to `gradient`, whose elements lie as the parameters do. REQUIRES: a tape that attention_input_gradient() wrote.
void attention_weight_gradient(const AttentionShape& shape, const AttentionTape& tape,
                               std::span<float> gradient);

}  // namespace pipeloom::executor
