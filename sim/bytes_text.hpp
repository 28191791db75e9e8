#pragma once

// Sizes as people read them.

#include <string>

#include "sim/units.hpp"

namespace pipeloom {

/// "4 B", "81.1 GB (75.5 GiB)": one decimal, units of 1000, and of 1024 in parentheses.
[[nodiscard]] std::string bytes_text(Bytes bytes);
/// "81.1 GB", where there is no room for both.
[[nodiscard]] std::string short_bytes_text(Bytes bytes);

}  // namespace pipeloom
