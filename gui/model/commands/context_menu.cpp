#include "gui/model/commands/context_menu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <pipeloom/error.hpp>
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/session/palette.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui {
namespace {

constexpr std::array<std::string_view, 9> kTargetNames = {"op",     "gap",  "rank", "run",  "schedule",
                                                          "memory", "mark", "link", "place"};
/// So far from a mark's line the pointer is on it, at scale 1.
constexpr double kMarkReach = 5;

struct ContextRow {
  ContextTarget target;
  std::string_view function;  ///< of the command; its id has '-' for '_'
  std::string_view argument;
};
constexpr ContextRow kContextRows[] = {
#define PIPELOOM_CONTEXT(target, command, argument) {ContextTarget::target, #command, argument},
#include "gui/model/commands/context.def"
#undef PIPELOOM_CONTEXT
};

const Command& command_of_row(const ContextRow& row) {
  std::string id(row.function);
  std::ranges::replace(id, '_', '-');
  const Command* command = find_command(id);
  if (command == nullptr) throw InternalError("context.def names an unknown command: " + id);
  return *command;
}

/// Writes a time as commands read it.
std::string time_argument(double ticks, TimeUnit unit) {
  return fmt::format("{:.9g}", ticks / static_cast<double>(ticks_per(unit)));
}

/// "16.5 ms"
std::string place_text(double ticks, TimeUnit unit) {
  const std::string text = fmt::format("{:.4g}", ticks / static_cast<double>(ticks_per(unit)));
  return unit == TimeUnit::Unit ? "time " + text : fmt::format("{} {}", text, name_of(unit));
}

const Mark* mark_near(const Session& session, const ChartLayout& layout, double time) {
  const double x = layout.x_of(time);
  for (const Mark& mark : session.marks)
    if (std::abs(layout.x_of(static_cast<double>(mark.time)) - x) <= kMarkReach * layout.scale) return &mark;
  return nullptr;
}

}  // namespace

std::string_view name_of(ContextTarget target) {
  return kTargetNames[static_cast<std::size_t>(target)];
}

std::string ContextMenu::filled(std::string_view argument, const Thing& thing) {
  if (argument == "{op}") return thing.op;
  if (argument == "{rank}") return thing.rank;
  if (argument == "{run}") return thing.run;
  if (argument == "{schedule}") return thing.schedule;
  if (argument == "{time}") return thing.time;
  if (argument == "{kind}") return thing.kind;
  return std::string(argument);
}

void ContextMenu::open(ContextTarget target, std::string title, const Thing& thing) {
  target_ = target;
  title_ = std::move(title);
  entries_.clear();
  ++opened_;
  for (const ContextRow& row : kContextRows) {
    if (row.target != target) continue;
    const Command& command = command_of_row(row);
    const std::string argument = filled(row.argument, thing);
    const bool optional = command.argument.empty() || command.argument.starts_with('[');
    // Keys of these act on the thing that is selected or under the pointer, without an argument.
    const bool asks = argument.empty() && !optional && command.keys.empty();
    entries_.push_back({&command, argument, asks});
  }
}

void ContextMenu::open_op(Session& session, const OpRef& op) {
  const OpenRun* open_run = session.find_run(op.run);
  if (open_run == nullptr) return;
  const RunModel& run = *open_run->run;
  select_op(session, op, Reveal::No);
  const Op name = run.schedule->ops()[op.op % run.schedule->num_ops()];
  const auto start = static_cast<double>(run.timeline.start[op.op]);
  Thing thing{.op = op_name(run, op.op)};
  thing.kind = letter_of(name.kind());
  thing.time = time_argument(start, run.timeline.unit);
  open(ContextTarget::Op,
       fmt::format("{} of rank {}", to_text(name.with_joined(false)), rank_at(run, op.op).value()), thing);
}

void ContextMenu::open_schedule(const std::string& name) {
  open(ContextTarget::Schedule, name, {.schedule = name});
}

void ContextMenu::open_at(Session& session, const ChartLayout& layout, const Hit& hit) {
  if (hit.area == ChartArea::None || session.runs.empty()) return close();
  if (hit.op) return open_op(session, *hit.op);
  if (hit.block && *hit.block < layout.blocks.size()) session.active = layout.blocks[*hit.block].index;
  const RunModel& run = *session.active_run();
  Thing thing{.run = std::to_string(session.active)};
  thing.time = time_argument(hit.time, run.timeline.unit);
  if (hit.rank) thing.rank = std::to_string(hit.rank->value());
  if (hit.gap) {
    select_gap(session, *hit.gap, Reveal::No);
    return open(ContextTarget::Gap, "gap of rank " + thing.rank, thing);
  }
  if (hit.message) return open(ContextTarget::Link, "message of rank " + thing.rank, thing);
  switch (hit.area) {
    case ChartArea::RowHeader:
      return open(ContextTarget::Rank, "rank " + thing.rank, thing);
    case ChartArea::Title:
      return open(ContextTarget::Run, session.runs[session.active].title(), thing);
    case ChartArea::Memory:
      return open(ContextTarget::Memory, "memory", thing);
    case ChartArea::Ruler:
    case ChartArea::Lane:
    case ChartArea::RowSpace:
    case ChartArea::Minimap: {
      const Mark* mark = hit.area == ChartArea::Minimap ? nullptr : mark_near(session, layout, hit.time);
      if (mark == nullptr) return open(ContextTarget::Place, place_text(hit.time, run.timeline.unit), thing);
      thing.time = time_argument(static_cast<double>(mark->time), run.timeline.unit);
      return open(ContextTarget::Mark, mark->note.empty() ? "mark" : mark->note, thing);
    }
    default:
      return close();
  }
}

void ContextMenu::run(Session& session, std::size_t index) {
  const ContextEntry entry = entries_[index];
  close();
  if (entry.asks)
    session.part<PaletteModel>().ask(session, entry.command->id);
  else
    run_command(session, entry.command->id, entry.argument);
}

void ContextMenu::write_state(const Session&, io::JsonWriter& out) const {
  if (!target_) {
    out.null();
    return;
  }
  out.object().member("target", name_of(*target_)).member("title", title_).key("entries").array();
  for (const ContextEntry& entry : entries_) out.text(entry.command->id);
  out.close().close();
}

}  // namespace pipeloom::gui
