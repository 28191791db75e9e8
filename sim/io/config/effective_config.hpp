#pragma once

// A configuration as it holds: what was given, every default and what follows from both.

#include <string>
#include <vector>

#include "sim/cost/resolve.hpp"
#include "sim/io/config/run_config.hpp"
#include "sim/memory.hpp"
#include "sim/steps.hpp"

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

/// It as one line of JSON: the "config" key of a report.
[[nodiscard]] std::string effective_config_text(const EffectiveConfig& config);

}  // namespace pipeloom::io
