#pragma once

// The frameworks that run a plan in the end, a row each: the orders that it makes itself, their sizes, and the settings that it can be told. Plans,
// layouts and validations read these rows; nothing else knows a framework. Each row was read in the release's own code and is held against
// it by tests/golden/targets; docs/targets.md shows the table.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace pipeloom::study {

/// An order that a framework makes itself.
struct OwnOrder {
  std::string_view
      word;  ///< how the framework is told: a class of PyTorch's, an option of Megatron-LM's; "" where it needs no word
  std::string_view alias;  ///< the registry's word for the order, with the framework's own rule for sizes
  int min_chunks = 1;
  int max_chunks = 1;
};
inline constexpr int kAnyChunks = std::numeric_limits<int>::max();

/// Placements that an order from a file may have.
enum class FilePlacements : std::uint8_t {
  None,        ///< no order comes from a file
  Any,         ///< the stages are the user's to build
  LoopsAndVs,  ///< a class deals the stages out: in a loop, or in a V of two
};

/// How a framework is told the layers of each stage.
enum class LayerWords : std::uint8_t {
  Code,      ///< the stages are the user's to build
  Modules,   ///< a list of module names for each stage
  Weighted,  ///< layers per stage, first and last with fewer
  Layout,    ///< a layout string
};

/// Parts that a framework can be told to recompute in the backward.
enum class RecomputeWords : std::uint8_t {
  Code,     ///< the stages are the user's to build: any of them
  All,      ///< all layers of all stages
  Modules,  ///< all layers, or modules of them, of all stages
};

/// The code that writes the text to paste.
enum class Block : std::uint8_t { Python, Torchtitan, Areal, Megatron };

struct Target {
  std::string_view name;     ///< "torch", "torchtitan", "areal", "megatron"
  std::string_view package;  ///< as --target and the JSON spell it, without the release: "megatron-core"
  std::string_view release;  ///< "0.19.2"
  std::string_view title;    ///< for people: "Megatron-core"
  std::string_view source;   ///< where the row was read
  std::span<const OwnOrder> orders = {};
  FilePlacements files = FilePlacements::None;
  LayerWords layers = LayerWords::Code;
  RecomputeWords recompute = RecomputeWords::Code;
  Block block = Block::Python;
  bool pipelines_one_rank =
      false;  ///< one rank has a schedule as well; else it runs whole microbatches one by one
  bool overlaps_pairs = true;       ///< two ops of a group can run at the same time there
  bool stage_a_microbatch = false;  ///< a step has at least as many microbatches as stages
  bool tensor_splits_kv_heads =
      false;  ///< tp must divide the number of key/value heads; else it may be a multiple of it too
  bool ties_weights =
      true;  ///< embedding and head may share weights though they are on different ranks; else they have to be configured apart
  bool has_mtp = true;    ///< layers for multi-token prediction go through a pipeline, and over context ranks
  bool has_mamba = true;  ///< state-space layers
  bool has_newer_mixers =
      true;  ///< hyper-connections, attention over compressed entries, and linear mixers other than gated delta nets
  bool has_towers = true;         ///< encoders in front of the decoder
  bool shares_in_groups = false;  ///< it is told hybrid sharding
  int most_zero = 3;              ///< the highest level of ZeRO that it is told beside a pipeline
  bool shards_weights = false;    ///< data ranks share out weights (FSDP) or nothing
  /// Equal parts of a sequence that each of several context ranks has.
  int context_parts = 1;
  int context_tokens = 1;             ///< the tokens of each of several context ranks are a multiple of this
  bool tensor_splits_parts = false;   ///< tp divides the tokens of each of these parts
  bool context_splits_heads = false;  ///< cp ranks share attention heads out, after tp
  bool context_rings = false;  ///< cp ranks pass keys and values around unless they are told another exchange
  bool experts_span_tensor = false;  ///< ep is a multiple of cp x tp, or 1
  bool experts_within_shards =
      false;  ///< ep divides tp x cp x the data ranks that weights are shared out over
  std::span<const std::string_view> families =
      {};  ///< Hugging Face's model types that it has; empty: any, or the user's own

  /// "torch-2.15": as --target takes it and the JSON writes it.
  [[nodiscard]] std::string spelling() const;
};

/// The newest known release of each framework.
[[nodiscard]] std::span<const Target> targets();
/// All rows: those of targets(), then older releases of PyTorch.
[[nodiscard]] std::span<const Target> all_targets();
/// "torch-2.15", "2.15", "torchtitan", "torchtitan-0.3.0", "megatron", "megatron-core-0.19.2": without a release the newest known. Throws
/// InputError at --target that names all.
[[nodiscard]] const Target& target_named(std::string_view name);
/// Every spelling of a row with its release, separated by commas.
[[nodiscard]] std::string target_spellings();

}  // namespace pipeloom::study
