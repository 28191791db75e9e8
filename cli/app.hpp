#pragma once

// The program without its main(): from arguments to an exit status.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.hpp"

namespace pipeloom::cli {

/// The parser with every command set up.
struct Parser {
  std::unique_ptr<CLI::App> app;
  /// Commands in the order of all_commands(): its part of the parser, and what runs it.
  std::vector<std::pair<CLI::App*, Run>> commands;

  Parser();
  ~Parser();
  Parser(Parser&&) noexcept;
  Parser& operator=(Parser&&) noexcept;
};
[[nodiscard]] Parser make_parser();

/// Reads the arguments (without the program's name) and runs what they ask for. Errors become a line on standard
/// error and their exit code; nothing is thrown.
[[nodiscard]] int run_program(std::vector<std::string> arguments) noexcept;

}  // namespace pipeloom::cli
