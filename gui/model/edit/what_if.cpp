#include "gui/model/edit/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::gui {
namespace {

/// The largest of 1, 2 and 5 times a power of ten that a pixel is no smaller than.
Ticks round_step(double ticks_per_pixel) {
  if (ticks_per_pixel < 1) return 1;
  const double power = std::pow(10, std::floor(std::log10(ticks_per_pixel)));
  for (const double part : {5.0, 2.0})
    if (part * power <= ticks_per_pixel) return static_cast<Ticks>(part * power);
  return static_cast<Ticks>(power);
}

const OpenRun* edited_run(const Session& session) {
  const auto found =
      std::find_if(session.runs.begin(), session.runs.end(), [](const OpenRun& open) { return open.live; });
  return found == session.runs.end() ? nullptr : &*found;
}

std::string_view name_of(CostScope scope) {
  constexpr std::string_view kNames[] = {"stage-kind", "op", "rank"};
  return kNames[static_cast<std::size_t>(scope)];
}

std::string what_if_text(Ticks from, Ticks to, TimeUnit unit) {
  std::string text = fmt::format("{} \u2192 {}", duration_text(from, unit), duration_text(to, unit));
  if (from > 0 && from != to)
    text += fmt::format(" ({})", change_text(static_cast<double>(to) / static_cast<double>(from) - 1));
  return text;
}

Ticks whole_step(const RunModel& run) {
  return run.metrics && run.metrics->step_time > 0 ? run.metrics->step_time : run.span().length();
}

}  // namespace

std::string WhatIf::refusal(Session& session, const OpenRun& open, std::size_t position, CostScope scope) {
  if (std::string text = cost_refusal(*open.run, position, scope); !text.empty()) return text;
  const auto& config = session.part<ConfigModel>();
  if (open.live && open.run->id == config.shown_run()) return "";
  if (!open.live && open.run->source == RunSource::ScheduleFile && !open.run->file.empty()) return "";
  if (open.live || session.part<ScheduleEditor>().shown() == open.run->id)
    return fmt::format(
        "The order of {} was edited by hand, and another cost would make it anew: save the schedule "
        "and open the file, which keeps its order.",
        open.title());
  return fmt::format("{} stands for comparison and stays as it is; take it to change its costs.",
                     open.title());
}

/// The configuration of a schedule file takes the place of the one under edit, and its run the place of the live one.
bool WhatIf::adopt(Session& session, const RunModel& run) {
  auto& config = session.part<ConfigModel>();
  for (OpenRun& open : session.runs) open.live = open.run->id == run.id;
  config.replace(session, assignments_of_file(run));
  return true;
}

std::optional<Ticks> typed_duration(std::string_view text, Ticks before, TimeUnit unit) {
  text = trimmed(text);
  const bool is_share = text.ends_with('%');
  if (is_share) text = trimmed(text.substr(0, text.size() - 1));
  for (const std::string_view word : {std::string_view(name_of(unit)), std::string_view("units")})
    if (!is_share && text.ends_with(word)) text = trimmed(text.substr(0, text.size() - word.size()));
  const bool is_change = text.starts_with('-') || text.starts_with('+');
  if (is_share && text.starts_with('+')) text.remove_prefix(1);
  const auto number = number_in<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  const double ticks = is_share ? static_cast<double>(before) * (is_change ? 100 + *number : *number) / 100
                                : *number * static_cast<double>(ticks_per(unit));
  if (!(ticks >= 0 && ticks < static_cast<double>(kMaxTicks))) return std::nullopt;
  return static_cast<Ticks>(std::llround(ticks));
}

bool WhatIf::begin(Session& session, const OpRef& op) {
  held_.reset();
  const OpenRun* open = session.find_run(op.run);
  if (open == nullptr) return false;
  if (const std::string text = refusal(session, *open, op.op, CostScope::StageKind); !text.empty()) {
    session.say(text, MessageKind::Problem);
    return false;
  }
  Held held;
  held.before = open->run;
  held.position = op.op;
  if (!open->live) adopt(session, *held.before);
  held.base = session.part<ConfigModel>().assignments();
  held.old_duration = held.before->timeline.end[op.op] - held.before->timeline.start[op.op];
  held.duration = held.old_duration;
  held.gesture = ++gestures_;
  held.range = session.view.range;
  const Span span = held.before->span();
  held.shows_all =
      held.range.start <= static_cast<double>(span.start) && held.range.end >= static_cast<double>(span.end);
  held_ = std::move(held);
  return true;
}

