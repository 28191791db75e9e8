#pragma once

// Durations that are known only when an entry starts: engines ask for them where a scenario has pauses or draws groups as one.

#include <cstddef>
#include <functional>

#include <pipeloom/units.hpp>

namespace pipeloom {

/// Duration of the entry that begins at op index `first` and takes `planned` by the costs, if it starts at `start`. Asked once for each entry,
/// copies apart, those of a rank in the order of its queue; under OverlapRule::Sequential for each part of a group.
using EntryTimes = std::function<Ticks(Rank rank, std::size_t first, Ticks start, Ticks planned)>;

}  // namespace pipeloom
