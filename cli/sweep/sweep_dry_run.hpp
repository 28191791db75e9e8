#pragma once

// sweep --dry-run: says what a sweep would do, without running it.

#include <optional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "cli/sweep/sweep_options.hpp"

namespace pipeloom::cli {

/// How many points the grid has, which of them would be refused and why, and about how long the others take: from up to a second of
/// evaluating points spread evenly over the grid. Writes nothing.
[[nodiscard]] std::string dry_run_page(const sweep::Grid& grid, const sweep::SweepOptions& options);

// `sweep --emit`: job files instead of a run (study/sweep/emit/emit.hpp, docs/sweeps.md).

struct EmitArguments {
  std::optional<std::string> scheduler;  ///< --emit
  std::optional<std::string> shards;
  std::optional<std::string> at_once;
  std::vector<std::string> directives;
};
/// --emit, --shards, --at-once, --directive.
void add_emit_options(OptionList& list, EmitArguments& arguments);

/// True with --emit. Throws InputError if an option that needs --emit is given without it.
[[nodiscard]] bool wants_jobs(const EmitArguments& arguments);

/// Writes the files of the jobs beside the result and prints the commands that submit them. The grid is read, so that errors in it are
/// reported here and not by a job in the night. Throws InputError.
ExitCode emit_jobs(const SweepArguments& sweep, const EmitArguments& arguments);

}  // namespace pipeloom::cli
