#pragma once

// Memory as people read it: bytes where sizes are given, else activations.

#include <string>

#include <pipeloom/costs.hpp>

namespace pipeloom {

/// No stage of a model holds something smaller.
inline constexpr Bytes kLeastRealBytes = 4096;

/// Whether the model's sizes are relative ones: the default (1 for an activation, nothing else), or numbers that are all below
/// kLeastRealBytes. Memory is then told in activations of a stage, of which the largest counts as one.
[[nodiscard]] bool counts_activations(const MemoryModel& model);

/// `units` of the model (MemoryModel::parts) as "81.1 GB (75.5 GiB)"; "32 activations of a stage".
[[nodiscard]] std::string memory_text(const MemoryModel& model, Bytes units);
/// The same of a number of bytes, as metrics and MemoryModel::in_bytes() give it.
[[nodiscard]] std::string memory_text_of_bytes(const MemoryModel& model, double bytes);
/// The same for a cell of a table: "81.1 GB"; "32".
[[nodiscard]] std::string memory_cell(const MemoryModel& model, Bytes units);

}  // namespace pipeloom
