#include "sim/layout/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <pipeloom/op.hpp>

namespace pipeloom::layout {
namespace {

constexpr std::array<std::string_view, 5> kCheckpointing = {"none", "full", "selective-layer", "selective-op",
                                                            "memory-budget"};

}  // namespace

std::string_view name_of(Advice::Level level) {
  return level == Advice::Level::Warning ? "warning" : "note";
}

std::string_view name_of(Checkpointing checkpointing) {
  return kCheckpointing[static_cast<std::size_t>(checkpointing)];
}

std::vector<std::string> checkpointing_names() {
  return {kCheckpointing.begin(), kCheckpointing.end()};
}

std::optional<Checkpointing> checkpointing_named(std::string_view name) {
  for (std::size_t i = 0; i < kCheckpointing.size(); ++i)
    if (kCheckpointing[i] == name) return static_cast<Checkpointing>(i);
  return std::nullopt;
}

int advised_microbatches(int ranks, int stages, std::optional<int> asked) {
  const std::int64_t least = std::max(stages, asked.value_or(1));
  const std::int64_t rounded = (least + ranks - 1) / ranks * ranks;
  return static_cast<int>(std::min<std::int64_t>(rounded, kMaxIndex));
}

Advice microbatch_advice(int ranks, int stages, std::optional<int> asked) {
  const int advised = advised_microbatches(ranks, stages, asked);
  if (!asked || *asked == advised)
    return {Advice::Level::Note, "microbatches",
            fmt::format(
                "{} stages want at least {} microbatches, a multiple of {} ranks; AReaL takes no batch of "
                "fewer than {} sequences, torchtitan warns",
                stages, advised_microbatches(ranks, stages, {}), ranks, stages)};
  return {Advice::Level::Warning, "microbatches",
          fmt::format("{} microbatches are {}; AReaL would run {}", *asked,
                      *asked < stages ? fmt::format("fewer than the {} stages", stages)
                                      : fmt::format("no multiple of {} ranks", ranks),
                      advised)};
}

Advice megatron_microbatch_advice(int ranks, std::optional<int> asked) {
  if (!asked || (*asked >= ranks && *asked % ranks == 0))
    return {Advice::Level::Note, "microbatches",
            fmt::format(
                "with several chunks, Megatron-LM takes microbatches that are a multiple of {0} ranks, and "
                "more than {0} with their number as --microbatch-group-size-per-virtual-pipeline-stage",
                ranks)};
  return {
      Advice::Level::Warning, "microbatches",
      fmt::format("with several chunks, Megatron-LM refuses {} microbatches, no multiple of {} ranks, unless "
                  "microbatch_group_size_per_vp_stage leaves no short last group",
                  *asked, ranks)};
}

std::vector<Advice> split_backward_advice(const std::string& schedule, const TrainingOptions& options) {
  std::vector<Advice> advice;
  if (options.compile)
    advice.push_back(
        {Advice::Level::Warning, "compile",
         fmt::format("{} splits the backward, which torch.compile does not allow: turn it off (AReaL "
                     "does, PyTorch refuses to run)",
                     schedule)});
  if (options.moe)
    advice.push_back(
        {Advice::Level::Note, "donated-buffer",
         fmt::format("{} keeps the graph after the input gradient: set "
                     "torch._functorch.config.donated_buffer = False for a mixture-of-experts model "
                     "(AReaL does)",
                     schedule)});
  const bool by_op = options.checkpointing == Checkpointing::SelectiveOp;
  if (by_op || options.checkpointing == Checkpointing::MemoryBudget)
    advice.push_back(
        {Advice::Level::Warning, "checkpointing",
         fmt::format(
             "{} does not go with {} checkpointing, {}: take full, to which AReaL falls back", schedule,
             name_of(options.checkpointing),
             by_op ? "whose saved results the input gradient uses up" : "which needs torch.compile")});
  return advice;
}

}  // namespace pipeloom::layout
