#pragma once

// An explanation as a table: what the terminal, pages and the window show.

#include <string>
#include <vector>

#include "study/explain/explain.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study::explain {

/// "+64.8 ms"; "0.0 ms" without a sign.
[[nodiscard]] std::string signed_time(Ticks ticks, TimeUnit unit);

/// "measured 402.8 ms, predicted 338.0 ms: +64.8 ms (+19.17 %)", and of how many steps that is the mean.
[[nodiscard]] std::string headline_of(const Explanation& explanation);

/// A row for each cause, largest amount first: cause, amount, of the step, sd, alone, if fixed.
[[nodiscard]] Table causes_table(const Explanation& explanation);

/// Lines for below the table: causes too small for a row, how uneven work slows the step, and which ranks make it so.
[[nodiscard]] std::vector<std::string> lines_below(const Explanation& explanation);

}  // namespace pipeloom::study::explain
