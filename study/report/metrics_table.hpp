#pragma once

// The one table of metrics: name, unit, which direction is better, how to get it. Suites, sweeps and comparisons
// know metrics through it only.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {

enum class Better : unsigned char { Lower, Higher, Neither };

struct Metric {
  std::string_view name;  ///< as in the report: "makespan"
  std::string_view unit;  ///< "time_unit", "bytes", "ratio" or "count"
  Better better = Better::Lower;
  std::string_view help;
  /// The value as the report writes it: exact decimal text for times, shortest round trip for ratios.
  std::string (*text)(const Evaluation&) = nullptr;
};

[[nodiscard]] std::span<const Metric> all_metrics();
/// Throws InputError suggesting the nearest name and listing all.
[[nodiscard]] const Metric& find_metric(std::string_view name, const Where& where = {});

}  // namespace pipeloom::study
