#include "cli/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include <pipeloom/link.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::cli {
namespace {

constexpr std::size_t kShown = 64;

std::string help_of(const Usage& usage) {
  if (usage.command == nullptr) return usage.line.program + " --help";
  return fmt::format("{} {} --help", usage.line.program, usage.command->name);
}

std::vector<std::string> long_options(const OptionList& list) {
  std::vector<std::string> names;
  for (const Argument& option : list.all())
    for (const std::string& name : option.names)
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

InputError unknown_command(const CommandLine& line, std::string_view name) {
  std::vector<std::string> valid;
  for (const SubCommand& command : line.commands) valid.push_back(command.name);
  return InputError::unknown_name({}, "command", shortened(name, kShown), valid);
}

InputError unknown_option(const Usage& usage, const std::string& argument) {
  const OptionList& list = usage.command == nullptr ? usage.line.options : usage.command->options;
  const std::string name = argument.substr(0, argument.find('='));
  const std::string nearest = nearest_name(name, long_options(list));
  const std::string hint = nearest.empty() ? "; see" : fmt::format("; did you mean '{}'? See", nearest);
  return InputError(fmt::format("unknown option '{}'{} `{}`", shortened(name, kShown), hint, help_of(usage)));
}

bool is_option(const std::string& argument) {
  return argument.size() > 1 && argument.front() == '-' && argument != "--";
}

/// Of "--set A=1 B=2", B=2 is left: what to do about it, if an option of the list takes such words; else "".
std::string advice_on(const std::string& argument, const OptionList& list) {
  if (argument.find('=') == std::string::npos) return "";
  for (const Argument& option : list.all())
    if (option.is_repeatable && option.type.find('=') != std::string::npos)
      return fmt::format("; write {} before each of its values", option.names.front());
  return "";
}

/// The error about an argument that the program itself could not use.
InputError misplaced(const Usage& usage, const std::string& argument) {
  if (usage.command != nullptr)
    return InputError(fmt::format("'{}' stands before the command; write it after '{}'",
                                  shortened(argument, kShown), shortened(usage.command->name, kShown)));
  return is_option(argument) ? unknown_option(usage, argument) : unknown_command(usage.line, argument);
}

std::optional<InputError> extra_argument(const Usage& usage) {
  if (!usage.before.empty()) return misplaced(usage, usage.before.front());
  const auto& left = usage.passed_on_args;
  if (left.empty() || usage.passes_on()) return std::nullopt;
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option != left.end()) return unknown_option(usage, *option);
  return InputError(fmt::format("unexpected argument '{}'{}; see `{}`", shortened(left.front(), kShown),
                                advice_on(left.front(), usage.command->options), help_of(usage)));
}

std::vector<std::string> values_of(const Argument& argument) {
  if (const auto* const* one = std::get_if<std::string*>(&argument.target)) return {**one};
  if (const auto* const* all = std::get_if<std::vector<std::string>*>(&argument.target)) return **all;
  const auto* const* maybe = std::get_if<std::optional<std::string>*>(&argument.target);
  return maybe != nullptr && **maybe ? std::vector<std::string>{***maybe} : std::vector<std::string>{};
}

}  // namespace

void require_no_stray_values(const Usage& usage) {
  if (usage.command == nullptr || usage.passes_on()) return;
  const OptionList& list = usage.command->options;
  for (const Argument& argument : list.all()) {
    if (!argument.is_positional) continue;
    for (const std::string& value : values_of(argument)) {
      const std::string advice = advice_on(value, list);
      std::error_code unknown;
      if (!advice.empty() && !is_link(value) && !std::filesystem::exists(value, unknown))
        throw InputError(
            fmt::format("'{}' is no file{}; see `{}`", shortened(value, kShown), advice, help_of(usage)));
    }
  }
}

const SubCommand& require_command(const CommandLine& line, std::string_view name) {
  const SubCommand* command = line.find(name);
  if (command == nullptr) throw InputError(unknown_command(line, name));
  return *command;
}

void require_no_extras(const Usage& usage) {
  if (const auto error = extra_argument(usage)) throw InputError(*error);
}

InputError usage_error(const Usage& usage, std::string_view problem) {
  if (auto error = extra_argument(usage)) return *error;
  return InputError(fmt::format("{}; see `{}`", problem, help_of(usage)));
}

}  // namespace pipeloom::cli
