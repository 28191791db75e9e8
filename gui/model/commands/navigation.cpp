// Commands that move the view and the selection.

#include "gui/model/chart/navigation.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <pipeloom/error.hpp>
#include "gui/model/chart/select.hpp"
#include "gui/model/panels/marks.hpp"
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

void fit(Session& session, std::string_view) {
  fit_all(session);
}

void focus_selection(Session& session, std::string_view) {
  gui::focus_selection(session);
}

void zoom_to(Session& session, std::string_view text) {
  const std::size_t blank = std::min(text.find(' '), text.size());
  const Ticks start = parse_time(session, text.substr(0, blank));
  const Ticks end = parse_time(session, text.substr(std::min(blank + 1, text.size())));
  if (end <= start)
    throw InputError(Where{"zoom-to"},
                     "found '" + shortened(text, 40) + "'; the end must be after the start");
  show_range(session, {static_cast<double>(start), static_cast<double>(end)});
}

void zoom_to_range(Session& session, std::string_view) {
  if (session.range)
    fit_span(session, {session.range->start, session.range->end});
  else
    session.say("no range is measured: drag over the rows, or press R for the selection");
}

void history_back(Session& session, std::string_view) {
  gui::history_back(session);
}
void history_forward(Session& session, std::string_view) {
  gui::history_forward(session);
}
void page_up(Session& session, std::string_view) {
  scroll_pages(session, -1);
}
void page_down(Session& session, std::string_view) {
  scroll_pages(session, 1);
}

void next_op(Session& session, std::string_view) {
  step_in_queue(session, true);
}
void previous_op(Session& session, std::string_view) {
  step_in_queue(session, false);
}
void follow_back(Session& session, std::string_view) {
  step_along_dependency(session, false);
}
void follow_forward(Session& session, std::string_view) {
  step_along_dependency(session, true);
}
void next_of_microbatch(Session& session, std::string_view) {
  step_in_microbatch(session, true);
}
void previous_of_microbatch(Session& session, std::string_view) {
  step_in_microbatch(session, false);
}
void rank_up(Session& session, std::string_view) {
  step_to_rank(session, -1);
}
void rank_down(Session& session, std::string_view) {
  step_to_rank(session, 1);
}
void next_gap(Session& session, std::string_view) {
  step_to_gap(session, true);
}
void previous_gap(Session& session, std::string_view) {
  step_to_gap(session, false);
}
void select_largest_gap(Session& session, std::string_view) {
  select_longest_gap(session);
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
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number >= session.runs.size())
    throw InputError(Where{"select-run"}, "found '" + shortened(text, 40) + "'; allowed is a number below " +
                                              std::to_string(session.runs.size()) + ", the runs on screen");
  session.active = number;
}

void clear(Session& session, std::string_view) {
  if (session.range)
    session.range.reset();
  else
    session.selection.clear();
}

}  // namespace pipeloom::gui::commands
