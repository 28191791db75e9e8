#pragma once

// The report of one run: what `simulate --json` prints and scripts read.

#include <iosfwd>
#include <optional>
#include <string>

#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/memory.hpp"
#include "sim/messages/program_engine.hpp"
#include "sim/timeline.hpp"

namespace pipeloom::io {

/// What messages cost where they block or queue; times of one step.
struct MessageSummary {
  std::string plan;  ///< as the configuration spells it, or "schedule"
  MessageTotals totals;
  /// How much shorter the makespan would be if no message waited in a queue behind another.
  Ticks lost_to_queues = 0;
};

/// The numbers that a report is written from. Views: what they point at outlives the call of write_report.
struct Report {
  const EffectiveConfig* config = nullptr;
  const MemoryModel* memory = nullptr;
  const Timeline* timeline = nullptr;
  const Metrics* metrics = nullptr;
  /// Null for runs too large for it; then the report has no such key.
  const CriticalPath* critical_path = nullptr;
  std::optional<OverLimit> over_limit;
  /// Null under the `latency` model.
  const MessageSummary* messages = nullptr;
};

/// What a report carries besides the numbers.
struct ReportParts {
  bool orders = false;
  bool timeline = false;
};

/// Writes the report as JSON, keys in the documented order, one rank and one timeline row per line. Times are exact
/// decimals in `time_unit`, ratios the shortest text that reads back. Equal inputs give equal bytes. Streams: no
/// more memory than a buffer. Rows carry "step" when there is more than one.
void write_report(std::ostream& out, const Report& report, const ReportParts& parts = {});

}  // namespace pipeloom::io
