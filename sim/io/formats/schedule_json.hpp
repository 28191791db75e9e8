#pragma once

// A schedule as JSON:
//
//   {"ranks": 2, "stages": 2, "microbatches": 1, "placement": [[0], [1]], "orders": [["0F0", "0B0"], ["1F0", "1B0"]]}
//
// placement[r] lists the stages of rank r; orders[r] is its queue in PyTorch's op text. With replicas a stage stands on several
// ranks, and which replica a microbatch belongs to follows from where its ops stand.

#include <iosfwd>
#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/io/json/json_value.hpp"

namespace pipeloom::io {

/// Throws InputError at the first entry that does not fit: an op that does not parse or is out of range, counts that
/// disagree with the arrays, a placement that contradicts the orders. "ranks", "stages", "microbatches" and "placement" may
/// be left out; then the orders say them. Whether the schedule can run is validate()'s question.
[[nodiscard]] Schedule read_schedule_json(const Value& root);

/// One queue per line.
void write_schedule_json(std::ostream& out, const Schedule& schedule);

}  // namespace pipeloom::io
