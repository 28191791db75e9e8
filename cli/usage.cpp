#include "cli/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/base/text_tools.hpp"
#include "version.hpp"

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

/// What the program itself could not use.
InputError misplaced(const Usage& usage, const std::string& argument) {
  if (usage.command != nullptr)
    return InputError(fmt::format("'{}' stands before the command; write it after '{}'",
                                  shortened(argument, kShown), shortened(usage.command->name, kShown)));
  return is_option(argument) ? unknown_option(usage, argument) : unknown_command(usage.line, argument);
}

std::optional<InputError> extra_argument(const Usage& usage) {
  if (!usage.before.empty()) return misplaced(usage, usage.before.front());
  const auto& left = usage.behind;
  if (left.empty() || usage.passes_on()) return std::nullopt;
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option != left.end()) return unknown_option(usage, *option);
  return InputError(fmt::format("unexpected argument '{}'{}; see `{}`", shortened(left.front(), kShown),
                                advice_on(left.front(), usage.command->options), help_of(usage)));
}

}  // namespace

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

namespace {

constexpr std::string_view kBefore =
    ".SH NAME\n"
    "pipeloom \\- simulate pipeline\\-parallel training schedules\n"
    ".SH SYNOPSIS\n"
    ".B pipeloom\n.I COMMAND\n.RI [ OPTION ]...\n"
    ".SH DESCRIPTION\n"
    "Simulates pipeline\\-parallel training schedules and says where their time and memory go: makespan, "
    "bubbles,\n"
    "peak memory, critical path and the causes of idle time. Reads configurations and schedule files of its "
    "own\n"
    "and of PyTorch, and checks suites of runs against a baseline.\n";

constexpr std::string_view kAfter =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nfine\n"
    ".TP\n.B 1\nit ran, but the answer is no: a difference in\n.BR check ,\n"
    "an illegal or hanging schedule in\n.BR validate ,\nover the memory limit\n"
    ".TP\n.B 2\nwrong usage, unreadable input, parameters that a schedule refuses\n"
    ".TP\n.B 3\na disk, device or worker failed\n"
    ".TP\n.B 70\na defect of the program\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B NO_COLOR\nif set, output has no colours.\n";

/// Text in which roff sees nothing of its own.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  // A line that begins with a full stop or an apostrophe would be a request.
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string synopsis_of(const SubCommand& command) {
  std::string out = fmt::format("pipeloom {}", command.name);
  for (const Argument& option : command.options.all())
    if (option.is_positional)
      out += option.is_required ? " " + option.names.front() : fmt::format(" [{}]", option.names.front());
  return out;
}

std::string entry_of(const Argument& option) {
  std::string out = fmt::format(".TP\n\\fB{}\\fR", plain(join(option.names, ", ")));
  if (!option.is_positional && option.takes_value()) out += fmt::format(" \\fI{}\\fR", plain(option.type));
  return out + "\n" + plain(option.help) + "\n";
}

/// What help says below the options, line by line.
std::string footer_of(const OptionList& list) {
  const std::string& text = list.footer();
  if (text.empty()) return {};
  std::string out = ".PP\n.nf\n";
  for (std::size_t begin = text.front() == '\n' ? 1 : 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += plain(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return out + ".fi\n";
}

}  // namespace

std::string man_page(const CommandLine& line) {
  std::string out = fmt::format(".TH PIPELOOM 1 \"\" \"pipeloom {}\" \"User Commands\"\n", kVersion);
  out += kBefore;
  out += ".SH COMMANDS\n";
  for (const SubCommand& command : line.commands)
    out += fmt::format(".TP\n.B {}\n{}.\n", command.name, plain(command.summary));
  out += ".SH OPTIONS\n";
  for (const SubCommand& command : line.commands) {
    out += fmt::format(".SS {}\n", plain(synopsis_of(command)));
    for (const Argument& option : command.options.all()) out += entry_of(option);
    out += footer_of(command.options);
  }
  return out + std::string(kAfter);
}

}  // namespace pipeloom::cli
