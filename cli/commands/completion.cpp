// pipeloom completion SHELL: a script that makes the shell complete commands, options, schedules and keys.

#include "cli/completion.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"

namespace pipeloom::cli::commands {
namespace {

ExitCode run_completion(const CLI::App& program, const std::string& shell) {
  require_choice("completion", shell, {"bash", "zsh", "fish"});
  const auto commands = outline_of(program);
  print(shell == "bash"  ? bash_completion(commands)
        : shell == "zsh" ? zsh_completion(commands)
                         : fish_completion(commands));
  return ExitCode::Ok;
}

}  // namespace

Run completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.footer(
      "\nFor bash: eval \"$(pipeloom completion bash)\" in ~/.bashrc\n"
      "For zsh:  source <(pipeloom completion zsh) in ~/.zshrc, after compinit\n"
      "For fish: pipeloom completion fish > ~/.config/fish/completions/pipeloom.fish");
  app.add_option("SHELL", *shell, "Which shell")->type_name("bash|zsh|fish")->required();
  return [shell, program = app.get_parent()] { return run_completion(*program, *shell); };
}

}  // namespace pipeloom::cli::commands
