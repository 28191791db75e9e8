#pragma once

// Shards become the whole: the same bytes as one run would have written.

#include <cstdint>
#include <string>
#include <vector>

namespace pipeloom::sweep {

struct MergeSummary {
  std::uint64_t points = 0;
  int files = 0;
};

/// Merges by point number in one pass with memory for one line per file; both formats, but one at a time. Throws InputError, naming file
/// and line, for files that are no results or belong to another grid, version, format or set of metrics, for points that come twice or out
/// of order, that belong to another shard, and for missing ones: "incomplete: 31 of 100 points are missing, the first is 17 (shard 3/7 ends
/// before it; go on with it by --resume)". `out` "-" is standard output, which is written as the files are read; a file appears complete or
/// not at all, and replaces an existing one only if `force`.
MergeSummary merge(const std::vector<std::string>& files, const std::string& out, bool force);

}  // namespace pipeloom::sweep
