#pragma once

// Action lists that PyTorch's own passes made, as the tests of sim/torch read them.

#include <nlohmann/json.hpp>
#include <string>

#include "sim/actions.hpp"

namespace pipeloom::recorded {

/// tests/golden/torch_lowered/index.json.
const nlohmann::json& torch_index();
/// The part `<id>.<kind>` of the recorded schedule; the test fails if there is none.
ActionLists torch_lists(const nlohmann::json& schedule, const std::string& kind);
bool has_kind(const nlohmann::json& schedule, const std::string& kind);
/// tests/golden/torch_lowered/custom/<name>.csv.
std::string custom_text(const std::string& name);
/// Rows of cells as text, one line per rank: what a failing comparison shows.
std::string rows_text(const ActionLists& lists);

}  // namespace pipeloom::recorded
