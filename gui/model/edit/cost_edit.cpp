#include "gui/model/edit/cost_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "gui/model/chart/op_walk.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_writer.hpp"
#include "sim/kinds.hpp"
#include "sim/text.hpp"

namespace pipeloom::gui {
namespace {

using cost::CostRow;
using Rows = std::vector<CostRow>;

const Costs& costs_of(const RunModel& run) {
  return *run.costs;
}

Scale microbatch_scale(const RunModel& run, Op op) {
  const auto& scales = costs_of(run).microbatch_scale;
  return scales.empty() ? kUnitScale : scales[op.microbatch().at()];
}

/// The duration without the time per entry and the factor of the microbatch.
Ticks bare(const RunModel& run, Op op, Ticks duration) {
  const Ticks alone = std::max<Ticks>(0, duration - costs_of(run).entry);
  const Scale scale = microbatch_scale(run, op);
  return scale > 0 ? multiply_divide(alone, kUnitScale, scale) : alone;
}

Scale factor_at(const cost::ScaleSpec& spec, std::size_t index) {
  return index < spec.array.size() ? spec.array[index] : kUnitScale;
}

/// The factor by which rank_scale and stage_scale change a stated time of this op.
Scale scale_of_slot(const RunModel& run, Rank rank, Op op) {
  const cost::CostSpec& costs = run.effective->costs;
  return multiply_divide(factor_at(costs.rank_scale, rank.at()),
                         factor_at(costs.stage_scale, op.stage().at()), kUnitScale);
}

/// The time that a row must state so that the op takes `duration`; of the whole pass that its slice is a part of, unless a row names
/// the slice.
Ticks stated_time(const RunModel& run, std::size_t position, Ticks duration, bool of_slice) {
  const Op op = op_at(run, position);
  Ticks time = bare(run, op, duration);
  const Scale scale = scale_of_slot(run, rank_at(run, position), op);
  if (scale > 0) time = multiply_divide(time, kUnitScale, scale);
  const auto& ends = costs_of(run).slice_end;
  if (of_slice || ends.empty() || !op.is_sliced()) return time;
  const auto slice = static_cast<std::size_t>(op.slice());
  const std::int64_t share = ends[slice + 1] - ends[slice];
  return share > 0 ? multiply_divide(time, ends.back(), share) : time;
}

/// Times of rows are given for all passes of a rank or of the model where costs.per says so.
int passes_of(const Assignments& from, const RunModel& run) {
  const auto per = from.find("costs.per");
  if (per == from.end()) return 1;
  const Placement& placement = run.schedule->placement();
  const std::string word = study::shown_value(per->second);
  return word == "rank" ? placement.chunks() : word == "model" ? placement.stages() : 1;
}

/// Rows by their times of one pass, as a configuration states them.
std::string rows_text(const Rows& rows, const Assignments& from, const RunModel& run) {
  const TimeUnit unit = run.effective->costs.unit;
  const auto stated = from.find("costs.time_unit");
  const bool plain =
      stated == from.end() ? unit == TimeUnit::Unit : study::shown_value(stated->second) == name_of(unit);
  const int passes = passes_of(from, run);
  return io::written_json(io::kReportStyle, [&](io::JsonWriter& out) {
    out.array();
    for (const CostRow& row : rows) {
      out.object();
      if (row.kind) out.member("kind", std::string(1, letter_of(*row.kind)));
      if (row.stage) out.member("stage", *row.stage);
      if (row.rank) out.member("rank", *row.rank);
      if (row.microbatch) out.member("microbatch", *row.microbatch);
      if (row.slice) out.member("slice", *row.slice);
      const std::string number =
          row.is_factor ? format_ticks(row.number, TimeUnit::Unit) : format_ticks(row.number * passes, unit);
      const std::string_view name = row.of_group ? "overlapped" : "time";
      if (row.is_factor)
        out.key("factor").raw(number);
      else if (plain)
        out.key(name).raw(number);
      else
        out.member(name, number + std::string(name_of(unit)));
      out.close();
    }
    out.close();
  });
}

Rows rows_of(const RunModel& run) {
  const cost::CostRows& rows = run.effective->costs.exceptions;
  return rows ? *rows : Rows();
}

bool is_of(const CostRow& row, Op op) {
  return row.kind == op.kind() && row.stage == op.stage().value() && !row.rank && !row.of_group;
}

/// The op's own row; the last counts.
Rows with_op(Rows rows, const RunModel& run, std::size_t position, Ticks duration) {
  const Op op = op_at(run, position);
  CostRow row;
  row.kind = op.kind();
  row.stage = op.stage().value();
  row.microbatch = op.microbatch().value();
  if (op.is_sliced()) row.slice = op.slice();
  row.number = stated_time(run, position, duration, op.is_sliced());
  std::erase_if(rows, [&](const CostRow& old) {
    return is_of(old, op) && old.microbatch == row.microbatch && old.slice == row.slice;
  });
  rows.push_back(row);
  return rows;
}

/// One row for the kind on its stage, before those that name microbatches.
Rows with_stage_kind(Rows rows, const RunModel& run, std::size_t position, Ticks duration) {
  const Op op = op_at(run, position);
  CostRow row;
  row.kind = op.kind();
  row.stage = op.stage().value();
  row.number = stated_time(run, position, duration, false);
  std::erase_if(rows, [&](const CostRow& old) { return is_of(old, op); });
  const auto narrower =
      std::find_if(rows.begin(), rows.end(), [](const CostRow& old) { return old.microbatch.has_value(); });
  rows.insert(narrower, row);
  return rows;
}

std::string scales_text(const RunModel& run, Rank rank, Ticks before, Ticks after) {
  std::string text;
  for (int i = 0; i < run.ranks(); ++i) {
    Scale factor = factor_at(run.effective->costs.rank_scale, static_cast<std::size_t>(i));
    if (Rank(i) == rank) factor = multiply_divide(factor, after, before);
    text += (text.empty() ? "[" : ", ") + format_ticks(factor, TimeUnit::Unit);
  }
  return text + "]";
}

/// True if costs measured on other stages were dealt out to these: rows of the configuration then name other stages.
bool is_dealt(const RunModel& run) {
  const auto& origins = run.effective->origins;
  return std::any_of(origins.begin(), origins.end(),
                     [](const auto& origin) { return origin.second.starts_with("dealt out"); });
}

}  // namespace

std::string scope_text(const RunModel& run, std::size_t position, CostScope scope) {
  const Op op = op_at(run, position);
  const char kind = letter_of(op.kind());
  switch (scope) {
    case CostScope::Op:
      return fmt::format("{} {} of stage {}", kind, op.microbatch().value(), op.stage().value());
    case CostScope::Rank:
      return fmt::format("all of rank {}", rank_at(run, position).value());
    default:
      return fmt::format("{} of stage {}", kind, op.stage().value());
  }
}

std::string cost_refusal(const RunModel& run, std::size_t position, CostScope scope) {
  if (run.source == RunSource::TimelineFile)
    return fmt::format(
        "The times of {} were measured or read: they have no costs to change. `pipeloom calibrate` "
        "makes a configuration of them.",
        run.title);
  if (!run.effective || !run.costs || run.hang)
    return fmt::format("{} has no configuration whose costs could change.", run.title);
  const auto [first, last] = entry_at(run, position);
  if (last - first > 1)
    return "Ops that overlap take what costs.overlapped says of them together; set that among the "
           "parameters.";
  if (is_dealt(run))
    return "costs.layers deals out the costs of other stages to these; leave it out to change one of them.";
  if (scope != CostScope::Rank) return "";
  if (bare(run, op_at(run, position), run.timeline.end[position] - run.timeline.start[position]) == 0)
    return "An op that takes no time cannot say how much longer its rank takes.";
  return "";
}

Assignments with_duration(const Assignments& from, const RunModel& run, std::size_t position, CostScope scope,
                          Ticks duration) {
  Assignments next = study::with_costs_inlined(from);
  if (scope == CostScope::Rank) {
    const Op op = op_at(run, position);
    const Ticks before = bare(run, op, run.timeline.end[position] - run.timeline.start[position]);
    next["costs.rank_scale"] =
        scales_text(run, rank_at(run, position), before, std::max<Ticks>(1, bare(run, op, duration)));
    return next;
  }
  Rows rows = rows_of(run);
  rows = scope == CostScope::Op ? with_op(std::move(rows), run, position, duration)
                                : with_stage_kind(std::move(rows), run, position, duration);
  next["costs.exceptions"] = rows_text(rows, next, run);
  return next;
}

Assignments assignments_of_file(const RunModel& run) {
  const io::Document document = io::Document::parse(io::effective_config_text(*run.effective), run.title);
  Assignments all = study::assignments_of(document.root());
  Assignments out;
  for (auto& [path, text] : all) {
    const auto& origins = run.effective->origins;
    const bool left_out = std::any_of(origins.begin(), origins.end(), [&path = path](const auto& origin) {
      return origin.first == path && origin.second == "default";
    });
    if (!left_out && path.find('.') != std::string::npos && !path.starts_with("options.")) out[path] = text;
  }
  out["schedule"] = io::json_string(std::string(io::kCustomSchedule));
  out["options.file"] = io::json_string(run.file);
  return out;
}

}  // namespace pipeloom::gui
