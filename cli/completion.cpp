#include "cli/completion.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

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

OptionOutline outline_of(const CLI::Option& option) {
  OptionOutline out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.help = option.get_description();
  out.takes_value = option.get_items_expected_max() > 0;
  if (out.takes_value) out.values = candidates_of(option.get_type_name());
  return out;
}

CommandOutline outline_of_command(const CLI::App& command) {
  CommandOutline out;
  out.name = command.get_name();
  out.help = command.get_description();
  for (const CLI::Option* option : command.get_options()) {
    if (option->nonpositional())
      out.options.push_back(outline_of(*option));
    else
      out.arguments = candidates_of(option->get_type_name());
  }
  return out;
}

}  // namespace

std::vector<CommandOutline> outline_of(const CLI::App& app) {
  std::vector<CommandOutline> commands;
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(outline_of_command(*command));
  return commands;
}

}  // namespace pipeloom::cli
