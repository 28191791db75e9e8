#include "gui/model/find/find_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gui/model/answer/answer.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "schedules/generator.hpp"
#include "sim/memory.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {
namespace {

using study::Plan;
using study::PlanCandidate;

/// A number of bytes of the candidate's run in the measure of the plan's peaks: bytes, or activations of the workload.
double said(const Plan& plan, const PlanCandidate& candidate, Bytes units) {
  const double bytes = candidate.said(units);
  return plan.activation > 0 ? bytes / plan.activation : bytes;
}

std::string said_text(const Plan& plan, const PlanCandidate& candidate, Bytes units) {
  if (plan.activation > 0) return fmt::format("{:.4g}", said(plan, candidate, units));
  return memory_cell(*candidate.run.memory, units);
}

Bytes peak_of(const PlanCandidate& candidate) {
  return *std::ranges::max_element(candidate.peaks);
}

/// The limit that all ranks have.
std::optional<double> limit_of(const Plan& plan, const PlanCandidate& candidate) {
  const std::vector<Bytes>& limit = candidate.run.memory->limit;
  if (limit.empty() || std::ranges::min(limit) != std::ranges::max(limit)) return std::nullopt;
  return said(plan, candidate, limit.front());
}

ScheduleRow row_of(const Plan& plan, const PlanCandidate& candidate) {
  ScheduleRow row;
  row.name = candidate.name;
  row.chunks = candidate.chunks;
  row.unit = candidate.run.timeline.unit;
  row.makespan = candidate.makespan;
  row.step_time = candidate.step_time;
  row.bubble_ratio = candidate.bubble_ratio;
  row.held = said(plan, candidate, peak_of(candidate));
  row.held_text = said_text(plan, candidate, peak_of(candidate));
  row.peak_bytes = row.held;
  row.peak_text = row.held_text;
  row.tokens_per_s = candidate.tokens_per_s;
  row.gap = candidate.gap;
  row.found = true;
  if (const auto left = study::headroom_of(*candidate.run.memory, *candidate.run.metrics)) {
    row.headroom = said(plan, candidate, *left);
    row.headroom_text = said_text(plan, candidate, *left);
  }
  return row;
}

/// The unit of memory along the axis.
struct SizeUnit {
  const char* name;
  double bytes;
};
SizeUnit size_unit(double most) {
  for (const SizeUnit unit : {SizeUnit{"TB", 1e12}, SizeUnit{"GB", 1e9}, SizeUnit{"MB", 1e6}})
    if (most >= unit.bytes) return unit;
  return {"bytes", 1};
}

bool is_registered(const std::string& name) {
  return std::ranges::any_of(schedules::all(),
                             [&](const schedules::Generator& one) { return one.name == name; });
}

}  // namespace

std::vector<FindRow> rows_of(const Plan& plan) {
  std::vector<FindRow> out;
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const bool front = std::ranges::find(plan.pareto, i) != plan.pareto.end();
    out.push_back({row_of(plan, plan.candidates[i]), &plan.candidates[i], front});
  }
  for (const PlanCandidate& candidate : plan.over)
    out.push_back({row_of(plan, candidate), &candidate, false});
  return out;
}

std::vector<FoundSchedule> found_schedules(const std::vector<FindRow>& rows) {
  std::vector<FoundSchedule> out;
  for (const FindRow& one : rows) {
    if (is_registered(one.row.name)) continue;
    const PlanCandidate& candidate = *one.candidate;
    out.push_back({one.row, study::assignments_of(candidate.config),
                   candidate.searched() ? std::make_shared<const Run>(candidate.run) : nullptr});
  }
  return out;
}

std::string winner_text(const Plan& plan, const FindRow& winner) {
  const PlanCandidate& candidate = *winner.candidate;
  const TimeUnit unit = winner.row.unit;
  std::string out = fmt::format("{}: {}", winner.row.name, study::time_with_unit(candidate.step_time, unit));
  if (candidate.p95) out += fmt::format(", p95 {}", study::time_text(*candidate.p95, unit));
  if (candidate.tokens_per_s) out += fmt::format(", {} tokens/s", study::rate_text(*candidate.tokens_per_s));
  if (candidate.change) out += fmt::format(", {}", change_text(*candidate.change));
  out += fmt::format(", {}{}", winner.row.held_text, plan.activation > 0 ? " activations" : "");
  if (candidate.proven) return out + ", no order is shorter";
  if (candidate.bound.value > 0) out += fmt::format(", {} above the bound", percent_text(candidate.gap));
  return out;
}

FindPicture::FindPicture(const Plan& plan, const std::vector<FindRow>& rows) {
  if (rows.empty()) return;
  const PlanCandidate& any = *rows.front().candidate;
  const TimeUnit unit = any.run.timeline.unit;
  std::vector<const PlanCandidate*> all;
  for (const FindRow& row : rows) all.push_back(row.candidate);
  if (plan.baseline) all.push_back(&*plan.baseline);

  const auto step = [&](const PlanCandidate* one) { return to_double(one->step_time, unit); };
  std::vector<double> peaks;
  std::vector<double> steps;
  for (const PlanCandidate* one : all) {
    peaks.push_back(said(plan, *one, peak_of(*one)));
    steps.push_back(step(one));
  }
  const std::optional<double> limit = limit_of(plan, any);
  const double least = std::min(std::ranges::min(peaks), limit.value_or(peaks.front()));
  const double most = std::max(std::ranges::max(peaks), limit.value_or(peaks.front()));
  const SizeUnit size = plan.activation > 0 ? SizeUnit{"activations", 1} : size_unit(most);
  x_title_ = fmt::format("peak, {}", size.name);
  y_title_ = fmt::format("step, {}", unit_word(unit));
  x_ = sweep::Scale(least / size.bytes, most / size.bytes, study::Unit::Count);
  y_ = sweep::Scale(std::ranges::min(steps), std::ranges::max(steps), study::Unit::Time);

  for (std::size_t i = 0; i < rows.size(); ++i)
    dots_.push_back({x_.place(peaks[i] / size.bytes), y_.place(steps[i]), i});
  for (const std::size_t i : plan.pareto) front_.push_back(dots_[i]);
  if (plan.baseline) now_ = FindDot{x_.place(peaks.back() / size.bytes), y_.place(steps.back()), rows.size()};
  if (limit) limit_ = x_.place(*limit / size.bytes);
}

std::optional<FindDot> FindPicture::hit(double x, double y, double reach_x, double reach_y) const {
  std::optional<FindDot> nearest;
  double least = 1;  // in reaches
  for (const FindDot& dot : dots_) {
    const double away = std::hypot((dot.x - x) / reach_x, (dot.y - y) / reach_y);
    if (away > least || (nearest && away == least)) continue;
    least = away;
    nearest = dot;
  }
  return nearest;
}

}  // namespace pipeloom::gui
