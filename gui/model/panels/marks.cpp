#include "gui/model/panels/marks.hpp"

#include <algorithm>
#include <cmath>

#include <pipeloom/error.hpp>
#include "gui/model/chart/navigation.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// Share of the view within which a time is "the same" as a mark's.
constexpr double kNear = 0.003;

Ticks rounded(double time) {
  return static_cast<Ticks>(std::llround(time));
}

}  // namespace

void add_mark(Session& session, Mark mark) {
  std::erase_if(session.marks, [&](const Mark& old) { return old.time == mark.time; });
  const auto behind = std::upper_bound(session.marks.begin(), session.marks.end(), mark,
                                       [](const Mark& a, const Mark& b) { return a.time < b.time; });
  session.marks.insert(behind, std::move(mark));
}

void toggle_mark(Session& session, Ticks time, bool persistent) {
  const auto near = mark_near(session, static_cast<double>(time), kNear * session.view.range.length());
  if (near && session.marks[*near].persistent == persistent)
    session.marks.erase(session.marks.begin() + static_cast<std::ptrdiff_t>(*near));
  else
    add_mark(session,
             {near ? session.marks[*near].time : time, near ? session.marks[*near].note : "", persistent});
}

std::optional<std::size_t> mark_near(const Session& session, double time, double distance) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < session.marks.size(); ++i) {
    const double away = std::abs(static_cast<double>(session.marks[i].time) - time);
    if (away > distance) continue;
    distance = away;
    best = i;
  }
  return best;
}

bool jump_to_mark(Session& session, bool forward) {
  const TimeRange view = session.view.range;
  const double middle = (view.start + view.end) / 2;
  // What the view can resolve: a mark in the middle already is not the next one.
  const double here = view.length() * 1e-6;
  const Mark* found = nullptr;
  for (const Mark& mark : session.marks) {
    const double away = static_cast<double>(mark.time) - middle;
    if (forward && away > here && found == nullptr) found = &mark;
    if (!forward && away < -here) found = &mark;
  }
  if (found == nullptr) return false;
  const double start = static_cast<double>(found->time) - view.length() / 2;
  show_range(session, {start, start + view.length()});
  return true;
}

Ticks time_for_mark(Session& session) {
  if (const auto time = session.part<PointerPart>().time) return rounded(*time);
  if (const auto span = selected_span(session)) return span->start;
  return rounded((session.view.range.start + session.view.range.end) / 2);
}

Ticks parse_time(const Session& session, std::string_view text) {
  const RunModel* run = session.active_run();
  const TimeUnit unit = run == nullptr ? TimeUnit::Unit : run->timeline.unit;
  const auto time = parse_ticks(text, unit);
  if (!time)
    throw InputError("found '" + shortened(text, 40) + "'; allowed is a time in " +
                     std::string(name_of(unit)) + " such as 12.5");
  return time->value;
}

}  // namespace pipeloom::gui
