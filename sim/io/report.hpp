#pragma once

// The report of one run: what `simulate --json` prints and scripts read.

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/resolve.hpp"
#include "sim/critical_path.hpp"
#include "sim/io/run_config.hpp"
#include "sim/memory.hpp"
#include "sim/metrics.hpp"
#include "sim/program_engine.hpp"
#include "sim/timeline.hpp"

namespace pipeloom::io {

/// The configuration with every default and derived value spelt out. Written back as a configuration file it gives the same
/// run.
struct EffectiveConfig {
  std::string schedule;  ///< canonical name, or the schedule file's
  int ranks = 0;
  int microbatches = 0;
  int chunks = 1;
  RunOptions options;
  cost::CostSpec spec;  ///< as given
  cost::ResolvedCosts resolved;
  MemoryModel memory;
  int stages = 0;
  unsigned kinds = 0;  ///< bit index_of(kind): the schedule has such ops
  [[nodiscard]] bool runs(OpKind kind) const { return (kinds >> index_of(kind) & 1U) != 0; }
  Steps step;
  /// Key path -> "default", "derived: ...", "alias Interleaved1F1B", in the order of the keys.
  std::vector<cost::Origin> origins;
  /// What the search for the order warned about, for stderr; reports do not have it.
  std::vector<std::string> warnings;
};

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

/// The value of the report's "config" key alone, one line.
[[nodiscard]] std::string effective_config_text(const EffectiveConfig& config);

}  // namespace pipeloom::io
