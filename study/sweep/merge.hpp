#pragma once

// Shards become the whole: the same bytes as one run would have written.

#include <cstdint>
#include <string>
#include <vector>

namespace pipeloom::sweep {

/// Merges by point number in one pass with memory for one line per file. Throws InputError, naming file and line, for files that are
/// no results or belong to another grid, version or set of metrics, for points that come twice or out of order, that belong to another
/// shard, and for missing ones: "incomplete: 31 of 100 points are missing, first 17 (shard 3/7 stops after 42; run it with --resume)".
/// Returns the number of points. `out` "-" is standard output; otherwise the file appears complete or not at all.
std::uint64_t merge(const std::vector<std::string>& files, const std::string& out, bool force);

}  // namespace pipeloom::sweep
