#pragma once

// Bencher Metric Format: the JSON that Bencher tracks.

#include <string>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

/// {"<case>": {"<metric>": {"value": 33.0}}}: every metric of every case that has any, values as in the report. The unit of times is the
/// case's own. Cases without metrics (illegal, hanging) are left out.
[[nodiscard]] std::string bmf(const CheckResult& result);

}  // namespace pipeloom::study::gate
