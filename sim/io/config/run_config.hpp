#pragma once

// One run, as a configuration file and options describe it: typed, every number checked.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/cost/cost_spec.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/steps.hpp"

namespace pipeloom::io {

/// "recompute": which forwards run again before their backward.
struct RecomputeOption {
  bool on = false;
  int keep = 0;  ///< of a rank's outstanding passes, so many keep their activations
  friend bool operator==(const RecomputeOption&, const RecomputeOption&) = default;
};

/// "offload": which activations go to the host meanwhile.
struct OffloadOption {
  bool on = false;
  std::optional<int> chunks;  ///< of each rank, the longest-lived first; no value: all
  int prefetch = 1;           ///< entries between the issue of a reload and its use
  int min_gap = 3;            ///< entries between forward and backward below which a pass stays
  friend bool operator==(const OffloadOption&, const OffloadOption&) = default;
};

/// "memory_limit": what an automatic schedule may hold. At most one is given.
struct MemoryLimitOption {
  std::optional<Bytes> bytes;
  std::optional<Scale> microbatches;  ///< in units of 1e-9
};

/// Keys of "options". What the input gives is in `given` too, with its place, for whoever refuses it later.
struct RunOptions {
  std::optional<int> group_size;
  /// Weight of every slice of a sequence; n equal ones for a number n. Empty: the schedule's default.
  std::vector<std::int64_t> slices;
  std::optional<int> waves;
  std::optional<int> updates;
  std::string variant;
  MemoryLimitOption memory_limit;
  /// The schedule file of `custom`, as given; relative to the configuration's folder.
  std::string file;
  RecomputeOption recompute;
  OffloadOption offload;
  bool forward_only = false;

  struct Given {
    std::string name;  ///< "group_size"
    Where where;
  };
  std::vector<Given> given;
  /// Where the input gives this option, or null.
  [[nodiscard]] const Where* place_of(std::string_view name) const;
};

/// The schedule that is a file: options.file names it; ranks and microbatches are the file's.
inline constexpr std::string_view kCustomSchedule = "custom";

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
/// A costs file that "costs" names is read too. What depends on the schedule (lengths of arrays, stages of tables) is checked when costs are resolved.
[[nodiscard]] RunConfig read_run_config(const Value& root, Needs needs = Needs::Run);

/// Puts the content of a costs file in the place of its name, so that single costs can be set on top of it:
/// "costs": "measured.json" names a file, relative to the configuration's folder, that holds what "costs" may hold. Throws
/// InputError if it cannot be read or holds no object.
void inline_costs_file(Document& document);

/// True if the object looks like a schedule file rather than a configuration: it has "orders".
[[nodiscard]] bool is_schedule_file(const Value& root);

}  // namespace pipeloom::io
