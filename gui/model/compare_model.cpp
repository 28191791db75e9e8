#include "gui/model/compare_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gui/model/build_run.hpp"
#include "gui/model/chart_part.hpp"
#include "gui/model/select.hpp"
#include "sim/error.hpp"

namespace pipeloom::gui {
namespace {

study::ComparedRun side_of(const RunModel& run) {
  return {run.title, &run.timeline, run.metrics ? &*run.metrics : nullptr, &run.idle};
}

PairComparison compare_pair(const RunModel& a, const RunModel& b, const study::CauseTotals& causes_a,
                            const study::CauseTotals& causes_b) {
  PairComparison out;
  out.run = b.id;
  out.ops = study::compare_ops(a.timeline, b.timeline, 0, 0);
  out.tints =
      std::make_shared<const std::vector<std::int8_t>>(study::tints(a.timeline, b.timeline, out.ops, 0, 0));
  const std::string work = study::work_difference(a.timeline, b.timeline);
  if (!work.empty()) out.lines.push_back(work);
  if (a.timeline.unit == b.timeline.unit)
    out.lines.push_back(study::explain_idle(causes_a, causes_b, a.timeline.unit));
  out.lines.push_back(fmt::format("{} ops in both, {} only in {}, {} only in {}", out.ops.matched,
                                  out.ops.only_a, a.title, out.ops.only_b, b.title));
  if (b.source == RunSource::TimelineFile)
    out.offsets = study::clock_offsets(a.timeline, b.timeline, out.ops);
  return out;
}

}  // namespace

ComparisonResult compare_runs(const std::vector<RunPtr>& runs) {
  ComparisonResult out;
  std::vector<study::ComparedRun> sides;
  out.unit = runs.front()->timeline.unit;
  for (const RunPtr& run : runs) {
    sides.push_back(side_of(*run));
    out.runs.push_back(run->id);
    out.titles.push_back(run->title);
    out.causes.push_back(study::cause_totals(run->idle));
    out.steps.push_back(study::step_makespans(run->timeline));
  }
  out.metrics = study::compare_metrics(sides);
  for (std::size_t i = 1; i < runs.size(); ++i)
    out.pairs.push_back(compare_pair(*runs[0], *runs[i], out.causes[0], out.causes[i]));
  return out;
}

std::vector<RunPtr> CompareModel::ordered_runs(const Session& session) const {
  std::vector<RunPtr> runs;
  for (const OpenRun& open : session.runs) {
    if (open.run->schedule->num_ops() == 0) continue;
    runs.push_back(open.run);
    if (open.run->id == baseline_) std::swap(runs.front(), runs.back());
  }
  return runs;
}

bool CompareModel::update(Session& session) {
  const std::vector<RunPtr> runs = ordered_runs(session);
  std::vector<std::uint64_t> ids;
  for (const RunPtr& run : runs) ids.push_back(run->id);
  if (ids == asked_) return false;
  asked_ = ids;
  if (runs.size() < 2) {
    session.jobs.cancel("compare");
    const bool had = std::exchange(result_, nullptr) != nullptr;
    apply_tints(session);
    return had;
  }
  session.jobs.submit("compare", [this, &session, runs](const Cancelled&) -> Jobs::Finish {
    auto result = std::make_shared<const ComparisonResult>(compare_runs(runs));
    return [this, &session, result] {
      result_ = result;
      apply_tints(session);
    };
  });
  return false;
}

void CompareModel::apply_tints(Session& session) const {
  auto& chart = session.part<ChartPart>();
  chart.tints.clear();
  if (!difference_ || !result_) return;
  for (const PairComparison& pair : result_->pairs) chart.tints[pair.run] = pair.tints;
}

void CompareModel::show_difference(Session& session, bool on) {
  difference_ = on;
  apply_tints(session);
}

void CompareModel::set_baseline(Session& session, std::size_t index) {
  if (index >= session.runs.size())
    throw InputError(Where{"set-baseline"},
                     fmt::format("there are {} runs; they count from 0", session.runs.size()));
  baseline_ = session.runs[index].run->id;
}

void CompareModel::align_clocks(Session& session) {
  if (!result_)
    throw InputError(Where{"align-clocks"}, "clocks are set by another run; open one to compare with");
  bool any = false;
  for (const PairComparison& pair : result_->pairs)
    for (OpenRun& open : session.runs) {
      if (open.run->id != pair.run || pair.offsets.empty()) continue;
      open.run = build_timed_run(study::with_offsets(open.run->timeline, pair.offsets),
                                 open.run->title + " (clocks set)", open.run->file);
      any = true;
    }
  if (!any)
    throw InputError(Where{"align-clocks"}, "none of the runs was measured: simulated clocks are one");
}

void CompareModel::select(Session& session, std::size_t pair, std::size_t i) const {
  if (!result_ || pair >= result_->pairs.size() || i >= result_->pairs[pair].ops.largest.size()) return;
  if (session.find_run(result_->pairs[pair].run) == nullptr) return;
  select_op(session, OpRef{result_->pairs[pair].run, result_->pairs[pair].ops.largest[i].in_b}, Reveal::Yes);
}

std::string CompareModel::state_json(const Session&) const {
  if (!result_) return "null";
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  for (const study::MetricRow& row : result_->metrics) {
    nlohmann::ordered_json& values = metrics[std::string(row.name)] = nlohmann::ordered_json::array();
    const auto scale = row.unit == "time_unit" ? static_cast<double>(ticks_per(result_->unit)) : 1.0;
    for (const auto& value : row.values)
      values.push_back(value ? nlohmann::ordered_json(*value / scale) : nullptr);
  }
  nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
  for (const PairComparison& pair : result_->pairs)
    pairs.push_back({{"matched", pair.ops.matched},
                     {"only_a", pair.ops.only_a},
                     {"only_b", pair.ops.only_b},
                     {"durations_differ", pair.ops.durations_differ},
                     {"lines", pair.lines}});
  return nlohmann::ordered_json{
      {"titles", result_->titles}, {"difference", difference_}, {"metrics", metrics}, {"pairs", pairs}}
      .dump();
}

}  // namespace pipeloom::gui
