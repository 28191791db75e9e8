#pragma once

// What a model is: its layers in order, and their sizes. No time and no device stands here.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/schedules.hpp>
#include <pipeloom/units.hpp>
#include "sim/device_order.hpp"

namespace pipeloom::model {

/// Picks the keys that a query sees: scores of small heads over all of them (DeepSeek-V3.2), or over blocks of them.
struct Indexer {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t top_k = 0;  ///< keys that are picked
  std::int64_t pool = 1;   ///< keys of a block that is scored as one
  bool pool_gate =
      false;  ///< blocks are sums by a product's gates, with a bias for each place (GLM-5.3); else means
  bool head_weights =
      true;  ///< scores of heads are added by weights, which are a product of the layer's input
};

/// Softmax attention with groups of query heads that share a key/value head.
struct Attention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  bool qkv_bias = false;
  bool output_bias = false;
  bool head_norms = false;  ///< a norm of head_dim weights on queries, another on keys
  bool causal = true;       ///< a query sees no later key
  std::int64_t window = 0;  ///< a query sees so many keys at most; 0: all
  bool key_bias = true;     ///< qkv_bias holds for keys too; Whisper's have none
  bool gated = false;  ///< the output is weighted by a gate of its own width, a product of the layer's input
  bool head_gates = false;  ///< each head's output is weighted by one number, a product of the layer's input
  bool sinks = false;       ///< a learned score for each head, which takes part in the softmax
  bool wide_norms = false;  ///< one norm of all heads' queries, another of all keys, as wide as these are
  bool values = true;       ///< a product of their own makes the values; else they are the keys (Gemma 4)
  bool chunked = false;  ///< `window` cuts the sequence into chunks that see nothing of each other (Llama 4)
  std::int64_t v_dim = 0;  ///< of a head's values and output; 0: head_dim
  std::optional<Indexer> indexer = {};
  bool own_keys = true;  ///< else keys and values are those of an earlier layer (Gemma 3n and 4)
};

/// Attention over a compressed cache of keys and values (DeepSeek's MLA).
struct LatentAttention {
  std::int64_t heads = 0;
  std::int64_t q_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0;  ///< of a query's and key's head, without positions
  std::int64_t rope_dim = 0;  ///< of a query's head, with positions; the key's is shared by all heads
  std::int64_t v_dim = 0;
  bool bias = false;  ///< of the two products that compress, and of the output's
  std::int64_t window = 0;
  std::optional<Indexer> indexer = {};
  bool sinks = false;  ///< a learned score for each head, which takes part in the softmax
  bool gated = false;  ///< the output is weighted by a gate of its own width, a product of the layer's input
  bool joint_gate =
      false;  ///< or that gate comes out of the queries' product, whose inputs are the compressed ones before and after their norm
  bool head_gates = false;  ///< each head's output is weighted by one number, a product of the layer's input
};

/// Attention of many heads to one head that is keys and values at once: a window of it, and one compressed entry for each `rate` tokens before it, which an
/// indexer picks from (DeepSeek-V4). Heads go out in groups, each by a product of low rank, and one product joins these.
struct CompressedAttention {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t q_rank = 0;
  std::int64_t output_groups = 0;       ///< divides heads
  std::int64_t output_rank = 0;         ///< of each group
  std::int64_t window = 0;              ///< keys that a query sees at most, beside compressed entries
  std::int64_t rate = 0;                ///< tokens that become an entry; 0: none does
  std::int64_t series = 1;              ///< entries that a token is part of: 2 where windows overlap
  std::optional<Indexer> indexer = {};  ///< with compressed keys of its own; none: a query sees all entries
};

/// A state-space mixer (Mamba-2). Inner width D = heads x head_dim.
struct Mamba {
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t groups = 0;
  std::int64_t state = 0;
  std::int64_t conv = 4;
  bool in_bias = false;  ///< of the product in
  bool out_bias = false;
  bool conv_bias = true;
  bool gated_norm = true;  ///< of D weights, in front of the product out
};

