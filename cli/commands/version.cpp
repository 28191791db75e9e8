// pipeloom version: as --version.

#include "version.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/command.hpp"
#include "cli/console.hpp"

namespace pipeloom::cli::commands {

Run version(CLI::App& /*app*/) {
  return [] {
    print(fmt::format("pipeloom {}\n", kVersion));
    return ExitCode::Ok;
  };
}

}  // namespace pipeloom::cli::commands
