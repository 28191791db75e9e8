#include "cli/command_line.hpp"

#include <algorithm>

namespace pipeloom::cli {

SubCommand& CommandLine::add_command(std::string_view name, std::string_view summary_of_it) {
  SubCommand& added = commands.emplace_back();
  added.name = name;
  added.summary = summary_of_it;
  added.options.help_flag();
  return added;
}

const SubCommand* CommandLine::find(std::string_view name) const {
  const auto named = [name](const SubCommand& command) { return command.name == name; };
  const auto found = std::find_if(commands.begin(), commands.end(), named);
  return found == commands.end() ? nullptr : &*found;
}

}  // namespace pipeloom::cli
