#include "gui/model/session/state.hpp"

#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "sim/text.hpp"
#include "study/report/metric.hpp"

namespace pipeloom::gui {
namespace {

// Keys in the order in which they are set, as in the header's list.
using Json = nlohmann::ordered_json;

/// To a thousandth of a pixel: no tails of binary fractions.
double rounded(double value) {
  return std::isfinite(value) ? std::round(value * 1000) / 1000 : 0;
}

Json time_of(Ticks ticks, TimeUnit unit) {
  return to_double(ticks, unit);
}

TimeUnit unit_of(const Session& session) {
  const RunModel* run = session.active_run();
  return run == nullptr ? TimeUnit::Unit : run->timeline.unit;
}

Json window_json(const Session& session, const WindowState& window) {
  Json panels = Json::object();
  for (const auto& [id, open] : session.panel_defaults) panels[id] = session.panel_open(id);
  return {{"width", window.width},
          {"height", window.height},
          {"scale", rounded(window.scale)},
          {"theme", session.preferences.dark ? "dark" : "light"},
          {"palette", session.preferences.palette},
          {"hatching", session.preferences.hatching},
          {"platform", window.platform},
          {"panels", panels},
          {"typing", window.typing}};
}

std::string_view name_of(RunSource source) {
  constexpr std::string_view kNames[] = {"configuration", "schedule", "timeline"};
  return kNames[static_cast<std::size_t>(source)];
}

Json hang_json(const std::optional<Hang>& hang) {
  if (!hang) return nullptr;
  return {{"lines", hang->lines}, {"remedies", hang->remedies}, {"waits", hang->waits.size()}};
}

Json metrics_json(const RunModel& run) {
  if (!run.metrics) return nullptr;
  const study::RunNumbers numbers = numbers_of(run);
  Json out = Json::object();
  for (const study::Metric* metric : study::listed(&study::Metric::state))
    if (const auto value = metric->get(numbers))
      out[std::string(metric->name)] = std::visit([](auto number) { return Json(number); },
                                                  state_value(*metric, *value, run.timeline.unit));
  out["peak_rank"] = run.metrics->peak_rank.value();
  return out;
}

Json run_json(const OpenRun& open, bool active) {
  const RunModel& run = *open.run;
  const TimeUnit unit = run.timeline.unit;
  return {{"title", run.title},
          {"source", name_of(run.source)},
          {"file", run.file},
          {"live", open.live},
          {"compared", open.compared},
          {"active", active},
          {"schedule", run.effective ? Json(run.effective->schedule) : Json(nullptr)},
          {"ranks", run.schedule->ranks()},
          {"stages", run.schedule->stages()},
          {"microbatches", run.schedule->microbatches()},
          {"num_ops", run.schedule->num_ops()},
          {"steps", run.timeline.steps},
          {"time_unit", pipeloom::name_of(unit)},
          {"start", time_of(run.span().start, unit)},
          {"end", time_of(run.span().end, unit)},
          {"metrics", metrics_json(run)},
          {"over_limit", run.over_limit.has_value()},
          {"hang", hang_json(run.hang)},
          {"warnings", run.warnings}};
}

Json runs_json(const Session& session) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < session.runs.size(); ++i)
    runs.push_back(run_json(session.runs[i], i == session.active));
  return runs;
}

Json view_json(const Session& session) {
  const ViewState& view = session.view;
  const double tick = static_cast<double>(ticks_per(unit_of(session)));
  Json hidden_kinds = Json::array();
  for (const OpKind kind : kAllOpKinds)
    if ((view.hidden_kinds >> index_of(kind) & 1U) != 0)
      hidden_kinds.push_back(std::string(1, letter_of(kind)));
  return {{"start", view.range.start / tick},
          {"end", view.range.end / tick},
          {"scroll", rounded(view.scroll)},
          {"row_height", rounded(view.row_height)},
          {"colour", name_of(view.colour)},
          {"hidden_kinds", hidden_kinds},
          {"show_critical", view.show_critical},
          {"show_idle", view.show_idle},
          {"show_memory", view.show_memory},
          {"show_messages", view.show_messages},
          {"show_copies", view.show_copies},
          {"show_minimap", view.show_minimap},
          {"show_overview", view.show_overview},
          {"show_arrows", view.show_arrows},
          {"pinned", view.pinned},
          {"collapsed", view.collapsed},
          {"hidden", view.hidden}};
}

/// Position of a run in the stack; the position behind the last if it is gone.
std::size_t position_of(const Session& session, std::uint64_t run) {
  std::size_t at = 0;
  while (at < session.runs.size() && session.runs[at].run->id != run) ++at;
  return at;
}

