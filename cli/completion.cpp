// The scripts for bash, zsh and fish.

#include "cli/completion.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "sim/io/models/find_model.hpp"
#include "study/report/schemas.hpp"
#include "study/text/shell_text.hpp"

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
  if (type_name == "MODEL") return {ValueKind::Words, io::model_names()};
  if (type_name == "HARDWARE") return {ValueKind::Words, io::hardware_names()};
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

namespace {

std::vector<std::string> all_option_names(const CommandOutline& command) {
  std::vector<std::string> names;
  for (const OptionOutline& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> names_of(const std::vector<CommandOutline>& commands) {
  std::vector<std::string> names;
  for (const CommandOutline& command : commands) names.push_back(command.name);
  return names;
}

// ---- bash

std::string bash_reply(const Candidates& values) {
  switch (values.kind) {
    case ValueKind::None:
      return "COMPREPLY=()";
    case ValueKind::File:
      return "_pipeloom_files";
    case ValueKind::Words:
      return fmt::format("_pipeloom_words {}", study::shell_quoted(join(values.words, " ")));
    case ValueKind::Assignment:
      return fmt::format("compopt -o nospace; _pipeloom_words {}",
                         study::shell_quoted(join(values.words, " ")));
  }
  return "";
}

std::string bash_case(const CommandOutline& command) {
  std::string out = fmt::format("    {})\n      case \"$previous\" in\n", command.name);
  for (const OptionOutline& option : command.options)
    if (option.takes_value)
      out += fmt::format("        {}) {}; return ;;\n", join(option.names, "|"), bash_reply(option.values));
  out +=
      fmt::format("      esac\n      if [[ $current == -* ]]; then _pipeloom_words {}; else {}; fi ;;\n",
                  study::shell_quoted(join(all_option_names(command), " ")), bash_reply(command.arguments));
  return out;
}

// ---- zsh

/// Text inside an _arguments specification, where ':' and brackets separate.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Candidates& values) {
  switch (values.kind) {
    case ValueKind::None:
      return " ";
    case ValueKind::File:
      return "_files";
    case ValueKind::Words:
      return fmt::format("({})", join(values.words, " "));
    case ValueKind::Assignment:
      return fmt::format("compadd -S '' -- {}", join(values.words, " "));
  }
  return "";
}

std::string zsh_case(const CommandOutline& command) {
  std::string out = fmt::format("    {}) _arguments", command.name);
  for (const OptionOutline& option : command.options)
    for (const std::string& name : option.names) {
      const std::string value = option.takes_value ? fmt::format(":value:{}", zsh_action(option.values)) : "";
      out +=
          " \\\n      " + study::shell_quoted(fmt::format("*{}[{}]{}", name, zsh_text(option.help), value));
    }
  if (command.arguments.kind != ValueKind::None)
    out += " \\\n      " + study::shell_quoted(fmt::format("*:argument:{}", zsh_action(command.arguments)));
  return out + " ;;\n";
}

// ---- fish

std::string fish_words(const Candidates& values) {
  switch (values.kind) {
    case ValueKind::None:
      return " -f";
    case ValueKind::File:
      return " -F";
    case ValueKind::Words:
    case ValueKind::Assignment:
      return " -f -a " + study::shell_quoted(join(values.words, " "));
  }
  return "";
}

std::string fish_option(const OptionOutline& option) {
  std::string out;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (option.takes_value) out += " -r" + fish_words(option.values);
  return out + " -d " + study::shell_quoted(option.help);
}

}  // namespace

std::string bash_completion(const std::vector<CommandOutline>& commands) {
  std::string cases;
  for (const CommandOutline& command : commands) cases += bash_case(command);
  return fmt::format(R"sh(# bash completion of pipeloom: eval "$(pipeloom completion bash)"
_pipeloom_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }}
_pipeloom_files() {{ compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current"); }}
_pipeloom() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  if ((COMP_CWORD == 1)); then _pipeloom_words {}; return; fi
  # Readline splits --set costs.forward at the equals sign: what follows it is a value that cannot be guessed.
  if [[ $current == '=' || $previous == '=' ]]; then COMPREPLY=(); return; fi
  case "${{COMP_WORDS[1]}}" in
{}  esac
}}
complete -F _pipeloom pipeloom
)sh",
                     study::shell_quoted(join(names_of(commands), " ") + " --help --version"), cases);
}

std::string zsh_completion(const std::vector<CommandOutline>& commands) {
  std::string list;
  std::string cases;
  for (const CommandOutline& command : commands) {
    list += fmt::format("    {}\n", study::shell_quoted(command.name + ":" + zsh_text(command.help)));
    cases += zsh_case(command);
  }
  return fmt::format(R"sh(#compdef pipeloom
# zsh completion of pipeloom: source <(pipeloom completion zsh), or save it as _pipeloom in a folder of $fpath
_pipeloom() {{
  local -a commands=(
{}  )
  if ((CURRENT == 2)); then _describe command commands; return; fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
{}  esac
}}
if [[ $funcstack[1] == _pipeloom ]]; then _pipeloom "$@"; else compdef _pipeloom pipeloom; fi
)sh",
                     list, cases);
}

std::string fish_completion(const std::vector<CommandOutline>& commands) {
  std::string out =
      "# fish completion of pipeloom: pipeloom completion fish | source\n"
      "complete -c pipeloom -f\n";
  for (const CommandOutline& command : commands) {
    out += fmt::format("complete -c pipeloom -n __fish_use_subcommand -a {} -d {}\n", command.name,
                       study::shell_quoted(command.help));
    const std::string within =
        fmt::format("complete -c pipeloom -n '__fish_seen_subcommand_from {}'", command.name);
    for (const OptionOutline& option : command.options) out += within + fish_option(option) + '\n';
    if (command.arguments.kind != ValueKind::None) out += within + fish_words(command.arguments) + '\n';
  }
  return out;
}

}  // namespace pipeloom::cli
