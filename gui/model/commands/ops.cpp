// Commands of the table of ops.

#include <algorithm>

#include <pipeloom/error.hpp>
#include "gui/model/panels/ops_table.hpp"

namespace pipeloom::gui::commands {

void sort_ops(Session& session, std::string_view text) {
  auto& table = session.part<OpsTable>();
  std::vector<std::string> names;
  for (const OpColumn column : kAllOpColumns) {
    names.emplace_back(name_of(column));
    if (text == names.back()) return table.sort_by(column);
  }
  if (!text.empty()) throw InputError::unknown_name(Where{"sort-ops"}, "column", text, names);
  table.sort(std::nullopt, false);
}

void copy_ops(Session& session, std::string_view text) {
  if (!text.empty() && text != "csv" && text != "tsv")
    throw InputError::unknown_name(Where{"copy-ops"}, "form", text, {"csv", "tsv"});
  auto& table = session.part<OpsTable>();
  // No panel may have asked for the table yet.
  table.update(session);
  const std::size_t rows = std::min(table.num_rows(), kMaxCopiedRows);
  session.clipboard = table.text(0, rows, text == "csv" ? ',' : '\t');
  session.say("copied " + std::to_string(rows) + " of " + std::to_string(table.num_rows()) + " rows");
}

}  // namespace pipeloom::gui::commands
