#include "gui/model/chart/pressed_rank.hpp"

#include "sim/memory.hpp"

namespace pipeloom::gui {

std::optional<Rank> pressed_rank(const RunModel& run) {
  if (!run.memory || !run.metrics || run.metrics->ranks.empty()) return std::nullopt;
  const MemoryModel& memory = *run.memory;
  const Metrics& metrics = *run.metrics;
  if (memory.limit.empty()) return metrics.peak_rank;
  std::size_t tight = 0;
  const auto left = [&](std::size_t rank) {
    return memory.limit[rank] - metrics.ranks[rank].memory.peak_bytes;
  };
  for (std::size_t rank = 1; rank < metrics.ranks.size(); ++rank)
    if (left(rank) < left(tight)) tight = rank;
  return Rank(static_cast<std::int32_t>(tight));
}

std::string held_text(const MemoryModel& memory, Bytes held) {
  std::string text = memory_cell(memory, held);
  if (!counts_activations(memory)) return text;
  return text + (text == "1" ? " activation" : " activations");
}

}  // namespace pipeloom::gui
