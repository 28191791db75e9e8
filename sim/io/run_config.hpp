#pragma once

// One run, as a configuration file and options describe it: typed, every number checked.

#include <optional>
#include <string>
#include <vector>

#include "sim/cost/cost_spec.hpp"
#include "sim/error.hpp"
#include "sim/io/json_value.hpp"
#include "sim/steps.hpp"

namespace pipeloom::io {

/// Keys of "options", with their places for whoever refuses them later.
struct RunOptions {
  std::optional<int> group_size;
  Where group_size_where;
  bool forward_only = false;
};

struct RunConfig {
  /// The name as typed; which schedule that is, schedules::find says. Empty when a schedule file takes its place.
  std::string schedule;
  Where schedule_where;
  int ranks = 0;         ///< p; 0 when a schedule file takes its place
  int microbatches = 0;  ///< m; likewise
  std::optional<int> chunks;
  Where ranks_where;
  Where microbatches_where;
  Where chunks_where;
  RunOptions options;
  cost::CostSpec costs;
  cost::MemorySpec memory;
  Steps step;
  /// Keys that the input does not mention, so that their defaults hold: "costs.transfer.latency", ...
  std::vector<std::string> defaulted;
  /// Such as decimals with more digits than a tick holds: "file:line:column: ...", without "warning:".
  std::vector<std::string> warnings;
};

/// What the input must say: a whole run, or only what goes with a schedule that comes from a file.
enum class Needs : unsigned char { Run, CostsOnly };

/// Reads a configuration. Throws InputError (file:line:column, found, allowed, what to do) at the first thing that is wrong:
/// unknown keys, wrong types, numbers out of range (p, m, v: 1 .. 2^20), negative times, models that this version does not have.
/// What depends on the schedule (lengths of arrays, stages of tables) is checked when costs are resolved.
[[nodiscard]] RunConfig read_run_config(const Value& root, Needs needs = Needs::Run);

/// True if the object looks like a schedule file rather than a configuration: it has "orders".
[[nodiscard]] bool is_schedule_file(const Value& root);

}  // namespace pipeloom::io