Json op_json(const Session& session, const std::optional<OpRef>& ref) {
  if (!ref) return nullptr;
  const OpenRun* open = session.find_run(ref->run);
  if (open == nullptr || ref->op >= open->run->timeline.start.size()) return nullptr;
  const RunModel& run = *open->run;
  const std::size_t op = ref->op % run.schedule->num_ops();
  const TimeUnit unit = run.timeline.unit;
  return {{"run", position_of(session, ref->run)},
          {"rank", run.schedule->rank_of_op(op).value()},
          {"op", to_text(run.schedule->ops()[op])},
          {"step", ref->op / run.schedule->num_ops()},
          {"start", time_of(run.timeline.start[ref->op], unit)},
          {"end", time_of(run.timeline.end[ref->op], unit)}};
}

Json selection_json(const Session& session) {
  const Selection& selection = session.selection;
  return {{"op", op_json(session, selection.op)},
          {"hover", op_json(session, selection.hover)},
          {"kind", selection.kind ? Json(std::string(1, letter_of(*selection.kind))) : Json(nullptr)}};
}

Json gap_json(const Session& session) {
  const auto& gap = session.selection.gap;
  if (!gap) return nullptr;
  const OpenRun* open = session.find_run(gap->run);
  if (open == nullptr || gap->rank.at() >= open->run->idle.size() ||
      gap->span >= open->run->idle[gap->rank.at()].size())
    return nullptr;
  const IdleSpan& span = open->run->idle[gap->rank.at()][gap->span];
  const TimeUnit unit = open->run->timeline.unit;
  return {{"run", position_of(session, gap->run)},
          {"rank", gap->rank.value()},
          {"span", gap->span},
          {"start", time_of(span.start, unit)},
          {"end", time_of(span.end, unit)},
          {"cause", name_of(span.cause)}};
}

Json range_json(const Session& session) {
  if (!session.range) return nullptr;
  const TimeUnit unit = unit_of(session);
  return {{"start", time_of(session.range->start, unit)},
          {"end", time_of(session.range->end, unit)},
          {"length", time_of(session.range->end - session.range->start, unit)}};
}

Json marks_json(const Session& session) {
  Json marks = Json::array();
  for (const Mark& mark : session.marks)
    marks.push_back({{"time", time_of(mark.time, unit_of(session))},
                     {"note", mark.note},
                     {"persistent", mark.persistent}});
  return marks;
}

Json items_json(const WindowState& window) {
  Json items = Json::object();
  for (const auto& [id, rect] : window.items)
    items[id] = {rounded(rect[0]), rounded(rect[1]), rounded(rect[2]), rounded(rect[3])};
  return items;
}

void add_parts(const Session& session, Json& out) {
  for (const auto& [type, part] : session.parts()) {
    const std::string key(part->state_key());
    if (key.empty()) continue;
    Json value = Json::parse(part->state_json(session), nullptr, false);
    out[key] = value.is_discarded() ? Json(nullptr) : std::move(value);
  }
}

/// One line per key, one per entry of what it holds.
std::string in_lines(const Json& all) {
  // File names may be any bytes; a dump is always UTF-8.
  const auto text_of = [](const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  std::string out = "{";
  for (auto entry = all.begin(); entry != all.end(); ++entry) {
    out += entry == all.begin() ? "\n" : ",\n";
    out += text_of(Json(entry.key())) + ": ";
    if (!entry->is_structured() || entry->empty()) {
      out += text_of(*entry);
      continue;
    }
    const bool object = entry->is_object();
    out += object ? "{" : "[";
    for (auto inner = entry->begin(); inner != entry->end(); ++inner) {
      out += inner == entry->begin() ? "\n  " : ",\n  ";
      if (object) out += text_of(Json(inner.key())) + ": ";
      out += text_of(*inner);
    }
    out += object ? "}" : "]";
  }
  return out + "\n}\n";
}

}  // namespace

std::string state_dump(const Session& session, const WindowState& window) {
  Json all;
  all["seq"] = window.seq;
  all["idle"] = session.idle() && !window.input_waits;
  all["jobs"] = session.jobs.pending();
  const auto progress = session.jobs.progress();
  all["progress"] = progress ? Json(rounded(*progress)) : Json(nullptr);
  all["window"] = window_json(session, window);
  all["runs"] = runs_json(session);
  all["view"] = view_json(session);
  all["selection"] = selection_json(session);
  all["gap"] = gap_json(session);
  all["range"] = range_json(session);
  all["marks"] = marks_json(session);
  all["search"] = nullptr;
  all["undo"] = nullptr;
  all["message"] = {{"text", session.message.text},
                    {"kind", session.message.kind == MessageKind::Problem ? "problem" : "note"}};
  all["items"] = items_json(window);
  all["frames"] = {{"count", window.frame_count},
                   {"cpu_ms_p95", rounded(window.cpu_ms_p95)},
                   {"cpu_ms_max", rounded(window.cpu_ms_max)}};
  add_parts(session, all);
  return in_lines(all);
}

}  // namespace pipeloom::gui