/// The rule by which a linear mixer keeps its state.
enum class LinearRule : std::uint8_t {
  GatedDelta,  ///< Gated DeltaNet (arXiv 2412.06464), as Qwen3-Next has it
  KimiDelta,   ///< a decay for each channel (arXiv 2510.26692)
  Lightning,   ///< lightning attention with a gate (MiniMax-01, arXiv 2501.08313)
  Mamba1,      ///< selective scan (arXiv 2312.00752)
  ShortConv,   ///< two gates around a convolution (LFM2)
};

/// A mixer whose state does not grow with the sequence, other than Mamba-2. Inner width D = heads x head_dim, of keys G N = key_heads x key_dim.
struct Linear {
  LinearRule rule = LinearRule::GatedDelta;
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t key_heads = 0;
  std::int64_t key_dim = 0;  ///< of Mamba 1 the state of a channel
  std::int64_t conv = 0;     ///< taps; 0: no convolution
  std::int64_t rank =
      0;  ///< of the low-rank products: decay and gate of KimiDelta (0: whole ones), steps of Mamba 1
  bool bias = false;  ///< of the products in and out
  bool conv_bias = false;
  bool norms = false;  ///< of Mamba 1: of the steps, and of what goes in and out of the state (Jamba)
};

struct Mlp {
  std::int64_t ffn = 0;
  bool gated = false;  ///< three matrices, not two
  bool bias = false;
};

/// Mixture of experts. Each token goes to `top_k` of `experts`, and through the shared one.
struct Experts {
  std::int64_t experts = 0;
  std::int64_t top_k = 0;
  std::int64_t ffn = 0;
  std::int64_t shared_ffn = 0;  ///< all shared experts together; 0: none
  bool gated = true;
  bool shared_gate = false;  ///< the shared expert is weighted by a gate of its own: hidden weights
  bool router_bias = false;
  bool bias = false;         ///< of each expert's products
  bool shared_bias = false;  ///< of the shared expert's
  std::int64_t zero =
      0;  ///< more that a router knows, which pass a token on as it is: their first products are there, and nothing uses them
};

/// A product at an end of an encoder: patches or sound into its width, its states into the decoder's.
struct Product {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t tokens = 0;  ///< of a sample that it sees; 0: the layer's
  bool bias = false;
  bool activation = false;  ///< one after it
};

/// A product C[rows, outputs] = A[rows, inputs] B[inputs, outputs] that was seen `times` times, its rows and weights in `groups` parts (experts).
struct CountedProduct {
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t groups = 1;
  std::int64_t times = 1;
};

/// A fused attention that was seen. `pairs` of query and key see each other, for one head.
struct CountedAttention {
  std::int64_t batch = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t qk_dim = 0;
  std::int64_t v_dim = 0;
  std::int64_t pairs = 0;
  std::int64_t times = 1;
};

/// A layer that was run and counted instead of described (pipeloom.torch.model): on one rank, for a microbatch of `micro_batch` samples of
/// `sequence` tokens. Nobody knows how ranks would share it.
struct Counted {
  std::int64_t parameters = 0;
  std::int64_t active = 0;                    ///< of these, what a token passes
  std::array<std::int64_t, 3> flops = {};     ///< of [F, I, W]; attention as if every query saw every key
  std::vector<CountedProduct> products = {};  ///< with weights
  std::vector<CountedProduct> inner = {};     ///< of activations with each other
  std::vector<CountedAttention> attention = {};
  std::array<std::int64_t, 2> elementwise =
      {};                                    ///< bytes that all else reads and writes, forward and backward
  std::array<std::int64_t, 2> kernels = {};  ///< in so many launches
  std::int64_t kept = 0;                     ///< bytes from forward to backward, the layer's input among them
  std::int64_t kept_for_weights = 0;         ///< of these, what products with weights read
  std::int64_t input = 0;                    ///< bytes of the layer's input
  std::int64_t gradients = 0;                ///< bytes of what products with weights make
  std::int64_t sequence = 0;
  std::int64_t micro_batch = 1;
};

/// One weight a channel; a weight and a bias; a weight alone though the mean is taken off; none.
enum class NormKind : std::uint8_t { Rms, Layer, Centered, Bare };

