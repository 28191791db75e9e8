// The program `pipeloom`.

#include <csignal>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "sim/io/json/process.hpp"

int main(int argc, char** argv) {
  pipeloom::io::prepare_process();
  // A reader that goes away (`pipeloom ... | head`) ends the program without a word, even if the parent ignores the
  // signal.
  std::signal(SIGPIPE, SIG_DFL);
  return pipeloom::cli::run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
