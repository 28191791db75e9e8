#pragma once

// The files of configs/hardware/ as they travel inside the library; CMake makes the source from embedded.cpp.in.

#include <span>
#include <string_view>

namespace pipeloom::io {

struct EmbeddedHardware {
  std::string_view name;
  std::string_view text;
};

/// In alphabetical order.
[[nodiscard]] std::span<const EmbeddedHardware> embedded_hardware();

}  // namespace pipeloom::io
