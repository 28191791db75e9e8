#pragma once

// The report of one run: what `simulate --json` prints and scripts read.

#include <iosfwd>
#include <optional>
#include <span>

#include "study/report/metric.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {

/// The numbers that a report is written from. Views: what they point at outlives the call of write_report.
struct Report {
  const io::EffectiveConfig* config = nullptr;
  const Timeline* timeline = nullptr;
  const Metrics* metrics = nullptr;
  /// Null for runs too large for it; then the report has no such key.
  const CriticalPath* critical_path = nullptr;
  std::optional<OverLimit> over_limit;
  /// Null under the `latency` model.
  const MessageSummary* messages = nullptr;
};

[[nodiscard]] Report report_of(const Evaluation& run);

/// What a report carries besides the numbers.
struct ReportParts {
  bool orders = false;
  bool timeline = false;
};

/// Writes the report as JSON, keys in the documented order, one rank and one timeline row per line. Times are exact
/// decimals in `time_unit`, ratios the shortest text that reads back. Equal inputs give equal bytes. Streams: no
/// more memory than a buffer. Rows carry "step" when there is more than one. `table` has the metrics.
void write_report(std::ostream& out, const Report& report, const ReportParts& parts = {},
                  std::span<const Metric> table = all_metrics());

}  // namespace pipeloom::study
