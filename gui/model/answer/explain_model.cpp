#include "gui/model/answer/explain_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include <pipeloom/error.hpp>
#include <pipeloom/schedules.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/session/command.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/dependency.hpp"
#include "study/explain/shown/explain_runs.hpp"
#include "study/explain/shown/explain_table.hpp"

namespace pipeloom::gui {
namespace {

using study::explain::Cause;
using study::explain::CauseKind;
using study::explain::Explanation;

constexpr const char* kExplainLane = "analyse/explain";

bool is_of_ops(CauseKind kind) {
  return kind == CauseKind::Rank || kind == CauseKind::Stage || kind == CauseKind::Microbatch ||
         kind == CauseKind::Op;
}

bool has_op(const Cause& cause, Op op, Rank rank) {
  if (cause.kind == CauseKind::Order) return std::ranges::count(cause.ranks, rank) > 0;
  if (cause.kind == CauseKind::Hiccup) return cause.rank == rank && std::ranges::count(cause.ops, op) > 0;
  return (is_of_ops(cause.kind) || cause.kind == CauseKind::Pause) && (!cause.rank || *cause.rank == rank) &&
         (!cause.stage || *cause.stage == op.stage()) &&
         (!cause.microbatch || *cause.microbatch == op.microbatch()) &&
         (!cause.op_kind || *cause.op_kind == op.kind());
}

/// True if a message between these two ranks belongs to the cause.
bool has_message(const Cause& cause, Rank from, Rank to) {
  if (from == to) return false;
  if (cause.kind == CauseKind::MessageTime || !cause.from) return true;
  return (*cause.from == from && *cause.to == to) ||
         (cause.both_ways && *cause.from == to && *cause.to == from);
}

/// Ops by index, of one step.
std::vector<std::size_t> ops_in_step(const Schedule& schedule, const Cause& cause) {
  std::vector<std::size_t> ops;
  const bool messages = cause.kind == CauseKind::Link || cause.kind == CauseKind::MessageTime;
  const std::optional<DependencyMap> dependencies =
      messages ? std::optional<DependencyMap>(schedule) : std::nullopt;
  for (std::size_t op = 0; op < schedule.num_ops(); ++op) {
    const Rank rank = schedule.rank_of_op(op);
    bool has = !messages && has_op(cause, schedule.ops()[op], rank);
    if (messages)
      dependencies->each_producer(op, [&](std::uint32_t producer) {
        has = has || has_message(cause, schedule.rank_of_op(producer), rank);
      });
    if (has) ops.push_back(op);
  }
  return ops;
}

std::vector<CauseRow> rows_of(const Explanation& explanation) {
  std::vector<CauseRow> rows;
  const study::Table table = study::explain::causes_table(explanation);
  for (const std::vector<std::string>& row : table.rows())
    rows.push_back({row[0], row[1], row[3], row[2], row[4], row[5]});
  return rows;
}

bool can_predict(const RunModel& run) {
  return run.costs != nullptr && run.source != RunSource::TimelineFile && !run.hang;
}

}  // namespace

std::vector<std::size_t> ops_of(const RunModel& run, const Cause& cause) {
  const std::vector<std::size_t> once = ops_in_step(*run.schedule, cause);
  std::vector<std::size_t> all;
  for (int step = 0; step < run.timeline.steps; ++step)
    for (const std::size_t op : once) all.push_back(run.timeline.index(step, op));
  return all;
}

/// Chooses the measured run: the active one, else the first that was measured; and the prediction: the baseline, else the first simulated run.
void ExplainModel::choose_runs(const Session& session) {
  RunPtr predicted;
  RunPtr measured;
  const OpenRun* const baseline = session.baseline_run();
  const RunModel* const active = session.active_run();
  for (const OpenRun& open : session.runs) {
    const bool chosen = open.run.get() == active || &open == baseline;
    RunPtr& side = open.run->source == RunSource::TimelineFile ? measured : predicted;
    if (&side == &predicted && !can_predict(*open.run)) continue;
    if (!side || chosen) side = open.run;
  }
  if (!predicted || !measured) predicted = measured = nullptr;
  if (predicted == predicted_ && measured == measured_) return;
  predicted_ = std::move(predicted);
  measured_ = std::move(measured);
  take(nullptr);
  waits_ = false;
}

void ExplainModel::take(std::shared_ptr<const Explanation> found) {
  found_ = std::move(found);
  rows_ = found_ ? rows_of(*found_) : std::vector<CauseRow>();
  headline_ = found_ ? study::explain::headline_of(*found_) : "";
  refusal_.clear();
  pinned_.reset();
  hovered_.reset();
}

std::string ExplainModel::why() const {
  return found_ ? study::explain::why_of(*found_) : std::string();
}

void ExplainModel::submit(Session& session) {
  under_way_ = true;
  waits_ = false;
  session.jobs.submit(
      kExplainLane,
      [this, predicted = predicted_, measured = measured_](const Cancelled& cancelled) -> Jobs::Finish {
        std::shared_ptr<const Explanation> found;
        std::string refusal;
        const auto goes_on = [&cancelled](double share) {
          cancelled.report(share);
          return !cancelled;
        };
        try {
          found = std::make_shared<const Explanation>(
              study::explain::explain_runs(*predicted, *measured, goes_on));
        } catch (const Stopped& stopped) {
          refusal = stopped.what();
        } catch (const Error& error) {
          refusal = fmt::format("{}: {}", measured->title, error.what());
        } catch (const std::bad_alloc&) {
          refusal = "out of memory: the runs are too large to be explained here";
        }
        return [this, predicted, measured, found, refusal] {
          under_way_ = false;
          if (predicted != predicted_ || measured != measured_) return;
          take(found);
          refusal_ = refusal;
        };
      });
}

void ExplainModel::ask(Session& session) {
  if (!measured_)
    throw InputError(
        Where{"explain"},
        "there is nothing to explain; open a trace or timeline of a real run beside a simulated one");
  if (!under_way_) submit(session);
}

bool ExplainModel::update(Session& session) {
  const RunPtr before = measured_;
  const RunPtr old = predicted_;
  choose_runs(session);
  const bool changed = before != measured_ || old != predicted_;
  if (changed && under_way_) session.jobs.cancel(kExplainLane);
  // An edit that was refused may have cancelled it.
  const bool lost = under_way_ && session.jobs.idle();
  if (changed || lost) under_way_ = false;
  if (measured_ && (changed || lost)) {
    waits_ = measured_->timeline.start.size() > study::explain::kMostComparedTimes;
    if (!waits_) submit(session);
  }
  const std::optional<std::size_t> wanted = hovered_ ? hovered_ : pinned_;
  if (wanted == shown_) return changed;
  shown_ = wanted;
  show_highlight(session);
  return true;
}

void ExplainModel::stop(Session& session) {
  session.jobs.cancel(kExplainLane);
  if (std::exchange(under_way_, false)) waits_ = true;
}

void ExplainModel::show_highlight(Session& session) {
  auto& chart = session.part<ChartPart>();
  chart.highlights.clear();
  if (!found_ || !shown_ || *shown_ >= found_->causes.size()) return;
  for (const RunPtr& run : {predicted_, measured_}) {
    auto ops = std::make_shared<const std::vector<std::size_t>>(ops_of(*run, found_->causes[*shown_]));
    if (!ops->empty()) chart.highlights[run->id] = std::move(ops);
  }
}

void ExplainModel::hover(std::optional<std::size_t> cause) {
  hovered_ = cause;
}

std::size_t ExplainModel::index_in(const char* command, std::string_view cause) const {
  if (!found_ || rows_.empty())
    throw InputError(Where{command}, "there is no explanation; open a measured run beside a simulated one");
  const auto n = count_in(cause);
  if (!n || static_cast<std::size_t>(*n) >= rows_.size())
    throw InputError(Where{command}, fmt::format("found '{}'; allowed is the number of a cause, 0 to {}",
                                                 shortened(cause, 40), rows_.size() - 1));
  return static_cast<std::size_t>(*n);
}

void ExplainModel::highlight(Session&, std::string_view cause) {
  pinned_ = cause.empty() ? std::nullopt : std::optional(index_in("highlight-cause", cause));
}

void ExplainModel::go_to(Session& session, std::string_view cause) {
  const std::size_t n = index_in("go-to-cause", cause);
  const std::vector<std::size_t> ops = ops_of(*measured_, found_->causes[n]);
  if (ops.empty()) return session.say("this cause is of no op: it is in all of them");
  const OpWalk* const walk = session.part<OpWalks>().find(session, predicted_);
  const auto apart = [&](std::size_t at) {
    const Ticks took = measured_->timeline.end[at] - measured_->timeline.start[at];
    const std::size_t same =
        walk == nullptr ? OpWalk::kNone : walk->find(op_at(*measured_, at).with_joined(false));
    if (same == OpWalk::kNone) return took;
    return std::abs(took - (predicted_->timeline.end[same] - predicted_->timeline.start[same]));
  };
  const auto most = std::max_element(ops.begin(), ops.end(),
                                     [&](std::size_t a, std::size_t b) { return apart(a) < apart(b); });
  select_op(session, OpRef{measured_->id, *most}, Reveal::Yes);
}

void ExplainModel::write_state(const Session&, io::JsonWriter& out) const {
  if (!measured_) {
    out.null();
    return;
  }
  out.object().member("headline", headline_).member("refusal", refusal_).key("causes").array();
  for (std::size_t i = 0; found_ && i < found_->causes.size(); ++i) {
    const Cause& cause = found_->causes[i];
    const TimeUnit unit = found_->unit;
    out.object()
        .member("text", cause.text)
        .member("kind", name_of(cause.kind))
        .member("amount", to_double(cause.amount, unit))
        .member("sd", cause.sd / static_cast<double>(ticks_per(unit)))
        .member("alone", to_double(cause.alone, unit))
        .member("if_fixed", to_double(cause.if_fixed, unit))
        .member("ops", ops_of(*measured_, cause).size())
        .close();
  }
  out.close().key("highlight");
  shown_ ? out.number(*shown_) : out.null();
  out.close();
}

}  // namespace pipeloom::gui
