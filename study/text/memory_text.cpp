#include "study/text/memory_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace pipeloom::study {

std::optional<Bytes> headroom_of(const MemoryModel& model, const Metrics& metrics) {
  std::optional<Bytes> least;
  for (std::size_t r = 0; r < std::min(model.limit.size(), metrics.ranks.size()); ++r) {
    const Bytes left = model.limit[r] - metrics.ranks[r].memory.peak_bytes;
    if (!least || left < *least) least = left;
  }
  return least;
}

std::string limits_text(const MemoryModel& model) {
  const auto [least, most] = std::minmax_element(model.limit.begin(), model.limit.end());
  const std::string text = memory_text(model, *most);
  return *least == *most ? text : fmt::format("{} to {}", memory_text(model, *least), text);
}

std::string headroom_text(const MemoryModel& model, const Metrics& metrics) {
  const Bytes left = headroom_of(model, metrics).value_or(0);
  return fmt::format("limit {}, {} {}", limits_text(model), left < 0 ? "over by" : "headroom",
                     memory_text(model, std::abs(left)));
}

}  // namespace pipeloom::study
