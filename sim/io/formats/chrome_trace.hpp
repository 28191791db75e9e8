#pragma once

// Timelines as Chrome traces (the JSON array format's object form), for Perfetto and chrome://tracing.
//
// One process per rank. Thread 0 holds ops that run alone and the first op of each overlapped group, thread n the group's
// op n: complete events of one thread never overlap, which viewers require. Times `ts` and `dur` are microseconds as
// the format wants; exact times stand as decimal text in `args`, in the timeline's unit. One abstract unit is shown as 1 ms.

#include <cstddef>
#include <iosfwd>
#include <optional>

#include <pipeloom/costs.hpp>
#include <pipeloom/simulate.hpp>

namespace pipeloom::io {

struct ChromeTraceOptions {
  /// Arrows for tensors that cross ranks, and memory as a counter per rank. No value: up to kChromeExtrasLimit ops.
  std::optional<bool> flows;
  std::optional<bool> counters;
};

/// More ops (all steps) than this, and flows and counters are left out unless asked for.
inline constexpr std::size_t kChromeExtrasLimit = 200'000;

/// Streams the trace: nothing it keeps grows with the number of ops, except one rank's memory curve at a time. Equal
/// inputs give equal bytes.
/// REQUIRES: the tables of `memory` fit the timeline's placement. Check `out` afterwards, as with any stream.
void write_chrome_trace(std::ostream& out, const Timeline& timeline, const MemoryModel& memory,
                        const ChromeTraceOptions& options = {});

}  // namespace pipeloom::io
