#include "gui/model/session/state.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>
#include <variant>

#include <pipeloom/metrics.hpp>
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"
#include "study/report/metric.hpp"

namespace pipeloom::gui {
namespace {

using io::JsonWriter;

// A line per key, and one per entry of its value; the latter do not end on a line of their own.
constexpr io::JsonStyle kStyle{io::JsonSpelling::Window, false, 2, 1, 2};

/// Rounds to a thousandth of a pixel: no tails of binary fractions.
double rounded(double value) {
  return std::isfinite(value) ? std::round(value * 1000) / 1000 : 0;
}

TimeUnit unit_of(const Session& session) {
  const RunModel* run = session.active_run();
  return run == nullptr ? TimeUnit::Unit : run->timeline.unit;
}

void write_window(JsonWriter& out, const Session& session, const WindowState& window) {
  out.object()
      .member("width", window.width)
      .member("height", window.height)
      .member("scale", rounded(window.scale))
      .member("theme", session.preferences.dark ? "dark" : "light")
      .member("palette", session.preferences.palette)
      .member("hatching", session.preferences.hatching)
      .member("platform", window.platform);
  out.key("panels").object();
  for (const auto& [id, open] : session.panel_defaults) out.member(id, session.panel_open(id));
  out.close()
      .member("tabs", session.preferences.tabs)
      .member("typing", window.typing)
      .member("overlaps", window.overlaps)
      .close();
}

std::string_view name_of(RunSource source) {
  constexpr std::string_view kNames[] = {"configuration", "schedule", "timeline"};
  return kNames[static_cast<std::size_t>(source)];
}

void write_hang(JsonWriter& out, const std::optional<Hang>& hang) {
  if (!hang) {
    out.null();
    return;
  }
  out.object()
      .member("lines", hang->lines)
      .member("remedies", hang->remedies)
      .member("waits", hang->graph.nodes.size())
      .close();
}

void write_metrics(JsonWriter& out, const RunModel& run) {
  if (!run.metrics) {
    out.null();
    return;
  }
  const study::RunNumbers numbers = study::numbers_of(run);
  out.object();
  for (const study::Metric* metric : study::listed(&study::Metric::state))
    if (const auto value = metric->get(numbers))
      std::visit([&](auto number) { out.member(metric->name, number); },
                 state_value(*metric, *value, run.timeline.unit));
  out.member("peak_rank", run.metrics->peak_rank.value()).close();
}

void write_run(JsonWriter& out, const OpenRun& open, bool active) {
  const RunModel& run = *open.run;
  const TimeUnit unit = run.timeline.unit;
  out.object()
      .member("title", run.title)
      .member("source", name_of(run.source))
      .member("file", run.file)
      .member("live", open.live)
      .member("compared", open.compared)
      .member("active", active);
  if (run.effective)
    out.member("schedule", run.effective->schedule);
  else
    out.key("schedule").null();
  out.member("ranks", run.schedule->ranks())
      .member("stages", run.schedule->stages())
      .member("microbatches", run.schedule->microbatches())
      .member("num_ops", run.schedule->num_ops())
      .member("steps", run.timeline.steps)
      .member("time_unit", pipeloom::name_of(unit))
      .member("start", to_double(run.span().start, unit))
      .member("end", to_double(run.span().end, unit));
  write_metrics(out.key("metrics"), run);
  out.member("over_limit", run.over_limit.has_value());
  write_hang(out.key("hang"), run.hang);
  out.member("partial", run.partial).member("warnings", run.warnings).close();
}

void write_runs(JsonWriter& out, const Session& session) {
  out.array();
  for (std::size_t i = 0; i < session.runs.size(); ++i) write_run(out, session.runs[i], i == session.active);
  out.close();
}

void write_view(JsonWriter& out, const Session& session) {
  const ViewState& view = session.view;
  const double tick = static_cast<double>(ticks_per(unit_of(session)));
  out.object()
      .member("start", view.range.start / tick)
      .member("end", view.range.end / tick)
      .member("scroll", rounded(view.scroll))
      .member("row_height", rounded(view.row_height))
      .member("colour", name_of(view.colour));
  out.key("hidden_kinds").array();
  for (const OpKind kind : kAllOpKinds)
    if ((view.hidden_kinds >> index_of(kind) & 1U) != 0) out.text(std::string(1, letter_of(kind)));
  out.close()
      .member("show_critical", view.show_critical)
      .member("show_idle", view.show_idle)
      .member("show_memory", view.show_memory)
      .member("show_memory_track", view.show_memory_track)
      .member("show_messages", view.show_messages)
      .member("show_copies", view.show_copies)
      .member("show_minimap", view.show_minimap)
      .member("show_overview", view.show_overview)
      .member("show_arrows", view.show_arrows)
      .member("pinned", view.pinned)
      .member("collapsed", view.collapsed)
      .member("hidden", view.hidden)
      .member("rank_order", view.order.listed())
      .close();
}

/// Position of a run in the stack; the number of runs if it is gone.
std::size_t position_of(const Session& session, std::uint64_t run) {
  std::size_t at = 0;
  while (at < session.runs.size() && session.runs[at].run->id != run) ++at;
  return at;
}

void write_op(JsonWriter& out, const Session& session, const std::optional<OpRef>& ref) {
  const OpenRun* open = ref ? session.find_run(ref->run) : nullptr;
  if (open == nullptr || ref->op >= open->run->timeline.start.size()) {
    out.null();
    return;
  }
  const RunModel& run = *open->run;
  const std::size_t op = ref->op % run.schedule->num_ops();
  const TimeUnit unit = run.timeline.unit;
  out.object()
      .member("run", position_of(session, ref->run))
      .member("rank", run.schedule->rank_of_op(op).value())
      .member("op", to_text(run.schedule->ops()[op]))
      .member("step", ref->op / run.schedule->num_ops())
      .member("start", to_double(run.timeline.start[ref->op], unit))
      .member("end", to_double(run.timeline.end[ref->op], unit))
      .close();
}

void write_selection(JsonWriter& out, const Session& session) {
  const Selection& selection = session.selection;
  out.object();
  write_op(out.key("op"), session, selection.op);
  out.key("waiting");
  const bool waits = selection.waiting && !selection.op && !selection.gap;
  waits ? out.text(to_text(selection.waiting->op)) : out.null();
  write_op(out.key("hover"), session, selection.hover);
  out.key("kind");
  selection.kind ? out.text(std::string(1, letter_of(*selection.kind))) : out.null();
  out.close();
}

void write_gap(JsonWriter& out, const Session& session) {
  const auto& gap = session.selection.gap;
  const OpenRun* open = gap ? session.find_run(gap->run) : nullptr;
  if (open == nullptr || gap->rank.at() >= open->run->idle.size() ||
      gap->span >= open->run->idle[gap->rank.at()].size()) {
    out.null();
    return;
  }
  const IdleSpan& span = open->run->idle[gap->rank.at()][gap->span];
  const TimeUnit unit = open->run->timeline.unit;
  out.object()
      .member("run", position_of(session, gap->run))
      .member("rank", gap->rank.value())
      .member("span", gap->span)
      .member("start", to_double(span.start, unit))
      .member("end", to_double(span.end, unit))
      .member("cause", name_of(span.cause))
      .close();
}

void write_range(JsonWriter& out, const Session& session) {
  if (!session.range) {
    out.null();
    return;
  }
  const TimeUnit unit = unit_of(session);
  out.object()
      .member("start", to_double(session.range->start, unit))
      .member("end", to_double(session.range->end, unit))
      .member("length", to_double(session.range->end - session.range->start, unit))
      .close();
}

void write_marks(JsonWriter& out, const Session& session) {
  out.array();
  for (const Mark& mark : session.marks)
    out.object()
        .member("time", to_double(mark.time, unit_of(session)))
        .member("note", mark.note)
        .member("persistent", mark.persistent)
        .close();
  out.close();
}

void write_items(JsonWriter& out, const WindowState& window) {
  out.object();
  for (const auto& [id, rect] : window.items) {
    out.key(id).array();
    for (const float edge : rect) out.number(rounded(edge));
    out.close();
  }
  out.close();
}

// Every dump has these, with or without their parts.
constexpr std::string_view kAlwaysThere[] = {"search", "undo"};

bool is_always_there(std::string_view key) {
  return std::find(std::begin(kAlwaysThere), std::end(kAlwaysThere), key) != std::end(kAlwaysThere);
}

void write_always_there(JsonWriter& out, const Session& session) {
  for (const std::string_view key : kAlwaysThere) {
    const auto& parts = session.parts();
    const auto found = std::find_if(parts.begin(), parts.end(),
                                    [key](const auto& entry) { return entry.second->state_key() == key; });
    out.key(key);
    if (found == parts.end())
      out.null();
    else
      found->second->write_state(session, out);
  }
}

void write_other_parts(JsonWriter& out, const Session& session) {
  for (const auto& [type, part] : session.parts())
    if (const std::string_view key = part->state_key(); !key.empty() && !is_always_there(key))
      part->write_state(session, out.key(key));
}

void write_dump(JsonWriter& out, const Session& session, const WindowState& window) {
  out.object()
      .member("seq", window.seq)
      .member("idle", session.idle() && !window.input_waits)
      .member("jobs", session.jobs.pending());
  const auto progress = session.jobs.progress();
  out.key("progress");
  progress ? out.number(rounded(*progress)) : out.null();
  write_window(out.key("window"), session, window);
  write_runs(out.key("runs"), session);
  write_view(out.key("view"), session);
  write_selection(out.key("selection"), session);
  write_gap(out.key("gap"), session);
  write_range(out.key("range"), session);
  write_marks(out.key("marks"), session);
  write_always_there(out, session);
  out.key("message")
      .object()
      .member("text", session.message.text)
      .member("kind", session.message.kind == MessageKind::Problem ? "problem" : "note")
      .close();
  write_items(out.key("items"), window);
  out.key("frames")
      .object()
      .member("count", window.frame_count)
      .member("cpu_ms_p95", rounded(window.cpu_ms_p95))
      .member("cpu_ms_max", rounded(window.cpu_ms_max))
      .close();
  write_other_parts(out, session);
  out.close();
}

}  // namespace

std::string state_dump(const Session& session, const WindowState& window) {
  return io::written_json(kStyle, [&](JsonWriter& out) { write_dump(out, session, window); }) + "\n";
}

}  // namespace pipeloom::gui
