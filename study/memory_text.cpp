#include "study/memory_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "study/numbers.hpp"

namespace pipeloom::study {
namespace {

Bytes largest(const std::vector<Bytes>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// "32", "31.4".
std::string activations(const MemoryModel& model, Bytes bytes) {
  const double count =
      static_cast<double>(bytes) / (static_cast<double>(largest(model.activation)) * model.passes);
  const double tenths = std::round(10 * count);
  return fmt::format("{:.{}f}", tenths / 10, std::fmod(tenths, 10) == 0 ? 0 : 1);
}

}  // namespace

bool counts_activations(const MemoryModel& model) {
  Bytes most = 0;
  for (const auto* values : {&model.activation, &model.static_bytes, &model.receive, &model.logits})
    most = std::max(most, largest(*values));
  return largest(model.activation) > 0 && most < kLeastRealBytes;
}

std::string memory_text(const MemoryModel& model, Bytes bytes) {
  if (!counts_activations(model)) return bytes_text(bytes);
  const std::string count = activations(model, bytes);
  return fmt::format("{} activation{} of a stage", count, count == "1" ? "" : "s");
}

std::string memory_cell(const MemoryModel& model, Bytes bytes) {
  return counts_activations(model) ? activations(model, bytes) : short_bytes_text(bytes);
}

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
