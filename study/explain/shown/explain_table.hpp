#pragma once

// An explanation as a table: what the terminal, pages and the window show.

#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json/json_writer.hpp"
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

/// The first sentence about a measured run: "Slower than predicted by 43.0 ms (+15.6 %). Largest cause: rank 2 is slower by 30.0 %, +43.0 ms, give or
/// take 1.2 ms." "" where the two steps are equal.
[[nodiscard]] std::string why_of(const Explanation& explanation);

/// lines_below() for readers who know no measure of stragglers by its name.
[[nodiscard]] std::vector<std::string> plain_lines_below(const Explanation& explanation);

// An explanation as JSON: what `pipeloom explain --json` prints.

/// As one value, its members on lines of their own behind so many blanks.
void write_explanation(io::JsonWriter& out, const Explanation& explanation, std::string_view transfer_model,
                       int blanks);
/// Ends in a newline. Times are exact decimals in `time_unit`; `transfer_model` is that of the prediction, "" where none is known.
[[nodiscard]] std::string explanation_json(const Explanation& explanation, std::string_view transfer_model);

}  // namespace pipeloom::study::explain
