#pragma once

// From the tree of a configuration to what a plan is made of: keys that may be left out, and what varies by default.

#include <string>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/io/json/json_value.hpp"
#include "study/plan/plan.hpp"

namespace pipeloom::study {

/// Files of models have none of a configuration's keys, and every configuration that says something has one. True for an empty tree.
[[nodiscard]] bool is_configuration(const io::Value& root);

/// Sets what a workload may leave out: 1f1b, 8 ranks, and four microbatches for each rank unless there is a global batch; a schedule file states its
/// own. Returns each key with its origin, "default: 8". Throws InputError where the ranks are no count.
std::vector<std::pair<std::string, std::string>> set_defaults(io::Document& document);

/// The parts that vary by default: chunks only where their number is not `chunks_given`.
[[nodiscard]] std::string usual_vary(bool model, bool chunks_given);
/// Reads "schedule,chunks". Throws InputError at `where`.
[[nodiscard]] VarySet vary_of(const std::string& words, const Where& where);
/// Reads an objective's name. Throws InputError at `where`.
[[nodiscard]] PlanObjective objective_of(const std::string& name, const Where& where);
[[nodiscard]] std::vector<std::string> objective_names();

}  // namespace pipeloom::study
