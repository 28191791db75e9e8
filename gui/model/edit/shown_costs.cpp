#include "gui/model/edit/shown_costs.hpp"

#include <algorithm>

#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

using study::Assignments;

/// Null for keys that are no duration of a kind. `path` may be an entry of one: "costs.forward.2".
const KindRow* kind_of_key(const std::string& path) {
  for (const KindRow& row : kKinds)
    if (path == row.cost_key || path.starts_with(std::string(row.cost_key) + ".")) return &row;
  return nullptr;
}

bool is_given(const Assignments& assignments, const KindRow& row) {
  return assignments.contains(std::string(row.cost_key));
}

/// True if durations come from elsewhere too: a file, a model, a table that was measured.
bool has_other_source(const Assignments& assignments) {
  return assignments.contains("costs") || assignments.contains("costs.model") ||
         assignments.contains("costs.table");
}

/// True if the kind's duration follows from others that are given.
bool follows(const Assignments& assignments, const KindRow& row) {
  return row.derived_from != KindSet{} && std::ranges::all_of(kKinds, [&](const KindRow& from) {
           return !row.derived_from.has(from.kind) || is_given(assignments, from);
         });
}

bool is_default(const Assignments& assignments, const KindRow& row) {
  const auto found = assignments.find(std::string(row.cost_key));
  return found == assignments.end() || found->second == std::to_string(row.default_units);
}

}  // namespace

Assignments with_shown_costs(const Assignments& before, Assignments next, const std::string& path,
                             KindSet kinds) {
  const auto given = [&](const KindRow& row) { return is_given(before, row); };
  if (kind_of_key(path) == nullptr || has_other_source(next) || std::ranges::any_of(kKinds, given))
    return next;
  for (const KindRow& row : kKinds)
    if (kinds.has(row.kind)) next.try_emplace(std::string(row.cost_key), std::to_string(row.default_units));
  return next;
}

std::string default_cost(const Assignments& assignments, const std::string& path) {
  const KindRow* row = kind_of_key(path);
  const auto given = [&](const KindRow& each) { return is_given(assignments, each); };
  if (row == nullptr || path != row->cost_key || has_other_source(assignments) ||
      std::ranges::any_of(kKinds, given))
    return "";
  return std::to_string(row->default_units);
}

Assignments without_key(Assignments assignments, const std::string& path) {
  std::erase_if(assignments, [&](const auto& assignment) {
    return assignment.first == path || assignment.first.starts_with(path + ".");
  });
  const KindRow* removed = kind_of_key(path);
  if (removed == nullptr || path != removed->cost_key || has_other_source(assignments)) return assignments;
  if (!follows(assignments, *removed)) assignments[path] = std::to_string(removed->default_units);
  const auto at_default = [&](const KindRow& row) { return is_default(assignments, row); };
  if (std::ranges::all_of(kKinds, at_default))
    for (const KindRow& row : kKinds) assignments.erase(std::string(row.cost_key));
  return assignments;
}

}  // namespace pipeloom::gui
