#pragma once

// The manual page, made from what the parser reads too, so that it cannot drift from what the program takes.

#include <string>

#include "cli/command_line.hpp"

namespace pipeloom::cli {

/// roff of section 1: every command of `line` with all its options.
[[nodiscard]] std::string man_page(const CommandLine& line);

}  // namespace pipeloom::cli
