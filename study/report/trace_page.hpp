#pragma once

// Description of a trace of a real run, rank by rank.

#include <string>

#include "sim/io/json/json_writer.hpp"
#include "sim/io/traces/assemble.hpp"

namespace pipeloom::study {

/// A line a rank: "rank 0: 2 whole steps, 1 left out; ends with B of stage 0, microbatch 7; clock 0.0 ms; times of the host, 14 of 32 ops begin when their
/// message was there; rank0.json".
[[nodiscard]] std::string trace_page(const io::TraceRun& run);

/// The same as the member "trace" of an object, a list of an object a rank; times in the unit of the timeline.
void write_trace(io::JsonWriter& out, const io::TraceRun& run);

}  // namespace pipeloom::study
