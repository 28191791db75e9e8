#pragma once

// JSON Schemas (draft 2020-12) of the files that Pipeloom reads and writes.

#include <string>
#include <string_view>
#include <vector>

#include "study/report/metric.hpp"

namespace pipeloom::study {

/// "config", "report", "schedule", "suite", "baseline", "comparison", "grid", "sweep-result" (of a line), "check", "run", "explanation".
[[nodiscard]] std::vector<std::string> schema_names();
/// The schema's text, ending in a newline. Throws InputError for an unknown name.
[[nodiscard]] std::string schema_text(std::string_view name);

/// The schema of a report whose metrics are those of `table`: schemas/report.json with their properties put in.
[[nodiscard]] std::string report_schema(std::span<const Metric> table = all_metrics());

}  // namespace pipeloom::study
