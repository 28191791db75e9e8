#pragma once

// A configuration as a list of assignments, key path -> JSON text, as --set would take them; keys without an assignment have their default.

#include <map>
#include <string>

#include "sim/io/config/config.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::study {

/// "costs.forward" -> "1.5", "schedule" -> "\"1f1b\"": values are JSON.
using Assignments = std::map<std::string, std::string>;

/// The leaves of a configuration: objects that the table of keys knows as groups are walked, everything else is one value.
/// Throws InputError for keys that no configuration has.
[[nodiscard]] Assignments assignments_of(const io::Value& root);
/// The keys that stated_keys() lists of a configuration, with their values.
[[nodiscard]] Assignments assignments_of(const io::Config& config);
/// The assignments of `from` with the values of `to` where the two differ; all other texts stay as they were typed.
[[nodiscard]] Assignments with_changes(Assignments assignments, const io::Config& from, const io::Config& to);
/// The configuration that these describe. A costs file that "costs" names is read. Throws InputError as the readers do; places are the
/// keys.
[[nodiscard]] io::Config config_of(const Assignments& assignments);
/// The same, with the content of a costs file as assignments of its own. Throws InputError as its reader does.
[[nodiscard]] Assignments with_costs_inlined(const Assignments& assignments);
/// A value as people type it: "zb-h1" for "\"zb-h1\"".
[[nodiscard]] std::string shown_value(const std::string& json);

}  // namespace pipeloom::study
