#include "gui/model/chart/navigation.hpp"

#include <algorithm>
#include <cmath>

#include <pipeloom/metrics.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/run/waiting_ops.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

/// Shortest view: 100 ticks, or the span that floating point can still cut into a few thousand pixels at this distance from zero.
constexpr double kShortest = 100;
constexpr double kResolution = 0x1p-36;
/// Longest view, in lengths of all runs.
constexpr double kLongest = 1.5;
/// Share of the view, or of the runs if they are shorter, that always shows runs.
constexpr double kInSight = 0.1;
constexpr double kMargin = 0.1;

double as_double(Ticks ticks) {
  return static_cast<double>(ticks);
}

/// `range` at 1 / factor of its length, with the time at `share` of it kept.
TimeRange zoomed(TimeRange range, double share, double steps) {
  const double length = range.length() * std::pow(kZoomStep, -steps);
  const double at = range.start + share * range.length();
  const double start = at - share * length;
  return {start, start + length};
}

ViewPlace place_of(const Session& session) {
  return {session.view.range, session.view.scroll};
}

void go_to(Session& session, const ViewPlace& place) {
  session.view.range = place.range;
  session.view.scroll = place.scroll;
}

}  // namespace

Navigation::Navigation(Session&) {}

void Navigation::remember(const Session& session, Gesture gesture) {
  if (gesture == Gesture::Jump) ++jumps_;
  const double time = now();
  const bool goes_on = gesture_ == gesture && gesture != Gesture::Jump &&
                       (gesture == Gesture::Drag || time - last_change_ <= kGesturePause);
  gesture_ = gesture;
  last_change_ = time;
  if (goes_on) return;
  const ViewPlace here = place_of(session);
  if (!back_.empty() && back_.back() == here) return;
  back_.push_back(here);
  forward_.clear();
  if (back_.size() > kMaxHistory) back_.erase(back_.begin());
}

Span span_of_runs(const Session& session) {
  if (session.runs.empty()) return {0, 1};
  Span all = drawn_span(*session.runs.front().run);
  for (const OpenRun& open : session.runs) {
    all.start = std::min(all.start, open.run->span().start);
    all.end = std::max(all.end, drawn_span(*open.run).end);
  }
  all.end = std::max(all.end, all.start + 1);
  return all;
}

TimeRange clamped(TimeRange range, Span runs) {
  const double first = as_double(runs.start);
  const double last = as_double(runs.end);
  const double farthest = std::max(std::abs(first), std::abs(last));
  const double longest = kLongest * (last - first);
  const double shortest = std::min(longest, std::max(kShortest, farthest * kResolution));
  const double length = std::clamp(range.length(), shortest, longest);
  if (length != range.length()) {
    const double middle = (range.start + range.end) / 2;
    range = {middle - length / 2, middle + length / 2};
  }
  const double kept = kInSight * std::min(length, last - first);
  if (range.end < first + kept) range = {first + kept - length, first + kept};
  if (range.start > last - kept) range = {last - kept, last - kept + length};
  return range;
}

void zoom_at(Session& session, double share, double steps, Gesture gesture) {
  Navigation& navigation = session.part<Navigation>();
  auto& run = navigation.zoom_;
  if (!run || run->result != session.view.range || run->share != share)
    run = Navigation::ZoomRun{session.view.range, session.view.range, share, 0};
  const double sum = run->steps + steps;
  // Steps whose sum is nothing but rounding are none, so that fractions of held keys come back too.
  const TimeRange wanted = std::abs(sum) < 1e-9 ? run->base : zoomed(run->base, share, sum);
  const TimeRange range = clamped(wanted, span_of_runs(session));
  if (range == session.view.range) return;
  navigation.remember(session, gesture);
  // Past a limit the sum is reset, or as many steps back would do nothing.
  if (range.length() == wanted.length())
    run->steps = sum;
  else
    run = Navigation::ZoomRun{range, range, share, 0};
  run->result = range;
  session.view.range = range;
}

void pan(Session& session, double share, Gesture gesture) {
  const TimeRange old = session.view.range;
  const double shift = share * old.length();
  show_range(session, {old.start + shift, old.start + shift + old.length()}, gesture);
}

