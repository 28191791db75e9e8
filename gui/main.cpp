// pipeloom-gui: the window.

#include <exception>
#include <iostream>
#include <new>

#include <pipeloom/error.hpp>
#include "gui/program.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/io/json/process.hpp"

int main(int argc, char** argv) {
  pipeloom::io::prepare_process();
  try {
    return static_cast<int>(pipeloom::gui::run_program(argc, argv));
  } catch (const pipeloom::Error& error) {
    std::cerr << error.line() << '\n';
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    std::cerr << "error: out of memory; open fewer or smaller runs\n";
    return static_cast<int>(pipeloom::ExitCode::DeviceFailed);
  } catch (const std::exception& error) {
    std::cerr << "error: " << pipeloom::printable(error.what()) << "; this is a bug of pipeloom-gui\n";
    return static_cast<int>(pipeloom::ExitCode::Bug);
  }
}
