#pragma once

// Memory as people read it: bytes where sizes are given, else activations.

#include <optional>
#include <string>

#include "sim/memory.hpp"
#include "sim/metrics.hpp"

namespace pipeloom::study {

/// No stage of a model holds something smaller.
inline constexpr Bytes kLeastRealBytes = 4096;

/// Whether the model's sizes are relative ones: the default (1 for an activation, nothing else), or numbers that are all below
/// kLeastRealBytes. Memory is then told in activations of a stage, of which the largest counts as one.
[[nodiscard]] bool counts_activations(const MemoryModel& model);

/// "81.1 GB (75.5 GiB)"; "32 activations of a stage".
[[nodiscard]] std::string memory_text(const MemoryModel& model, Bytes bytes);
/// The same for a cell of a table: "81.1 GB"; "32".
[[nodiscard]] std::string memory_cell(const MemoryModel& model, Bytes bytes);

/// What is left of its limit on the rank that has least left, negative where it holds more; nothing without a limit.
[[nodiscard]] std::optional<Bytes> headroom_of(const MemoryModel& model, const Metrics& metrics);
/// "85.9 GB (80.0 GiB)", or the smallest and the largest where ranks differ. REQUIRES: a limit.
[[nodiscard]] std::string limits_text(const MemoryModel& model);
/// "limit 85.9 GB (80.0 GiB), headroom 4.8 GB (4.5 GiB)", or "over by" where a rank holds more. REQUIRES: a limit.
[[nodiscard]] std::string headroom_text(const MemoryModel& model, const Metrics& metrics);

}  // namespace pipeloom::study