void show_range(Session& session, TimeRange range, Gesture gesture) {
  range = clamped(range, span_of_runs(session));
  if (range == session.view.range) return;
  session.part<Navigation>().remember(session, gesture);
  session.view.range = range;
}

void fit_all(Session& session) {
  const Span all = span_of_runs(session);
  const ViewPlace whole{{as_double(all.start), as_double(all.end)}, 0};
  if (session.runs.empty() || whole == place_of(session)) return;
  session.part<Navigation>().remember(session, Gesture::Jump);
  go_to(session, whole);
  session.view.placed = true;
}

void fit_span(Session& session, Span span) {
  const double margin = kMargin * as_double(std::max<Ticks>(span.length(), 1));
  show_range(session, {as_double(span.start) - margin, as_double(span.end) + margin});
}

std::optional<Span> selected_span(const Session& session) {
  const Selection& selection = session.selection;
  if (selection.op) {
    const OpenRun* open = session.find_run(selection.op->run);
    if (open == nullptr || selection.op->op >= open->run->timeline.start.size()) return std::nullopt;
    return Span{open->run->timeline.start[selection.op->op], open->run->timeline.end[selection.op->op]};
  }
  if (selection.gap) {
    const OpenRun* open = session.find_run(selection.gap->run);
    if (open == nullptr) return std::nullopt;
    const IdleSpan& gap = open->run->idle[selection.gap->rank.at()][selection.gap->span];
    return Span{gap.start, gap.end};
  }
  if (session.range) return Span{session.range->start, session.range->end};
  return std::nullopt;
}

void focus_selection(Session& session) {
  const std::optional<Span> span = selected_span(session);
  if (!span) {
    session.say("nothing is selected: click an op or a gap, or press G for the longest gap");
    return;
  }
  auto& focus = session.part<Navigation>().focus_;
  if (focus && focus->span == *span && focus->result == session.view.range) {
    fit_span(session, *span);
    return;
  }
  const double length = session.view.range.length();
  const double middle = (as_double(span->start) + as_double(span->end)) / 2;
  show_range(session, {middle - length / 2, middle - length / 2 + length});
  focus = Navigation::Focus{*span, session.view.range};
}

void bring_into_sight(Session& session, Span span, std::uint64_t run, Rank rank) {
  const TimeRange old = session.view.range;
  const double room = kMargin * old.length();
  const double start = as_double(span.start);
  const double end = as_double(span.end);
  TimeRange range = old;
  if (start < old.start || end - start > old.length() - room)
    range = {start - room, start - room + old.length()};
  else if (end > old.end)
    range = {end + room - old.length(), end + room};
  const ChartLayout& layout = session.part<ChartPart>().layout;
  const double scroll =
      layout.row_of(run, rank) == nullptr ? session.view.scroll : layout.scroll_to(run, rank);
  // Longer than the view and any of it visible: nothing better to show.
  const bool covers = start <= old.start && end >= old.end;
  range = covers ? old : clamped(range, span_of_runs(session));
  if (range == old && scroll == session.view.scroll) return;
  session.part<Navigation>().remember(session, Gesture::Jump);
  go_to(session, {range, scroll});
}

void scroll_rows(Session& session, double pixels, Gesture gesture) {
  const double most = session.part<ChartPart>().layout.max_scroll();
  const double scroll = std::clamp(session.view.scroll + pixels, 0.0, most);
  if (scroll == session.view.scroll) return;
  session.part<Navigation>().remember(session, gesture);
  session.view.scroll = scroll;
}

void scroll_pages(Session& session, double pages) {
  scroll_rows(session, pages * session.part<ChartPart>().layout.body.height, Gesture::Jump);
}

void history_back(Session& session) {
  Navigation& navigation = session.part<Navigation>();
  navigation.gesture_.reset();
  if (navigation.back_.empty()) return;
  navigation.forward_.push_back(place_of(session));
  ++navigation.jumps_;
  go_to(session, navigation.back_.back());
  navigation.back_.pop_back();
}

void history_forward(Session& session) {
  Navigation& navigation = session.part<Navigation>();
  navigation.gesture_.reset();
  if (navigation.forward_.empty()) return;
  navigation.back_.push_back(place_of(session));
  ++navigation.jumps_;
  go_to(session, navigation.forward_.back());
  navigation.forward_.pop_back();
}

}  // namespace pipeloom::gui
