#pragma once

// How a fuzz target says that a promise is broken.

#include <string_view>

namespace pipeloom::fuzz {

/// Stops, so that the fuzzer keeps the input.
inline void require(bool held) {
  if (!held) __builtin_trap();
}

inline void require_one_line(std::string_view text) {
  require(!text.empty() && text.find('\n') == std::string_view::npos);
}

}  // namespace pipeloom::fuzz
