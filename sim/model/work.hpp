#pragma once

// What one rank has to do for one microbatch in a layer: products, attention, traffic, collectives. Sizes alone; sim/hardware says how long.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <pipeloom/units.hpp>
#include "sim/model/model.hpp"

namespace pipeloom::model {

enum class Pass : std::uint8_t { Forward, BackwardInput, BackwardWeight };
inline constexpr int kPasses = 3;

/// C[m, n] = A[m, k] B[k, n] with weights B, per group; 2 m k n FLOPs in each of the three passes. `groups` > 1: as many experts' products in
/// one launch.
struct Gemm {
  std::string_view what;  ///< "qkv", "fc1"
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t groups = 1;
  LayerPart part = LayerPart::Mixer;
  bool input_gradient = true;   ///< I has its product
  bool weight_gradient = true;  ///< W has its product
};

/// Core attention: two products over heads. Its backward belongs to the input pass whole. Ranks of the context share out heads (all-to-all) where
/// these divide, else queries (keys and values gathered).
struct CoreAttention {
  std::int64_t batch = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t heads = 0;  ///< of the rank
  std::int64_t kv_heads = 0;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  bool causal = true;
  std::int64_t window = 0;
  bool chunked = false;
  bool flash = true;  ///< else kernels of their own for scores, whose traffic stands in the list
  bool backward = true;

  /// 2 x batch x (pairs of query and key that are seen) x heads x (qk_dim + v_dim): causal halves the square.
  [[nodiscard]] double flops() const;
  /// The same over the whole square, as efficiency tables count it.
  [[nodiscard]] double full_flops() const;
};

/// Bytes through memory that no product accounts for: norms, residuals, activations, permutations.
struct Traffic {
  std::string_view what;
  double forward = 0;
  double backward = 0;  ///< with the input pass
  int kernels = 1;      ///< per direction
};

enum class CollectiveKind : std::uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll };
enum class Group : std::uint8_t { Tensor, Context, Expert, Data };
inline constexpr std::size_t kGroups = 4;

/// A collective of `bytes`: the whole buffer, as nccl-tests counts it (all-gather: the result, reduce-scatter: the input, all-to-all: what one
/// rank holds). So many times in each pass, and in the recomputed forward as often as in the forward.
struct Collective {
  std::string_view what;
  CollectiveKind kind = CollectiveKind::AllReduce;
  Group group = Group::Tensor;
  double bytes = 0;
  std::array<int, kPasses> times = {};
};

struct Work {
  std::vector<Gemm> gemms;
  std::vector<CoreAttention> attention;
  std::vector<Traffic> traffic;
  std::vector<Collective> collectives;
};

// Traffic is counted by two lists, which times of elementwise work are fitted to: models with RMS norms by that of SimuMax's B200 runs, models with
// layer norms by that of vTrain's A100 runs. An efficiency belongs to its list. docs/models.md has both.

/// Of one layer, of the embedding, of the final norm, of head and loss on one of the stages that share them (Split::output), and of both these together.
/// Frozen weights (Split::trainable) have no W, and no I where nothing else needs it. REQUIRES: check() of sim/model/check.hpp passed.
[[nodiscard]] Work work_of(const Model& model, const Layer& layer, const Split& split);
[[nodiscard]] Work embedding_work(const Model& model, const Split& split);
[[nodiscard]] Work final_norm_work(const Model& model, const Split& split);
[[nodiscard]] Work output_work(const Model& model, const Split& split);
[[nodiscard]] Work head_work(const Model& model, const Split& split);
/// What an MTP layer does besides a layer of its kind and a head: two norms and the product that joins states and embeddings.
[[nodiscard]] Work mtp_work(const Model& model, const Split& split);

/// FLOPs of the model for one token of a sequence this long, forward and backward (3 x forward), as MFU counts them: weight products, core attention
/// by the pairs that are seen, head times (1 + mtp); nothing recomputed. `full_square`: attention counts the whole square. `documents`: lengths of what is
/// packed into the sequence, in sum as long as it; none: one document. Of what is frozen no products for its weights, and adapters as `trainable` says.
[[nodiscard]] double flops_per_token(const Model& model, std::int64_t sequence, bool full_square = false,
                                     std::span<const std::int64_t> documents = {},
                                     const Trainable& trainable = {});

}  // namespace pipeloom::model
