#pragma once

// sweep --dry-run: what a sweep would do, before it does it.

#include <string>

#include "cli/sweep/sweep_options.hpp"

namespace pipeloom::cli {

/// How many points the grid has, which of them would be refused and why, and about how long the others take: from up to a second of
/// evaluating points spread evenly over the grid. Writes nothing.
[[nodiscard]] std::string dry_run_page(const sweep::Grid& grid, const sweep::SweepOptions& options);

}  // namespace pipeloom::cli
