#pragma once

// The report of one run: `simulate --json` prints it, and scripts read it.

#include <iosfwd>
#include <span>

#include <pipeloom/run.hpp>
#include "study/report/metric.hpp"
#include "study/run/scenario_run.hpp"

namespace pipeloom::study {

/// Parts of a report in addition to the numbers.
struct ReportParts {
  bool orders = false;
  bool timeline = false;
  bool critical_path = true;  ///< where it is known
  const ScenarioSummary* scenarios = nullptr;
};

/// Writes the report as JSON, keys in the documented order, one rank and one timeline row per line. Times are exact
/// decimals in `time_unit`, ratios the shortest text that reads back. Equal inputs give equal bytes. REQUIRES: run.effective, run.metrics. Streams: no
/// more memory than a buffer. Rows carry "step" when there is more than one. `table` has the metrics.
void write_report(std::ostream& out, const Run& run, const ReportParts& parts = {},
                  std::span<const Metric> table = all_metrics());

}  // namespace pipeloom::study
