// pipeloom completion SHELL: a script that makes the shell complete commands, options, schedules and keys.

#include "cli/completion.hpp"

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/options.hpp"

namespace pipeloom::cli::commands {
namespace {

ExitCode run_completion(const std::string& shell) {
  require_choice("completion", shell, {"bash", "zsh", "fish"});
  const auto commands = outline_of(command_line());
  print(shell == "bash"  ? bash_completion(commands)
        : shell == "zsh" ? zsh_completion(commands)
                         : fish_completion(commands));
  return ExitCode::Ok;
}

}  // namespace

Run completion(OptionList& list) {
  auto shell = std::make_shared<std::string>();
  list.set_footer(
      "\nFor bash: eval \"$(pipeloom completion bash)\" in ~/.bashrc\n"
      "For zsh:  source <(pipeloom completion zsh) in ~/.zshrc, after compinit\n"
      "For fish: pipeloom completion fish > ~/.config/fish/completions/pipeloom.fish");
  list.positional("SHELL", *shell, "bash|zsh|fish", "Which shell").required();
  return [shell] { return run_completion(*shell); };
}

}  // namespace pipeloom::cli::commands
