#pragma once

// The manual page, made from the parser itself, so that it cannot drift from what the program takes.

#include <string>

namespace CLI {
class App;
}

namespace pipeloom::cli {

/// roff of section 1: every command of `program` with all its options.
[[nodiscard]] std::string man_page(const CLI::App& program);

}  // namespace pipeloom::cli
