#pragma once

// An order of all entries in which each stands behind what it waits for.

#include <cstdint>
#include <vector>

#include <pipeloom/schedule.hpp>

namespace pipeloom {

/// First ops of all entries by start time when every op takes one tick: neighbours rarely depend on each other. Takes one
/// evaluation and a counting sort. Throws HangError if the schedule hangs. REQUIRES: no structural errors, fewer than 2^32 ops.
[[nodiscard]] std::vector<std::uint32_t> entries_by_level(const Schedule& schedule);

}  // namespace pipeloom
