#pragma once

// The rank whose memory is shown where there is room for one rank of a run.

#include <optional>
#include <string>

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// The rank that has least left of its limit, else the fullest one; no value where nothing is known of memory. O(ranks).
[[nodiscard]] std::optional<Rank> pressed_rank(const RunModel& run);

/// The amount held on it, with the word for its unit: "56.8 GB", "8 activations".
[[nodiscard]] std::string held_text(const MemoryModel& memory, Bytes held);

}  // namespace pipeloom::gui
