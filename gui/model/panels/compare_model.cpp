#include "gui/model/panels/compare_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <utility>

#include <pipeloom/error.hpp>
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/navigation.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/run/build_run.hpp"
#include "study/run/input.hpp"

namespace pipeloom::gui {
namespace {

/// Sizes stay in units of the memory model, and limits are not compared.
study::RunNumbers side_of(const RunModel& run, const std::vector<std::vector<IdleSpan>>& idle) {
  study::RunNumbers numbers = study::numbers_of(run);
  numbers.memory = nullptr;
  numbers.idle = idle.empty() ? nullptr : &idle;
  return numbers;
}

/// Idle spans; of a measured run under the baseline's costs, where these are of its placement: its own know no transfers.
std::vector<std::vector<IdleSpan>> idle_of(const RunModel& run, const RunModel& baseline) {
  if (run.source != RunSource::TimelineFile) return run.idle;
  auto spans = study::idle_spans_under(run.timeline, baseline);
  return spans.empty() ? run.idle : spans;
}

std::vector<std::int8_t> tints_of_steps(const Timeline& a, const Timeline& b,
                                        const study::OpComparison& ops) {
  std::vector<std::int8_t> out;
  for (int step = 0; step < b.steps; ++step) {
    const auto one = study::tints(a, b, ops, std::min(step, a.steps - 1), step);
    out.insert(out.end(), one.begin(), one.end());
  }
  return out;
}

PairComparison compare_pair(const RunModel& a, const RunModel& b, const study::CauseTotals& causes_a,
                            const study::CauseTotals& causes_b, int step) {
  const Timeline& from = a.timeline;
  const Timeline& to = b.timeline;
  PairComparison out;
  out.run = b.id;
  out.ops = study::compare_ops(from, to, std::min(step, from.steps - 1), std::min(step, to.steps - 1));
  out.in_run.assign(from.schedule->num_ops(), PairComparison::kNotInRun);
  for (std::size_t op = 0; op < out.ops.match.size(); ++op)
    if (out.ops.match[op] != study::kUnmatched)
      out.in_run[out.ops.match[op]] = static_cast<std::uint32_t>(op);
  if (!study::same_clock(from, to)) {
    out.lines.push_back(study::clock_difference(from, to));
    out.ops.largest.clear();
  } else {
    out.tints = std::make_shared<const std::vector<std::int8_t>>(tints_of_steps(from, to, out.ops));
    const std::string work = study::work_difference(from, to);
    if (!work.empty()) out.lines.push_back(work);
    out.lines.push_back(study::explain_idle(causes_a, causes_b, from.unit));
    if (b.source == RunSource::TimelineFile) out.offsets = study::clock_offsets(from, to, out.ops);
  }
  out.lines.push_back(fmt::format("{} ops in both, {} only in {}, {} only in {}", out.ops.matched,
                                  out.ops.only_a, a.title, out.ops.only_b, b.title));
  return out;
}

}  // namespace

ComparisonResult compare_runs(const std::vector<RunPtr>& runs, int step) {
  ComparisonResult out;
  std::vector<study::RunNumbers> sides;
  out.unit = runs.front()->timeline.unit;
  std::list<std::vector<std::vector<IdleSpan>>> idle;
  for (const RunPtr& run : runs) {
    sides.push_back(side_of(*run, idle.emplace_back(idle_of(*run, *runs.front()))));
    out.runs.push_back(run->id);
    out.titles.push_back(run->title);
    out.causes.push_back(study::cause_totals(idle.back()));
    out.steps.push_back(study::step_makespans(run->timeline));
  }
  out.metrics = study::compare_metrics(sides);
  for (std::size_t i = 1; i < runs.size(); ++i)
    out.pairs.push_back(compare_pair(*runs[0], *runs[i], out.causes[0], out.causes[i], step));
  return out;
}

std::vector<RunPtr> CompareModel::ordered_runs(const Session& session) const {
  std::vector<RunPtr> runs;
  for (const OpenRun& open : session.runs) {
    if (open.run->schedule->num_ops() == 0) continue;
    runs.push_back(open.run);
    if (open.run->id == session.baseline) std::swap(runs.front(), runs.back());
  }
  return runs;
}

/// A run that was simulated or read again is the baseline where the one before was.
void CompareModel::keep_baseline(Session& session) {
  if (session.find_run(session.baseline) == nullptr && baseline_index_ < session.runs.size())
    session.baseline = session.runs[baseline_index_].run->id;
  for (std::size_t i = 0; i < session.runs.size(); ++i)
    if (session.runs[i].run->id == session.baseline) baseline_index_ = i;
  std::erase_if(as_read_, [&](const auto& set) { return session.find_run(set.first) == nullptr; });
}

bool CompareModel::update(Session& session) {
  keep_baseline(session);
  const std::vector<RunPtr> runs = ordered_runs(session);
  std::vector<std::uint64_t> ids;
  for (const RunPtr& run : runs) ids.push_back(run->edition());
  ids.push_back(static_cast<std::uint64_t>(step_));
  if (ids == asked_) return false;
  asked_ = ids;
  if (runs.size() < 2) {
    session.jobs.cancel("compare");
    const bool had = std::exchange(result_, nullptr) != nullptr;
    apply_tints(session);
    return had;
  }
  session.jobs.submit("compare", [this, &session, runs, step = step_](const Cancelled&) -> Jobs::Finish {
    auto result = std::make_shared<const ComparisonResult>(compare_runs(runs, step));
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
  for (const PairComparison& pair : result_->pairs)
    if (pair.tints) chart.tints[pair.run] = pair.tints;
}

void CompareModel::show_difference(Session& session, bool on) {
  difference_ = on;
  apply_tints(session);
}

void CompareModel::set_baseline(Session& session, std::size_t index) {
  if (index >= session.runs.size())
    throw InputError(Where{"set-baseline"},
                     fmt::format("there are {} runs; they count from 0", session.runs.size()));
  session.baseline = session.runs[index].run->id;
  baseline_index_ = index;
}

void CompareModel::choose_step(Session& session, std::uint64_t run, int step) {
  const OpenRun* open = session.find_run(run);
  if (open == nullptr || step < 0 || step >= open->run->timeline.steps) return;
  step_ = step;
  fit_span(session, span_of(open->run->timeline, step));
}

void CompareModel::restore_clocks(Session& session) {
  for (OpenRun& open : session.runs)
    if (const auto found = as_read_.find(open.run->id); found != as_read_.end()) open.run = found->second;
  as_read_.clear();
}

void CompareModel::align_clocks(Session& session) {
  if (aligned()) return restore_clocks(session);
  if (!result_)
    throw InputError(Where{"align-clocks"}, "clocks are set by another run; open one to compare with");
  bool any = false;
  for (const PairComparison& pair : result_->pairs) {
    const OpenRun* open = session.find_run(pair.run);
    if (open == nullptr || pair.offsets.empty()) continue;
    any = true;
    session.jobs.submit(fmt::format("align/{}", pair.run), [this, &session, read = open->run,
                                                            offsets = pair.offsets](const Cancelled&) {
      RunPtr set = build_timed_run(study::with_offsets(read->timeline, offsets),
                                   read->title + " (clocks set)", read->file, read->warnings);
      return Jobs::Finish([this, &session, read, set] {
        for (OpenRun& other : session.runs) {
          if (other.run->id != read->id) continue;
          other.run = set;
          as_read_[set->id] = read;
        }
      });
    });
  }
  if (!any)
    throw InputError(Where{"align-clocks"}, "none of the runs was measured: simulated clocks are one");
}

std::vector<OpRef> CompareModel::counterparts(const Session& session, const OpRef& op) const {
  std::vector<OpRef> out;
  const OpenRun* const from = session.find_run(op.run);
  // While a job compares, the runs on screen may be others than those of the result.
  if (!result_ || from == nullptr || std::ranges::count(result_->runs, op.run) == 0) return out;
  const std::size_t ops = from->run->schedule->num_ops();
  const int step = static_cast<int>(op.op / ops);
  // Through the baseline: the pairs know each run's ops by those of the baseline.
  std::size_t in_baseline = op.op % ops;
  for (const PairComparison& pair : result_->pairs)
    if (pair.run == op.run) in_baseline = pair.ops.match[op.op % ops];
  if (in_baseline == study::kUnmatched) return out;
  const auto add = [&](std::uint64_t run, std::size_t index) {
    const OpenRun* const open = session.find_run(run);
    if (open == nullptr || run == op.run || index == PairComparison::kNotInRun) return;
    const Timeline& timeline = open->run->timeline;
    out.push_back({run, timeline.index(std::min(step, timeline.steps - 1), index)});
  };
  add(result_->runs.front(), in_baseline);
  for (const PairComparison& pair : result_->pairs)
    if (pair.run != op.run) add(pair.run, pair.in_run[in_baseline]);
  return out;
}

void CompareModel::select(Session& session, std::size_t pair, std::size_t i) const {
  if (!result_ || pair >= result_->pairs.size() || i >= result_->pairs[pair].ops.largest.size()) return;
  if (session.find_run(result_->pairs[pair].run) == nullptr) return;
  const Timeline& timeline = session.find_run(result_->pairs[pair].run)->run->timeline;
  const std::size_t op = result_->pairs[pair].ops.largest[i].in_b;
  select_from_list(session,
                   OpRef{result_->pairs[pair].run, timeline.index(std::min(step_, timeline.steps - 1), op)});
}

void CompareModel::write_state(const Session&, io::JsonWriter& out) const {
  if (!result_) {
    out.null();
    return;
  }
  out.object()
      .member("titles", result_->titles)
      .member("difference", difference_)
      .member("step", step_)
      .member("aligned", aligned());
  out.key("metrics").object();
  for (const study::MetricRow& row : result_->metrics) {
    const auto scale = row.unit == study::Unit::Time ? static_cast<double>(ticks_per(result_->unit)) : 1.0;
    out.key(row.name).array();
    for (const auto& value : row.values) value ? out.number(*value / scale) : out.null();
    out.close();
  }
  out.close().key("pairs").array();
  for (const PairComparison& pair : result_->pairs) {
    out.object()
        .member("matched", pair.ops.matched)
        .member("only_a", pair.ops.only_a)
        .member("only_b", pair.ops.only_b)
        .member("durations_differ", pair.ops.durations_differ)
        .member("lines", pair.lines)
        .close();
  }
  out.close().close();
}

}  // namespace pipeloom::gui
