// pipeloom version: as --version.

#include "version.hpp"

#include <fmt/format.h>

#include "cli/command.hpp"
#include "cli/console.hpp"

namespace pipeloom::cli::commands {

Run version(OptionList& /*list*/) {
  return [] {
    print(fmt::format("pipeloom {}\n", kVersion));
    return ExitCode::Ok;
  };
}

}  // namespace pipeloom::cli::commands
