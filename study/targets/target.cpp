#include "study/targets/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::study {
namespace {

// torch/distributed/pipelining/schedules.py: the classes of get_schedule_class. Which sizes they take, torch::class_refusal() says.
constexpr std::array<OwnOrder, 7> kPyTorchClasses = {{
    {"GPipe", "GPipe"},
    {"1F1B", "1F1B"},
    {"LoopedBFS", "LoopedBFS", 1, kAnyChunks},
    {"Interleaved1F1B", "Interleaved1F1B", 1, kAnyChunks},
    {"InterleavedZeroBubble", "InterleavedZeroBubble", 1, kAnyChunks},
    {"ZBVZeroBubble", "ZBVZeroBubble", 2, 2},
    {"DualPipeV", "DualPipeV", 2, 2},
}};
// The same, but a class of several stages makes two per rank if it is told no number.
constexpr std::array<OwnOrder, 7> kTorchtitanClasses = {{
    {"GPipe", "GPipe"},
    {"1F1B", "1F1B"},
    {"LoopedBFS", "LoopedBFS", 2, kAnyChunks},
    {"Interleaved1F1B", "Interleaved1F1B", 2, kAnyChunks},
    {"InterleavedZeroBubble", "InterleavedZeroBubble", 2, kAnyChunks},
    {"ZBVZeroBubble", "ZBVZeroBubble", 2, 2},
    {"DualPipeV", "DualPipeV", 2, 2},
}};
// areal/api/cli_args.py: the choices of pp_schedule.
constexpr std::array<OwnOrder, 4> kArealClasses = {{
    {"1F1B", "1F1B"},
    {"Interleaved1F1B", "Interleaved1F1B", 2, kAnyChunks},
    {"InterleavedZeroBubble", "InterleavedZeroBubble", 2, kAnyChunks},
    {"ZBVZeroBubble", "ZBVZeroBubble", 2, 2},
}};
// areal/experimental/models/archon: what registers a ModelSpec, and ArchonEngine refuses all else.
constexpr std::array<std::string_view, 7> kArchonTypes = {
    "qwen2", "qwen3", "qwen3_moe", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"};
// megatron/core/pipeline_parallel/schedules.py: forward_backward_pipelining_without_interleaving and _with_interleaving, the latter with
// overlap_moe_expert_parallel_comm too. Which group sizes it takes, the aliases' own rule says.
constexpr std::array<OwnOrder, 3> kMegatronOrders = {{
    {"", "1f1b"},
    {"", "megatron-interleaved", 2, kAnyChunks},
    {"--overlap-moe-expert-parallel-comm", "megatron-combined-1f1b", 2, kAnyChunks},
}};

// torch/distributed/tensor/experimental/_context_parallel/_attention.py, create_cp_block_mask():
// FlexAttention's blocks of queries, of which a rank has whole ones. It is the one attention that torchtitan
// shares out over context ranks (distributed/full_dtensor.py, validate_config()).
constexpr int kMaskBlock = 128;

constexpr Target torch_release(std::string_view release) {
  return {.name = "torch",
          .package = "torch",
          .release = release,
          .title = "PyTorch",
          .source = "torch/distributed/pipelining/schedules.py",
          .orders = kPyTorchClasses,
          .files = FilePlacements::Any,
          .pipelines_one_rank = true,
          .shares_in_groups = true};
}

constexpr std::array<Target, 8> kTargets = {{
    torch_release("2.15"),
    {.name = "torchtitan",
     .package = "torchtitan",
     .release = "0.3.0",
     .title = "torchtitan",
     .source = "torchtitan/distributed/pipeline_parallel.py, torchtitan/distributed/full_dtensor.py, "
               "torchtitan/models/deepseek_v3/mtp.py, torchtitan/config/configs.py, torchtitan/trainer.py",
     .orders = kTorchtitanClasses,
     .files = FilePlacements::LoopsAndVs,
     .layers = LayerWords::Modules,
     .recompute = RecomputeWords::All,
     .block = Block::Torchtitan,
     .overlaps_pairs = false,
     .tensor_splits_kv_heads = true,
     .ties_weights = false,
     .has_mtp = false,
     .has_mamba = false,
     .has_newer_mixers = false,
     .shares_in_groups = true,
     .shards_weights = true,
     .context_parts = 2,
     .context_tokens = kMaskBlock,
     .tensor_splits_parts = true,
     .experts_within_shards = true},
    {.name = "areal",
     .package = "areal",
     .release = "1.0.4",
     .title = "AReaL",
     .source =
         "areal/experimental/models/archon/pipeline_parallel.py, areal/experimental/engine/archon_engine.py",
     .orders = kArealClasses,
     .layers = LayerWords::Weighted,
     .recompute = RecomputeWords::All,
     .block = Block::Areal,
     .overlaps_pairs = false,
     .stage_a_microbatch = true,
     .tensor_splits_kv_heads = true,
     .ties_weights = false,
     .has_mtp = false,
     .has_mamba = false,
     .has_newer_mixers = false,
     .has_towers = false,
     .shards_weights = true,
     .context_splits_heads = true,
     .experts_span_tensor = true,
     .families = kArchonTypes},
    {.name = "megatron",
     .package = "megatron-core",
     .release = "0.19.2",
     .title = "Megatron-core",
     .source =
         "megatron/core/pipeline_parallel/schedules.py, megatron/core/transformer/transformer_config.py, "
         "megatron/training/arguments.py",
     .orders = kMegatronOrders,
     .layers = LayerWords::Layout,
     .recompute = RecomputeWords::Modules,
     .block = Block::Megatron,
     .has_newer_mixers = false,
     .most_zero = 1,
     .context_parts = 2,
     .context_rings = true},
    torch_release("2.14"),
    torch_release("2.13"),
    torch_release("2.10"),
    torch_release("legacy"),
}};
constexpr std::size_t kNewest = 4;

/// True if the name is the row's: with its release, or without one if the row is the newest.
bool is_called(const Target& target, std::string_view name, bool newest) {
  for (const std::string_view word : {target.package, target.name}) {
    if (newest && name == word) return true;
    if (name.size() == word.size() + 1 + target.release.size() && name.starts_with(word) &&
        name[word.size()] == '-' && name.ends_with(target.release))
      return true;
  }
  return target.block == Block::Python && name == target.release;
}

}  // namespace

std::string Target::spelling() const {
  return fmt::format("{}-{}", package, release);
}

std::span<const Target> targets() {
  return std::span(kTargets).first(kNewest);
}

std::span<const Target> all_targets() {
  return kTargets;
}

std::string target_spellings() {
  std::string out;
  for (const Target& target : kTargets) out += (out.empty() ? "" : ", ") + target.spelling();
  return out;
}

const Target& target_named(std::string_view name) {
  for (std::size_t i = 0; i < kTargets.size(); ++i)
    if (is_called(kTargets[i], name, i < kNewest)) return kTargets[i];
  throw InputError(
      Where{"--target"},
      fmt::format("unknown target '{}'; allowed are {}, and torch, torchtitan, areal and megatron for "
                  "the newest of each",
                  shortened(name, 64), target_spellings()));
}

}  // namespace pipeloom::study
