#pragma once

// Timelines as rows: rank, op, start, end. Streamed; a million ops take a tenth of a second.

#include <iosfwd>

#include <pipeloom/simulate.hpp>

namespace pipeloom::io {

/// JSON lines, by rank and queue order: {"rank":0,"op":"0F0","start":0.0,"end":1.0}. Ops of a group have a row
/// each. Times are exact decimals in the timeline's unit. With several steps every row starts with "step".
void write_timeline_jsonl(std::ostream& out, const Timeline& timeline);

/// The same behind a line that says the unit.
void write_timeline_with_unit(std::ostream& out, const Timeline& timeline);

/// The rows as a table with a header: rank,op,start,end (step first if there are several).
void write_timeline_csv(std::ostream& out, const Timeline& timeline);

}  // namespace pipeloom::io
