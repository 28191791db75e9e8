#pragma once

// Timelines read back: measured runs, and simulations that were written earlier.
//
//   JSON lines   {"rank":0,"op":"0F0","start":0.0,"end":1.0}, keys in any order; "step" where there are several. A first line
//                {"time_unit":"ms"} says the unit; without it times are in `unit`. {"time_unit":"ms","partial":"why"} marks the rows
//                of a run that failed: the ops that ended.
//   table        a header line with the columns rank, op, start, end and perhaps step, in any order, then a line per op
//   report       the report of `simulate --json --include timeline`
//
// What the rows do not say follows from them: a rank's queue is its ops in order of their starts, ops with the same start and end on
// one rank are an overlapped group, the placement is where the ops ran.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/simulate.hpp>

namespace pipeloom::io {

/// The largest file of times: 1e6 ops are some 60 MB.
inline constexpr std::size_t kMaxTimelineBytes = std::size_t{2} << 30;

/// True if a file that begins like this is one of the three.
[[nodiscard]] bool looks_like_timeline(std::string_view text);

/// True if it names the unit of its times: a report does, JSON lines where their first line does, tables do not. REQUIRES: looks_like_timeline().
[[nodiscard]] bool says_unit(std::string_view text);

/// What to make of a run that failed.
enum class Partial : bool {
  Refuse,  ///< it is no timeline
  LastStep,  ///< the step that failed, as far as it got: a schedule of the ops that ended, in pictures and tables
};

/// A timeline as a file holds it.
struct TimelineFile {
  Timeline timeline;
  /// "file:line:column: ..." for stderr: one line for all times with more digits than a tick holds, at the first of them.
  std::vector<std::string> warnings;
};

struct TimelineRows;
/// The timeline that rows make, in any order; `name` is the file's in errors. Throws InputError as read_timeline() for what the rows say.
[[nodiscard]] TimelineFile timeline_of(TimelineRows rows, const std::string& name);

/// Why the run failed whose timeline begins like this; empty if it did not.
[[nodiscard]] std::string failure_of_partial(std::string_view text);

/// Throws InputError with file, line and column for whatever cannot be read: a row without one of its fields, an end before its start, an op
/// that stands twice, ops of one rank that overlap without starting and ending together, a step that lacks an op of the first.
/// The earliest start of all may be anything: times count from there. O(rows log rows); 1e6 rows take about 0.4 s.
[[nodiscard]] TimelineFile read_timeline(std::string_view text, const std::string& name,
                                         TimeUnit unit = TimeUnit::Unit, Partial partial = Partial::Refuse);

}  // namespace pipeloom::io
