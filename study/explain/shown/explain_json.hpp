#pragma once

// An explanation as JSON: what `pipeloom explain --json` prints.

#include <string>
#include <string_view>

#include "sim/io/json/json_writer.hpp"
#include "study/explain/explain.hpp"

namespace pipeloom::study::explain {

/// As one value, its members on lines of their own behind so many blanks.
void write_explanation(io::JsonWriter& out, const Explanation& explanation, std::string_view transfer_model,
                       int blanks);
/// Ends in a newline. Times are exact decimals in `time_unit`; `transfer_model` is that of the prediction, "" where none is known.
[[nodiscard]] std::string explanation_json(const Explanation& explanation, std::string_view transfer_model);

}  // namespace pipeloom::study::explain