void WhatIf::change(Session& session, Ticks duration, CostScope scope) {
  Held& held = *held_;
  duration = std::max<Ticks>(0, duration);
  if (duration == held.duration && scope == held.scope) return;
  if (const std::string text = cost_refusal(*held.before, held.position, scope); !text.empty())
    return session.say(text, MessageKind::Problem);
  held.duration = duration;
  held.scope = scope;
  held.changed = true;
  auto& config = session.part<ConfigModel>();
  config.replace_held(session,
                      duration == held.old_duration
                          ? held.base
                          : with_duration(held.base, *held.before, held.position, scope, duration),
                      held.gesture);
}

void WhatIf::stretch(Session& session, double ticks, double ticks_per_pixel, CostScope scope) {
  const Ticks step = round_step(ticks_per_pixel);
  const double wanted = static_cast<double>(held_->old_duration) + ticks;
  Ticks duration = static_cast<Ticks>(std::llround(wanted / static_cast<double>(step))) * step;
  if (std::abs(ticks) < static_cast<double>(step) / 2) duration = held_->old_duration;
  change(session, duration, scope);
}

void WhatIf::release(Session& session) {
  if (!held_) return;
  const Held held = *std::exchange(held_, std::nullopt);
  if (!held.changed || held.duration == held.old_duration) return;
  const TimeUnit unit = held.before->timeline.unit;
  session.say(fmt::format("{}: {}", scope_text(*held.before, held.position, held.scope),
                          what_if_text(held.old_duration, held.duration, unit)));
  if (!held.shows_all) return;
  if (session.part<ConfigModel>().pending())
    return;  // the next run is fitted when it comes: the view shows all of the previous one
  fit_all(session);
}

void WhatIf::cancel(Session& session) {
  if (!held_) return;
  const Held held = *std::exchange(held_, std::nullopt);
  if (held.changed) session.part<ConfigModel>().undo(session);
  session.view.range = held.range;
}

WhatIf::Shown WhatIf::shown(const Session& session) const {
  const Held& held = *held_;
  Shown out;
  out.old_end = held.before->timeline.end[held.position];
  out.old_span_end = held.before->span().end;
  out.old_duration = held.old_duration;
  out.duration = held.duration;
  const TimeUnit unit = held.before->timeline.unit;
  out.lines.push_back(fmt::format("{}: {}", scope_text(*held.before, held.position, held.scope),
                                  what_if_text(held.old_duration, held.duration, unit)));
  const OpenRun* open = edited_run(session);
  if (open == nullptr) return out;
  const RunModel& now = *open->run;
  out.lines.push_back("step " + what_if_text(whole_step(*held.before), whole_step(now), unit));
  // Costs do not change queues, and where an order depends on them the op may be elsewhere.
  const Op wanted = op_at(*held.before, held.position);
  if (held.position < now.timeline.start.size() && op_at(now, held.position) == wanted)
    out.op = OpRef{now.id, held.position};
  out.lines.push_back(fmt::format("Shift: {} alone   Ctrl: {}",
                                  scope_text(*held.before, held.position, CostScope::Op),
                                  scope_text(*held.before, held.position, CostScope::Rank)));
  return out;
}

bool WhatIf::update(Session& session) {
  if (held_ && session.view.range != held_->range) {
    session.view.range = held_->range;
    return true;
  }
  return false;
}

void WhatIf::write_state(const Session& session, io::JsonWriter& out) const {
  if (!held_) {
    out.null();
    return;
  }
  const TimeUnit unit = held_->before->timeline.unit;
  const OpenRun* open = edited_run(session);
  out.object()
      .member("scope", name_of(held_->scope))
      .member("from", to_double(held_->old_duration, unit))
      .member("to", to_double(held_->duration, unit))
      .member("step_from", to_double(whole_step(*held_->before), unit))
      .member("step_to", to_double(open == nullptr ? 0 : whole_step(*open->run), unit))
      .close();
}

}  // namespace pipeloom::gui
