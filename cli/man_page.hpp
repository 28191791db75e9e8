#pragma once

// The manual page, made from the options that the parser reads, so that it always matches the program.

#include <string>

#include "cli/command_line.hpp"

namespace pipeloom::cli {

/// roff of section 1: every command of `line` with all its options.
[[nodiscard]] std::string man_page(const CommandLine& line);

}  // namespace pipeloom::cli
