#pragma once

// An explanation as JSON: what `pipeloom explain --json` prints.

#include <string>

#include "study/explain/explain.hpp"

namespace pipeloom::study::explain {

/// Ends in a newline. Times are exact decimals in `time_unit`; `transfer_model` is that of the prediction, "" where none is known.
[[nodiscard]] std::string explanation_json(const Explanation& explanation, std::string_view transfer_model);

}  // namespace pipeloom::study::explain
