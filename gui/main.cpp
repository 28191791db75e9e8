// pipeloom-gui: the window.

#include <exception>
#include <iostream>

#include "gui/program.hpp"
#include "sim/error.hpp"

int main(int argc, char** argv) {
  try {
    return static_cast<int>(pipeloom::gui::run_program(argc, argv));
  } catch (const pipeloom::Error& error) {
    std::cerr << error.line() << '\n';
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "; this is a bug of pipeloom-gui\n";
    return static_cast<int>(pipeloom::ExitCode::Bug);
  }
}
