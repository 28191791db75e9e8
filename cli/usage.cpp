#include "cli/usage.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <optional>
#include <string>
#include <vector>

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

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names{"help"};
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

InputError unknown_option(const CLI::App& app, const std::string& argument) {
  const std::string name = argument.substr(0, argument.find('='));
  const std::string nearest = nearest_name(name, long_options(app));
  const std::string hint = nearest.empty() ? "; see" : fmt::format("; did you mean '{}'? See", nearest);
  return InputError(fmt::format("unknown option '{}'{} `{}`", shortened(name, kShown), hint, help_of(app)));
}

std::optional<InputError> extra_argument(const CLI::App& app) {
  const CLI::App& command = selected(app);
  // Before a command's name stands what belongs to the program.
  auto left = app.remaining();
  if (left.empty() && &command != &app) left = command.remaining();
  if (left.empty()) return std::nullopt;
  for (const std::string& argument : left)
    if (argument.size() > 1 && argument.front() == '-' && argument != "--")
      return unknown_option(command, argument);
  if (&command == &app)
    return InputError::unknown_name({}, "command", shortened(left.front(), kShown), command_names(app));
  return InputError(
      fmt::format("unexpected argument '{}'; see `{}`", shortened(left.front(), kShown), help_of(command)));
}

/// CLI11's text where it is clear; "--ranks: 1 required P missing" is not.
std::string worded(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  const auto colon = text.find(": ");
  return colon == std::string::npos ? text : fmt::format("{} needs a value", text.substr(0, colon));
}

}  // namespace

void require_no_extras(const CLI::App& app) {
  if (const auto error = extra_argument(app)) throw InputError(*error);
}

InputError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (auto extra = extra_argument(app)) return *extra;
  return InputError(fmt::format("{}; see `{}`", worded(error), help_of(selected(app))));
}

}  // namespace pipeloom::cli
