#include "sim/memory_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/literals.hpp"

namespace pipeloom {
namespace {

Bytes largest(const std::vector<Bytes>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

/// "32", "31.4".
std::string activations(const MemoryModel& model, Bytes units) {
  const double count =
      static_cast<double>(units) / (static_cast<double>(largest(model.activation)) * model.passes);
  const double tenths = std::round(10 * count);
  return fmt::format("{:.{}f}", tenths / 10, std::fmod(tenths, 10) == 0 ? 0 : 1);
}

/// Parts of a byte are there where sizes are relative; what is left of them beside real sizes is less than anybody reads.
Bytes whole_bytes(const MemoryModel& model, Bytes units) {
  return model.parts == 1 ? units : static_cast<Bytes>(std::llround(model.in_bytes(units)));
}

}  // namespace

bool counts_activations(const MemoryModel& model) {
  Bytes most = 0;
  for (const auto* values : {&model.activation, &model.static_bytes, &model.receive, &model.logits})
    most = std::max(most, largest(*values));
  return largest(model.activation) > 0 && model.in_bytes(most) < kLeastRealBytes;
}

std::string memory_text(const MemoryModel& model, Bytes units) {
  if (!counts_activations(model)) return bytes_text(whole_bytes(model, units));
  const std::string count = activations(model, units);
  return fmt::format("{} activation{} of a stage", count, count == "1" ? "" : "s");
}

std::string memory_text_of_bytes(const MemoryModel& model, double bytes) {
  return memory_text(model, static_cast<Bytes>(std::llround(bytes * model.parts)));
}

std::string memory_cell(const MemoryModel& model, Bytes units) {
  return counts_activations(model) ? activations(model, units) : short_bytes_text(whole_bytes(model, units));
}

}  // namespace pipeloom
