#include "cli/parse.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "cli/usage.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::cli {
namespace {

/// Puts an option to CLI11, by where its value goes.
struct Adder {
  CLI::App& app;
  const Argument& option;

  CLI::Option* operator()(Call call) const {
    const std::string names = join(option.names, ",");
    if (call == Call::Version) return app.set_version_flag(names, "", option.help);
    return call == Call::Help ? app.set_help_flag(names, option.help)
                              : app.set_help_all_flag(names, option.help);
  }
  CLI::Option* operator()(bool* value) const {
    return app.add_flag(join(option.names, ","), *value, option.help);
  }
  template <class Value>
  CLI::Option* operator()(Value* value) const {
    return app.add_option(join(option.names, ","), *value, option.help)->type_name(option.type);
  }
};

void add_option(CLI::App& app, const Argument& option) {
  CLI::Option* const added = std::visit(Adder{app, option}, option.target);
  if (option.is_required) added->required();
  // A word after the value is the command's: CLI11 would put all that follow into the list.
  if (option.keeps_all() && !option.is_positional) added->expected(1)->allow_extra_args(false);
  if (option.keeps_all()) added->take_all();
  if (option.separator != '\0') added->delimiter(option.separator);
  if (option.least) added->expected(*option.least, std::numeric_limits<int>::max());
  if (!option.heading.empty()) added->group(option.heading);
  // In place of CLI11's own words for these: "FILE x 2 REQUIRED".
  if (option.takes_value()) added->option_text(option.type + (option.least ? ".." : ""));
}

bool names_one_of(const std::vector<std::string>& names, const Argument& option) {
  const auto is_of_option = [&option](const std::string& name) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  };
  return std::any_of(names.begin(), names.end(), is_of_option);
}

/// Excludes options from each other; the help of an option lists those that it excludes, in the order of the list.
void add_exclusions(CLI::App& app, const OptionList& list) {
  for (const Argument& option : list.all()) {
    std::string others;
    for (const Argument& other : list.all()) {
      const bool excludes = names_one_of(option.excluded, other);
      if (excludes) app.get_option(option.names.front())->excludes(app.get_option(other.names.front()));
      if (excludes || names_one_of(other.excluded, option))
        others += (others.empty() ? "" : " or ") + other.names.front();
    }
    if (others.empty()) continue;
    CLI::Option* const added = app.get_option(option.names.front());
    added->description(fmt::format("{}; not with {}", option.help, others));
    if (!option.takes_value()) added->option_text(" ");
  }
}

void add_options(CLI::App& app, const OptionList& list) {
  for (const Argument& option : list.all()) add_option(app, option);
  add_exclusions(app, list);
}

std::unique_ptr<CLI::App> app_of(const CommandLine& line) {
  auto app = std::make_unique<CLI::App>(line.summary, line.program);
  // CLI11's own -h,--help would be in the way of ours.
  app->set_help_flag();
  add_options(*app, line.options);
  app->get_formatter()->column_width(34);
  app->require_subcommand(0, 1);
  // cli/usage.hpp words the errors about arguments that are left over.
  app->allow_extras();
  // The last of a repeated option wins, as in scripts that add to a command; lists say otherwise themselves.
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  for (const SubCommand& command : line.commands) {
    CLI::App* const sub = app->add_subcommand(command.name, command.summary);
    add_options(*sub, command.options);
    if (!command.task.empty()) sub->group(command.task);
    sub->footer(command.options.footer());
    sub->prefix_command(command.options.passed_on() != nullptr);
  }
  // Last: commands inherit the settings that exist when they are added.
  app->footer(line.options.footer());
  return app;
}

/// Leaves out options that have a heading, and the footer.
void shorten(const CommandLine& line, const SubCommand* command, CLI::App& app) {
  CLI::App& shown = command == nullptr ? app : *app.get_subcommand(command->name);
  const OptionList& list = command == nullptr ? line.options : command->options;
  bool any = false;
  for (const Argument& option : list.all()) {
    if (option.heading.empty()) continue;
    shown.get_option(option.names.front())->group("");
    any = true;
  }
  shown.footer(fmt::format("\n`{}{} --help` has {}examples.", line.program,
                           command == nullptr ? "" : ' ' + command->name, any ? "more options and " : ""));
}

/// CLI11's text where it is clear; "--ranks: 1 required P missing" is not.
std::string worded(const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  const auto colon = text.find(": ");
  return colon == std::string::npos ? text : fmt::format("{} needs a value", text.substr(0, colon));
}

/// The command that was named, or null, and the arguments that were left over.
Usage usage_of(const CommandLine& line, const CLI::App& app) {
  Usage usage{.line = line, .before = app.remaining()};
  const auto named = app.get_subcommands();
  if (named.empty()) return usage;
  usage.command = line.find(named.front()->get_name());
  usage.passed_on_args = named.front()->remaining();
  return usage;
}

}  // namespace

Parsed parse(const CommandLine& line, std::vector<std::string> arguments) {
  const auto app = app_of(line);
  // CLI11 takes the arguments as a stack.
  std::reverse(arguments.begin(), arguments.end());
  try {
    app->parse(arguments);
  } catch (const CLI::CallForHelp&) {
    return {Call::Help, usage_of(line, *app).command};
  } catch (const CLI::CallForAllHelp&) {
    return {Call::Brief, usage_of(line, *app).command};
  } catch (const CLI::CallForVersion&) {
    return {Call::Version, nullptr};
  } catch (const CLI::ParseError& error) {
    throw usage_error(usage_of(line, *app), worded(error));
  }
  const Usage usage = usage_of(line, *app);
  require_no_extras(usage);
  require_no_stray_values(usage);
  if (usage.passes_on()) *usage.command->options.passed_on() = usage.passed_on_args;
  return {std::nullopt, usage.command};
}

std::string help_text(const CommandLine& line, const SubCommand* command, Call call) {
  const auto app = app_of(line);
  if (call == Call::Brief) shorten(line, command, *app);
  // A subcommand's own name for itself lacks the program's.
  return command == nullptr ? app->help() : app->get_subcommand(command->name)->help(line.program);
}

}  // namespace pipeloom::cli
