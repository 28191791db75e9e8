#include "cli/usage.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace pipeloom::cli {
namespace {

constexpr std::size_t kShown = 64;

/// The command that was asked for, or the program itself.
const CLI::App& selected(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

std::string help_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? "pipeloom --help" : fmt::format("pipeloom {} --help", app.get_name());
}

std::vector<std::string> long_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

InputError unknown_command(std::string_view name) {
  std::vector<std::string> valid;
  for (const Command& command : all_commands()) valid.emplace_back(command.name);
  return InputError::unknown_name({}, "command", shortened(name, kShown), valid);
}

InputError unknown_option(const CLI::App& app, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  const std::string nearest = nearest_name(name, long_options(app));
  const std::string hint = nearest.empty() ? "; see" : fmt::format("; did you mean '{}'? See", nearest);
  return InputError(fmt::format("unknown option '{}'{} `{}`", shortened(name, kShown), hint, help_of(app)));
}

bool is_option(const std::string& argument) {
  return argument.size() > 1 && argument.front() == '-' && argument != "--";
}

/// What the program itself could not use.
InputError misplaced(const CLI::App& command, const std::string& argument) {
  if (command.get_parent() != nullptr)
    return InputError(fmt::format("'{}' stands before the command; write it after '{}'",
                                  shortened(argument, kShown), command.get_name()));
  return is_option(argument) ? unknown_option(command, argument) : unknown_command(argument);
}

std::optional<InputError> extra_argument(const CLI::App& app) {
  const CLI::App& command = selected(app);
  if (const auto before = app.remaining(); !before.empty()) return misplaced(command, before.front());
  const auto left = command.remaining();
  if (left.empty() || command.get_prefix_command()) return std::nullopt;
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option != left.end()) return unknown_option(command, *option);
  return InputError(
      fmt::format("unexpected argument '{}'; see `{}`", shortened(left.front(), kShown), help_of(command)));
}

/// CLI11's text where it is clear; "--ranks: 1 required P missing" is not.
std::string worded(const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  const auto colon = text.find(": ");
  return colon == std::string::npos ? text : fmt::format("{} needs a value", text.substr(0, colon));
}

}  // namespace

void require_command(std::string_view name) {
  const auto named = [name](const Command& command) { return command.name == name; };
  const bool known = std::any_of(all_commands().begin(), all_commands().end(), named);
  if (!known) throw InputError(unknown_command(name));
}

void require_no_extras(const CLI::App& app) {
  if (const auto error = extra_argument(app)) throw InputError(*error);
}

InputError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (auto extra = extra_argument(app)) return *extra;
  return InputError(fmt::format("{}; see `{}`", worded(error), help_of(selected(app))));
}

}  // namespace pipeloom::cli
