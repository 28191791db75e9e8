// Commands of marks, of the measured range, of the table of ops and of the search.

#include <algorithm>
#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/answer/cursor.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/panels/notes.hpp"
#include "gui/model/panels/ops_table.hpp"
#include "gui/model/panels/search.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {
namespace {

Ticks time_in(Session& session, std::string_view text) {
  return text.empty() ? time_for_mark(session) : parse_time(session, text);
}

}  // namespace

void cursor(Session& session, std::string_view text) {
  const bool none = text == "none";
  session.part<Cursor>().put(
      session, none ? std::nullopt : std::optional(static_cast<double>(time_in(session, text))));
}

void mark(Session& session, std::string_view text) {
  toggle_mark(session, time_in(session, text), false);
}

void mark_for_good(Session& session, std::string_view text) {
  toggle_mark(session, time_in(session, text), true);
}

void note(Session& session, std::string_view text) {
  if (text.empty()) throw InputError(Where{"note"}, "found nothing; write what the note is to say");
  const Ticks time = time_for_mark(session);
  add_mark(session, {time, std::string(text), true});
}

void clear_marks(Session& session, std::string_view) {
  std::erase_if(session.marks, [](const Mark& mark) { return !mark.persistent; });
}

void next_mark(Session& session, std::string_view) {
  if (!jump_to_mark(session, true)) session.say("no later mark");
}

void previous_mark(Session& session, std::string_view) {
  if (!jump_to_mark(session, false)) session.say("no earlier mark");
}

void measure_selection(Session& session, std::string_view) {
  const auto span = selected_span(session);
  if (span)
    session.range = MeasuredRange{span->start, span->end};
  else
    session.say("nothing is selected: click an op or a gap first");
}

void measure(Session& session, std::string_view text) {
  const Span span = parse_span(session, "measure", text);
  session.range = MeasuredRange{span.start, span.end};
}

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

void search(Session& session, std::string_view text) {
  auto& model = session.part<SearchModel>();
  model.set(session, std::string(text));
  // Once it is understood, the complaint about the one before is over.
  session.say(model.error(), model.error().empty() ? MessageKind::Note : MessageKind::Problem);
}

}  // namespace pipeloom::gui::commands
