#pragma once

// What limits leave, as people read it (sim/memory_text.hpp).

#include <optional>
#include <string>

#include <pipeloom/metrics.hpp>
#include "sim/memory_text.hpp"

namespace pipeloom::study {

/// What is left of its limit on the rank that has least left, negative where it holds more; nothing without a limit.
[[nodiscard]] std::optional<Bytes> headroom_of(const MemoryModel& model, const Metrics& metrics);
/// "85.9 GB (80.0 GiB)", or the smallest and the largest where ranks differ. REQUIRES: a limit.
[[nodiscard]] std::string limits_text(const MemoryModel& model);
/// "limit 85.9 GB (80.0 GiB), headroom 4.8 GB (4.5 GiB)", or "over by" where a rank holds more. REQUIRES: a limit.
[[nodiscard]] std::string headroom_text(const MemoryModel& model, const Metrics& metrics);

}  // namespace pipeloom::study
