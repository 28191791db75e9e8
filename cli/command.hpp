#pragma once

// A command of the program: one file under cli/commands, one line in commands.def.
//
// A command's file defines one function that adds its options to the parser's App and returns what runs them. Both see
// the same options struct, which lives as long as the returned function:
//
//   Run validate(CLI::App& app) {
//     auto options = std::make_shared<Options>();
//     app.add_option("FILE", options->file, "...");
//     return [options] { return run(*options); };
//   }
//
// The commands stand in a namespace of their own: `check` or `convert` alone would say too little.

#include <functional>
#include <span>
#include <string_view>

#include "sim/base/error.hpp"

namespace CLI {
class App;
}

namespace pipeloom::cli {

/// What a command does once its options are read. Throws pipeloom::Error; main() prints it and takes its exit code.
using Run = std::function<ExitCode()>;

struct Command {
  std::string_view name;     ///< "simulate"
  std::string_view summary;  ///< one line for the list of commands
  Run (*setup)(CLI::App& app);
};

/// Every command, in the order in which help lists them.
[[nodiscard]] std::span<const Command> all_commands();

namespace commands {
#define PIPELOOM_COMMAND(name, summary) [[nodiscard]] Run name(CLI::App& app);
#include "cli/commands.def"
#undef PIPELOOM_COMMAND
}  // namespace commands

}  // namespace pipeloom::cli
