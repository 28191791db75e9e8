// Commands of marks and of the measured range.

#include "gui/model/panels/marks.hpp"

#include <algorithm>
#include <string>

#include <pipeloom/error.hpp>
#include "gui/model/chart/navigation.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {
namespace {

Ticks time_in(Session& session, std::string_view text) {
  return text.empty() ? time_for_mark(session) : parse_time(session, text);
}

}  // namespace

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
  const std::size_t blank = std::min(text.find(' '), text.size());
  const Ticks start = parse_time(session, text.substr(0, blank));
  const Ticks end = parse_time(session, text.substr(std::min(blank + 1, text.size())));
  if (end <= start)
    throw InputError(Where{"measure"},
                     "found '" + shortened(text, 40) + "'; the end must be after the start");
  session.range = MeasuredRange{start, end};
}

}  // namespace pipeloom::gui::commands
