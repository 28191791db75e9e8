// The program `pipeloom`.

#include <csignal>
#include <string>
#include <vector>

#include "cli/app.hpp"

int main(int argc, char** argv) {
  // A reader that goes away (`pipeloom ... | head`) ends the program without a word, even if the parent ignores the
  // signal. Ctrl-C keeps its default too: files appear complete or not at all, so there is nothing to tidy up.
  std::signal(SIGPIPE, SIG_DFL);
  return pipeloom::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
