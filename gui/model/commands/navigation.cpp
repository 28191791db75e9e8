// Commands that move the view and the selection.

#include "gui/model/chart/navigation.hpp"

#include <algorithm>
#include <optional>

#include <pipeloom/error.hpp>
#include "gui/model/chart/select.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/edit/what_if.hpp"
#include "gui/model/panels/notes.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui::commands {
namespace {

/// Per second that a key is held.
constexpr double kZoomSteps = 8;
constexpr double kPanShare = 1;
constexpr double kFast = 4;

/// Zooms where the pointer is, else in the middle.
void zoom(Session& session, double steps_per_second) {
  const std::optional<double> share = session.part<Navigation>().pointer_share;
  zoom_at(session, share.value_or(0.5), steps_per_second * session.frame_seconds, Gesture::Held);
}

void pan_by(Session& session, double shares_per_second) {
  pan(session, shares_per_second * session.frame_seconds, Gesture::Held);
}

RunPtr run_or_refuse(const Session& session, const char* command) {
  RunPtr run = selected_run(session);
  if (run == nullptr) throw InputError(Where{command}, "no run is open; open a configuration or a schedule");
  return run;
}

}  // namespace

void zoom_in(Session& session, std::string_view) {
  zoom(session, kZoomSteps);
}
void zoom_out(Session& session, std::string_view) {
  zoom(session, -kZoomSteps);
}
void zoom_in_fast(Session& session, std::string_view) {
  zoom(session, kFast * kZoomSteps);
}
void zoom_out_fast(Session& session, std::string_view) {
  zoom(session, -kFast * kZoomSteps);
}
void pan_left(Session& session, std::string_view) {
  pan_by(session, -kPanShare);
}
void pan_right(Session& session, std::string_view) {
  pan_by(session, kPanShare);
}
void pan_left_fast(Session& session, std::string_view) {
  pan_by(session, -kFast * kPanShare);
}
void pan_right_fast(Session& session, std::string_view) {
  pan_by(session, kFast * kPanShare);
}

void zoom_to(Session& session, std::string_view text) {
  const Span span = parse_span(session, "zoom-to", text);
  show_range(session, {static_cast<double>(span.start), static_cast<double>(span.end)});
}

void zoom_to_range(Session& session, std::string_view) {
  if (session.range)
    fit_span(session, {session.range->start, session.range->end});
  else
    session.say("no range is measured: drag over the rows, or press R for the selection");
}

void select_op(Session& session, std::string_view text) {
  const RunPtr run = run_or_refuse(session, "select-op");
  gui::select_op(session, {run->id, find_op(*run, text)}, Reveal::Yes);
}

void select_gap(Session& session, std::string_view text) {
  const RunPtr run = run_or_refuse(session, "select-gap");
  gui::select_gap(session, find_gap(*run, text), Reveal::Yes);
}

void select_run(Session& session, std::string_view text) {
  const auto number = number_in<std::size_t>(text);
  if (!number || *number >= session.runs.size())
    throw InputError(Where{"select-run"}, "found '" + shortened(text, 40) + "'; allowed is a number below " +
                                              std::to_string(session.runs.size()) + ", the runs on screen");
  session.active = *number;
}

void clear(Session& session, std::string_view) {
  if (auto& what_if = session.part<WhatIf>(); what_if.held())
    what_if.cancel(session);
  else if (auto& editor = session.part<ScheduleEditor>(); !editor.refusal().empty())
    editor.undo(session);
  else if (session.range)
    session.range.reset();
  else
    session.selection.clear();
}

}  // namespace pipeloom::gui::commands
