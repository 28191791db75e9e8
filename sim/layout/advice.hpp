#pragma once

// Advice of a framework on a run and its layout: how many microbatches it takes, and which features it switches off
// for schedules that split the backward.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::layout {

/// A thing to know, as data and as a sentence.
struct Advice {
  enum class Level : unsigned char { Note, Warning };
  Level level = Level::Note;
  std::string code;  ///< stable: "microbatches", "compile", "donated-buffer", "checkpointing"
  std::string text;
};
/// "note", "warning".
[[nodiscard]] std::string_view name_of(Advice::Level level);

/// AReaL's rule: at least as many sequences as there are stages S, and at least max(S, asked) microbatches, rounded up to a
/// multiple of the ranks. REQUIRES: ranks >= 1, stages >= 1.
[[nodiscard]] int advised_microbatches(int ranks, int stages, std::optional<int> asked);
/// The same as a sentence: a warning if `asked` is another number, a note otherwise. For torchtitan too, which only warns.
[[nodiscard]] Advice microbatch_advice(int ranks, int stages, std::optional<int> asked);
/// Megatron-LM's rule for v > 1, with its default groups of p microbatches: m >= p, and m mod p is 0 (what it says of
/// other group sizes is in schedules/interleaved_order.hpp). A warning if `asked` breaks it, a note otherwise.
[[nodiscard]] Advice megatron_microbatch_advice(int ranks, std::optional<int> asked);

/// Activation checkpointing, as AReaL and torchtitan name its modes; selective by layer or by op.
enum class Checkpointing : unsigned char { None, Full, SelectiveLayer, SelectiveOp, MemoryBudget };
/// "none", "full", "selective-layer", "selective-op", "memory-budget".
[[nodiscard]] std::string_view name_of(Checkpointing checkpointing);
[[nodiscard]] std::vector<std::string> checkpointing_names();
[[nodiscard]] std::optional<Checkpointing> checkpointing_named(std::string_view name);

struct TrainingOptions {
  bool compile = false;  ///< torch.compile
  bool moe = false;      ///< a mixture-of-experts model
  Checkpointing checkpointing = Checkpointing::None;
};
/// Features that do not go with a schedule that splits the backward into I and W, in the order in which AReaL switches them off: I
/// keeps the graph and W runs later.
[[nodiscard]] std::vector<Advice> split_backward_advice(const std::string& schedule,
                                                        const TrainingOptions& options);

}  // namespace pipeloom::layout