/// Where a part's norms are: in front of it, at its end, both, or one in front of all parts, which then run side by side.
enum class NormPlace : std::uint8_t { Before, After, Around, Shared };

/// A layer of one kind: a mixer, a feed-forward part, or both, each with norms of its own. Two mixers run side by side. Or what was counted of one.
struct Layer {
  char letter = 'T';
  std::string name;  ///< "transformer", "mamba"
  std::optional<Attention> attention;
  std::optional<LatentAttention> latent_attention;
  std::optional<CompressedAttention> compressed_attention = {};
  std::optional<Mamba> mamba;
  std::optional<Linear> linear = {};
  std::optional<Mlp> mlp;
  std::optional<Experts> experts;
  std::int64_t hidden = 0;  ///< its own width, of encoders; 0: the model's
  std::int64_t tokens = 0;  ///< tokens of a sample that it sees, of encoders; 0: those of the text sequence
  std::optional<NormKind> norm = {};  ///< its own, of encoders; none: the model's
  std::vector<Product> before = {};   ///< in front of it: an encoder's patch embedding or convolutions
  std::vector<Product> behind = {};   ///< an encoder's projector
  std::vector<Product> beside =
      {};  ///< small ones that belong to no part: hyper-connections, norms with a gate of low rank
  std::int64_t tables = 0;  ///< weights of no product: positions, class tokens and norms at an encoder's ends
  NormPlace place = NormPlace::Before;
  std::int64_t side =
      0;  ///< width of an input that the layer alone has, gated by its states and added to them (Gemma 4); 0: none
  std::optional<Counted> counted = {};  ///< in place of all parts
  std::vector<Layer> then =
      {};  ///< parts that run after these and belong to the same layer (LongCat's second attention and MLP)
};

/// Times that were measured: ticks of [F, I, W] for a layer of each letter and one microbatch; 'E' embedding, 'L' head.
struct Profile {
  std::map<char, std::array<Ticks, 3>> ticks;
  TimeUnit unit = TimeUnit::Millisecond;
};

/// What a framework calls the model's parts, where it was counted there: "model.layers.0".
struct Modules {
  std::string embedding;
  std::vector<std::string> layers;  ///< of each, in order
  std::string norm;
  std::string head;
};

struct Model {
  std::string name;
  std::string source;  ///< where the numbers come from, for people
  std::string type;    ///< Hugging Face's model_type; "" where it has none or it is not known
  std::int64_t hidden = 0;
  std::int64_t vocabulary = 0;  ///< rows of the embedding, padded as they are in memory
  bool tied = false;            ///< embedding and head share their weights
  bool head_bias = false;
  bool head_product =
      false;  ///< a product as wide as the model and an activation, in front of the final norm (BERT)
  bool head_product_bias = false;
  NormKind norm = NormKind::Rms;
  bool final_norm = true;
  bool dropout = false;        ///< behind attention's scores and each part; a mask of a byte is kept
  std::int64_t positions = 0;  ///< rows of a learned table of positions; 0: none
  std::int64_t sequence = 0;   ///< tokens of a sample that it was trained with: the default
  std::vector<Layer> kinds;    ///< by letter, each once
  std::string layers;  ///< a letter per decoder layer (encoder layers first), in order; without E and L
  std::int64_t tables =
      0;  ///< weights beside the embedding that belong to no layer: tables of side inputs, and their product
  std::int64_t streams =
      1;        ///< of states between layers, which hyper-connections mix in front of each part and after it
  int mtp = 0;  ///< layers for multi-token prediction behind them, each of kind `mtp_letter`
  char mtp_letter = 'T';
  std::optional<Profile> profile;
  std::optional<Modules> modules = {};
  Where where;
  std::optional<RecomputeOption> recompute =
      {};                                  ///< how its file says that it is trained (Megatron-LM's arguments)
  std::vector<std::string> warnings = {};  ///< what its reader passed over, a line each

