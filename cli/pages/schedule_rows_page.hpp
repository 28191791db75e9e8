#pragma once

// All schedules at one shape and one set of costs, as `pipeloom schedules --ranks P --microbatches M` prints them.

#include <string>
#include <vector>

#include "cli/console.hpp"
#include "study/report/schedule_rows.hpp"

namespace pipeloom::cli {

/// A table of the schedules that run, then for each of the others a line that says why it cannot.
[[nodiscard]] std::string schedule_rows_page(const std::vector<study::ScheduleRow>& rows,
                                             const Screen& screen);
/// Ends in a newline. Times are of one update, in the unit of the costs; unknown values of a row are null.
[[nodiscard]] std::string schedule_rows_json(const std::vector<study::ScheduleRow>& rows);

}  // namespace pipeloom::cli
