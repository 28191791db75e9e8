#pragma once

// Timelines as Chrome traces (the JSON array format's object form), for Perfetto and chrome://tracing.
//
// One process per rank, with a thread per lane: "ops" (those that run alone and the first op of each overlapped group), "overlapped" and
// "overlapped n" (the group's others), "copies out" (O), "copies in" (L), and "no length" where ops round to none. Complete events of one lane
// never overlap, which viewers require, and no thread has the number of a process, which Perfetto would take for one. Times `ts` and `dur`
// are microseconds as the format wants: both ends are rounded to nanoseconds and `dur` is their difference, because viewers round
// `ts` and `dur` each by itself and drop an event that then begins before the one before it ends. Exact times are decimal text in `args`, in the
// timeline's unit. One abstract unit is shown as 1 ms.

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

/// Streams the trace: nothing it keeps grows with the number of ops, except one rank's memory curve at a time and, with flows, the ops of no
/// length. Equal inputs give equal bytes.
/// REQUIRES: the tables of `memory` fit the timeline's placement. Check `out` afterwards, as with any stream.
void write_chrome_trace(std::ostream& out, const Timeline& timeline, const MemoryModel& memory,
                        const ChromeTraceOptions& options = {});

}  // namespace pipeloom::io
