#pragma once

// The command line of pipeloom-gui.

#include <pipeloom/error.hpp>

namespace pipeloom::gui {

/// Reads the arguments, opens window or off-screen surface, runs script or user until the end. Throws as libraries do; usage errors are
/// InputErrors.
[[nodiscard]] ExitCode run_program(int argc, char** argv);

}  // namespace pipeloom::gui
