#include "cli/completion.hpp"

#include <algorithm>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/man_page.hpp"
#include "support/catch.hpp"

namespace completion_test {

using namespace pipeloom::cli;

namespace {

const CommandOutline& command_of(const std::vector<CommandOutline>& commands, const std::string& name) {
  return *std::find_if(commands.begin(), commands.end(),
                       [&](const auto& command) { return command.name == name; });
}

const OptionOutline* option_of(const CommandOutline& command, const std::string& name) {
  for (const OptionOutline& option : command.options)
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) return &option;
  return nullptr;
}

bool offers(const Candidates& candidates, const std::string& word) {
  return std::find(candidates.words.begin(), candidates.words.end(), word) != candidates.words.end();
}

}  // namespace

TEST_CASE("the outline holds every command") {
  const auto commands = outline_of(command_line());
  CHECK(commands.size() == all_commands().size());
  for (const Command& command : all_commands())
    CHECK(command_of(commands, std::string(command.name)).help == command.summary);
  CHECK(offers(command_of(commands, "help").arguments, "simulate"));
}

TEST_CASE("the manual page has every option of every command") {
  const CommandLine line = command_line();
  const std::string page = man_page(line);
  for (const auto& command : outline_of(line)) {
    CAPTURE(command.name);
    const std::size_t section = page.find("\n.SS pipeloom " + command.name);
    REQUIRE(section != std::string::npos);
    const std::string text = page.substr(section, page.find("\n.S", section + 1) - section);
    for (const OptionOutline& option : command.options)
      for (const std::string& name : option.names) {
        std::string in_roff;
        for (const char c : name) in_roff += c == '-' ? std::string("\\-") : std::string(1, c);
        CHECK(text.find(in_roff) != std::string::npos);
      }
  }
}

TEST_CASE("what may follow an option comes from its type") {
  const auto commands = outline_of(command_line());
  const CommandOutline& simulate = command_of(commands, "simulate");
  CHECK(offers(option_of(simulate, "--schedule")->values, "zb-h1"));
  CHECK(option_of(simulate, "--set")->values.kind == ValueKind::Assignment);
  CHECK(offers(option_of(simulate, "--set")->values, "costs.transfer.latency="));
  CHECK_FALSE(offers(option_of(simulate, "--set")->values, "costs="));
  CHECK(option_of(simulate, "-o")->values.kind == ValueKind::File);
  CHECK(offers(option_of(simulate, "--color")->values, "never"));
  CHECK_FALSE(option_of(simulate, "--chart")->takes_value);
  CHECK(simulate.arguments.kind == ValueKind::File);
  CHECK(offers(option_of(command_of(commands, "convert"), "--to")->values, "torch-compute"));
  CHECK(offers(command_of(commands, "schedules").arguments, "dualpipe-v"));
}

TEST_CASE("every option of every command is in every script") {
  const auto commands = outline_of(command_line());
  const std::string bash = bash_completion(commands);
  const std::string zsh = zsh_completion(commands);
  const std::string fish = fish_completion(commands);
  for (const CommandOutline& command : commands)
    for (const OptionOutline& option : command.options)
      for (const std::string& name : option.names) {
        CAPTURE(command.name, name);
        CHECK(bash.find(name) != std::string::npos);
        CHECK(zsh.find("*" + name + "[") != std::string::npos);
        CHECK(fish.find(name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1)) !=
              std::string::npos);
      }
}

TEST_CASE("quotes and colons in a help text do not end it") {
  CommandOutline command;
  command.name = "x";
  command.options.push_back({{"--y"}, "it's a: [thing]", false, {}});
  CHECK(fish_completion({command}).find("-d 'it'\\''s a: [thing]'") != std::string::npos);
  CHECK(zsh_completion({command}).find("'*--y[it'\\''s a\\: \\[thing\\]]'") != std::string::npos);
}

}  // namespace completion_test
