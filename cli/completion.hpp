#pragma once

// Shell completion made from the options that the parser reads, so that it always matches the program.

#include <string>
#include <vector>

#include "cli/command_line.hpp"

namespace pipeloom::cli {

/// Candidates for the next word: none that are known, names of files, some words, or some words with a value after
/// each (`costs.forward=`).
enum class ValueKind : unsigned char { None, File, Words, Assignment };

struct Candidates {
  ValueKind kind = ValueKind::None;
  std::vector<std::string> words = {};
};

/// An option with all its spellings ("-o", "--output"), or a positional (no spellings).
struct OptionOutline {
  std::vector<std::string> names;
  std::string help;
  bool takes_value = false;
  Candidates values;
};

struct CommandOutline {
  std::string name;
  std::string help;
  std::vector<OptionOutline> options;
  /// Candidates for all positionals together.
  Candidates arguments;
};

/// Every command. The words of an option follow from its type name: COMMAND, FILE, SCHEDULE, FORMAT, SCHEMA,
/// PATH=VALUE, or the words themselves as in "auto|always|never".
[[nodiscard]] std::vector<CommandOutline> outline_of(const CommandLine& line);

[[nodiscard]] std::string bash_completion(const std::vector<CommandOutline>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CommandOutline>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CommandOutline>& commands);

}  // namespace pipeloom::cli
