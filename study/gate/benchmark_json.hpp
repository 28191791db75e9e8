#pragma once

// The JSON of github-action-benchmark, for its tool "customSmallerIsBetter".

#include <string>

#include "study/suite/suite.hpp"

namespace pipeloom::study::gate {

/// [{"name": "<case>/<metric>", "unit": "ms", "value": 33.0}]: a slash groups its charts by case. One file has one direction, and in ours less
/// is better: metrics without a direction and those of which more is better are left out.
[[nodiscard]] std::string benchmark_json(const CheckResult& result);

}  // namespace pipeloom::study::gate
