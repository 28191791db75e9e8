#include "cli/completion.hpp"

#include "cli/command.hpp"
#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/formats/formats.hpp"
#include "study/report/schemas.hpp"

namespace pipeloom::cli {
namespace {

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) names.emplace_back(command.name);
  return names;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const auto& generator : schedules::all()) names.push_back(generator.name);
  return names;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& format : io::all_formats()) names.push_back(format.name);
  return names;
}

std::vector<std::string> assignable_keys() {
  std::vector<std::string> keys;
  for (const auto& key : io::config_keys())
    if (key.type != io::KeyType::Object) keys.push_back(std::string(key.path) + '=');
  return keys;
}

Candidates candidates_of(const std::string& type_name) {
  if (type_name == "COMMAND") return {ValueKind::Words, command_names()};
  if (type_name == "FILE") return {ValueKind::File};
  if (type_name == "SCHEDULE") return {ValueKind::Words, schedule_names()};
  if (type_name == "FORMAT") return {ValueKind::Words, format_names()};
  if (type_name == "SCHEMA") return {ValueKind::Words, study::schema_names()};
  if (type_name == "PATH=VALUE") return {ValueKind::Assignment, assignable_keys()};
  if (type_name.find('|') != std::string::npos) return {ValueKind::Words, split(type_name, '|')};
  return {};
}

OptionOutline outline_of_option(const Argument& option) {
  OptionOutline out;
  out.names = option.names;
  out.help = option.help;
  out.takes_value = option.takes_value();
  if (out.takes_value) out.values = candidates_of(option.type);
  return out;
}

CommandOutline outline_of_command(const SubCommand& command) {
  CommandOutline out;
  out.name = command.name;
  out.help = command.summary;
  for (const Argument& option : command.options.all()) {
    if (option.is_positional)
      out.arguments = candidates_of(option.type);
    else
      out.options.push_back(outline_of_option(option));
  }
  return out;
}

}  // namespace

std::vector<CommandOutline> outline_of(const CommandLine& line) {
  std::vector<CommandOutline> commands;
  for (const SubCommand& command : line.commands) commands.push_back(outline_of_command(command));
  return commands;
}

}  // namespace pipeloom::cli
