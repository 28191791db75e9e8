#pragma once

// A command of the program: one file under cli/commands, one line in commands.def.
//
// A command's file defines one function that states its options in a list and returns what runs them. Both see
// the same options struct, which lives as long as the returned function:
//
//   Run validate(OptionList& list) {
//     auto options = std::make_shared<Options>();
//     list.positional("FILE", options->file, "FILE", "...").required();
//     return [options] { return run(*options); };
//   }
//
// The commands have a namespace of their own: `check` or `convert` alone would say too little.

#include <span>
#include <string_view>

#include "cli/command_line.hpp"

namespace pipeloom::cli {

struct Command {
  std::string_view name;     ///< "simulate"
  std::string_view task;     ///< the heading under which help lists it
  std::string_view summary;  ///< one line for the list of commands
  Run (*setup)(OptionList& list);
};

/// Every command, in the order in which help lists them.
[[nodiscard]] std::span<const Command> all_commands();

namespace commands {
#define PIPELOOM_COMMAND(name, task, summary) [[nodiscard]] Run name(OptionList& list);
#include "cli/commands.def"
#undef PIPELOOM_COMMAND
}  // namespace commands

}  // namespace pipeloom::cli
