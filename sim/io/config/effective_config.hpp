#pragma once

// A configuration as it holds: the given values, every default and the values that follow from both.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/op.hpp>
#include "sim/cost/resolve.hpp"
#include "sim/io/config/config.hpp"

namespace pipeloom::io {

/// The configuration with every default and derived value spelt out, numbers of stages as arrays. Written back as a configuration file it
/// gives the same run.
struct EffectiveConfig : Config {
  KindSet kinds;  ///< of the schedule's ops
  [[nodiscard]] bool runs(OpKind kind) const { return kinds.has(kind); }
  /// Key path -> "default", "derived: ...", "alias Interleaved1F1B", in the order of the keys.
  std::vector<cost::Origin> origins;
};

/// Fills in costs, memory and steps as they are for this schedule: `given` is the user's input, the others follow from it.
/// `resolved`, `costs` and `memory` are of `given`; resolved.costs is not looked at.
void take_resolved(EffectiveConfig& config, const Config& given, const cost::ResolvedCosts& resolved,
                   const Costs& costs, const MemoryModel& memory, const Schedule& schedule);

/// Adds the origins of the values of `given` to config.origins, in the order of the keys: defaults of the input, then
/// `resolved`. Keys that do not hold have no origin.
void collect_origins(EffectiveConfig& config, const Config& given, const std::vector<cost::Origin>& resolved);

/// The value of key or group `path` as JSON, of a group the keys that differ from a configuration without them. "" if none does.
[[nodiscard]] std::string changed_text(std::string_view path, const Config& config);

/// Path -> JSON of every key that is given, or has another value than a configuration without it; set one after another they give the same
/// run. Options whose keys belong together (options.recompute) are one value. Names of files are relative to the working folder.
[[nodiscard]] std::map<std::string, std::string> stated_keys(const Config& config);

/// The configuration as one line of JSON: the "config" key of a report.
[[nodiscard]] std::string effective_config_text(const EffectiveConfig& config);

}  // namespace pipeloom::io