  [[nodiscard]] const Layer* find(char letter) const;
  [[nodiscard]] std::int64_t hidden_of(const Layer& layer) const {
    return layer.hidden != 0 ? layer.hidden : hidden;
  }
  [[nodiscard]] NormKind norm_of(const Layer& layer) const { return layer.norm.value_or(norm); }
};

/// Parts of a layer, in the order in which they run, by which weights are frozen: encoders are whole, but for their projectors.
enum class LayerPart : std::uint8_t { Encoder, Projector, Mixer, Mlp, Experts };

/// The first part of a layer whose backward runs, because it or something in front of it is trained: the layer's first part, its last (feed-forward, or
/// projector), or none.
enum class Reach : std::uint8_t { Whole, Late, None };

/// Weights that are trained. What is frozen has no W, no gradients and no optimizer states.
struct Trainable {
  bool embedding = true;
  bool encoder = true;    ///< vision and audio towers, with what is in front of their first layer
  bool projector = true;  ///< from an encoder to the decoder
  bool attention =
      true;  ///< mixers of the decoder's layers, of any kind; norms belong to the part that reads them
  bool mlp = true;
  bool experts = true;  ///< with router and shared experts
  bool head = true;     ///< with the final norm, and what joins layers for multi-token prediction
  bool adapters =
      false;  ///< beside each frozen product of the decoder's layers, W x + B A x: A and B are trained
  std::int64_t rank = 0;       ///< rows of A, columns of B
  Reach reach = Reach::Whole;  ///< of the layer that is asked about
  bool head_backward = true;   ///< something in front of the head is trained

  [[nodiscard]] bool trains(LayerPart part) const {
    const bool trained[] = {encoder, projector, attention, mlp, experts};
    return trained[static_cast<std::size_t>(part)];
  }
  /// True if matrices of this part have adapters.
  [[nodiscard]] bool adapts(LayerPart part) const {
    return adapters && part >= LayerPart::Mixer && !trains(part);
  }
  /// True if the backward goes through this part.
  [[nodiscard]] bool reaches(LayerPart part) const {
    const bool is_late = part != LayerPart::Encoder && part != LayerPart::Mixer;
    return reach == Reach::Whole || (reach == Reach::Late && is_late);
  }
};

/// How a model is cut up and fed.
struct Split {
  int pipeline = 1;        ///< p
  int tensor = 1;          ///< t
  int data = 1;            ///< d: replicas, without the context's ranks
  int context = 1;         ///< c
  int expert = 1;          ///< e: a rank holds experts / e of them; divides data x context x tensor
  double expert_load = 1;  ///< tokens of the expert rank with most of them over the mean of the group: 1 to e
  DeviceOrder order = DeviceOrder::PipelineLast;
  int output = 1;  ///< stages that share out the rows of the output layer; 1: the last has them all
  int zero =
      1;  ///< 0: everything whole on each replica; 1: optimizer states shared out; 2: gradients too; 3: weights too (FSDP)
  int shards =
      0;  ///< data ranks next to each other that share out what `zero` says, each such group alike; 0: all data ranks
  bool sequence_parallel = true;  ///< what is not cut by t goes by tokens over the same ranks
  bool flash = true;              ///< attention keeps no scores
  bool fused_experts =
      true;  ///< experts' SiLU, its product and the weighting are one kernel, in front of the exchange
  double product_bytes =
      2;  ///< of a number that a product reads, as it is kept for the weights' pass: 1 in 8 bits
  std::int64_t sequence = 0;     ///< tokens of a sample
  std::int64_t micro_batch = 1;  ///< samples of a microbatch
  /// Lengths of the documents that are packed into a sample, in sum `sequence`: attention stays inside each. Empty: one document.
  std::vector<std::int64_t> documents = {};
  Trainable trainable = {};
};
/// True if groups of data ranks share out, and are replicas of each other.
[[nodiscard]] inline bool is_hybrid(const Split& split) {
  return split.shards > 0 && split.shards < split.data;
}

/// What is computed again in the backward instead of kept.
enum class Recomputation : std::uint8_t { None, Selective, Full };

}  // namespace pipeloom::model
