#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/memory.hpp"
#include "sim/options.hpp"
#include "study/plan/ranking.hpp"
#include "study/plan/relief.hpp"
#include "study/plan/shown/plan_facts.hpp"
#include "study/plan/shown/plan_shown.hpp"
#include "study/plan/shown/plan_words.hpp"
#include "study/run/evaluate.hpp"
#include "study/text/numbers.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study {
namespace {

std::string gap_text(const PlanCandidate& candidate) {
  if (candidate.proven) return std::string(kOptimal);
  return candidate.bound.value > 0 ? percent_text(candidate.gap) : "-";
}

/// Which columns there are, and how times stand in them.
struct Shown {
  bool tokens = false;
  bool p95 = false;
  bool change = false;
  double activation = 0;  ///< Plan::activation
  TimeFormat time;
};

/// Sizes that are relative are told in those of the input, so that candidates with other numbers of stages compare.
std::string peak_text(const PlanCandidate& candidate, double activation) {
  if (activation > 0) return fmt::format("{:.4g}", candidate.peak / activation);
  return memory_cell(*candidate.run.memory, *std::ranges::max_element(candidate.peaks));
}

std::vector<Column> columns_of(const Shown& shown, TimeUnit unit) {
  const std::string in = unit == TimeUnit::Unit ? "" : fmt::format(" [{}]", name_of(unit));
  std::vector<Column> out = {{"schedule"}, {"placement"}, {"step" + in, Align::Right}};
  if (shown.p95) out.push_back({"p95" + in, Align::Right});
  if (shown.tokens) out.push_back({"tokens/s", Align::Right});
  if (shown.change) out.push_back({"change", Align::Right});
  for (const char* title : {"bubble", "peak", "gap"}) out.push_back({title, Align::Right});
  out.push_back({""});
  return out;
}

std::vector<std::string> cells_of(const PlanCandidate& candidate, const Shown& shown,
                                  const std::string& mark) {
  std::vector<std::string> out = {candidate.name, candidate.placement, shown.time.text(candidate.step_time)};
  if (shown.p95) out.push_back(candidate.p95 ? shown.time.text(*candidate.p95) : "-");
  if (shown.tokens)
    out.push_back(candidate.tokens_per_s ? fmt::format("{:.0f}", *candidate.tokens_per_s) : "-");
  if (shown.change) out.push_back(candidate.change ? change_text(*candidate.change) : "-");
  out.push_back(percent_text(candidate.bubble_ratio));
  out.push_back(peak_text(candidate, shown.activation));
  out.push_back(gap_text(candidate));
  out.push_back(mark);
  return out;
}

bool is_among(const std::vector<const PlanCandidate*>& rows, const PlanCandidate* row) {
  return std::ranges::find(rows, row) != rows.end();
}

/// Where the table has what runs now: among the candidates where it is one.
const PlanCandidate* baseline_row(const Plan& plan) {
  if (plan.baseline_among) return &plan.candidates[*plan.baseline_among];
  return plan.baseline ? &*plan.baseline : nullptr;
}

/// Rows of the table: candidates, and at the end the best interleaved 1F1B and what runs now where they are none of those that are shown.
std::vector<const PlanCandidate*> rows_of(const Plan& plan, std::size_t top) {
  std::vector<const PlanCandidate*> out;
  for (std::size_t i = 0; i < std::min(top, plan.candidates.size()); ++i) out.push_back(&plan.candidates[i]);
  for (const PlanCandidate* one : {best_usual(plan), baseline_row(plan)})
    if (one != nullptr && !is_among(out, one)) out.push_back(one);
  return out;
}

bool fits(const Plan& plan, const PlanCandidate& candidate) {
  if (plan.baseline && &candidate == &*plan.baseline) return plan.baseline_fits;
  return std::ranges::none_of(plan.over, [&](const PlanCandidate& one) { return &one == &candidate; });
}

/// What stands behind a row: "now, front", "reference", "now, over the limit".
std::string mark_of(const Plan& plan, const PlanCandidate& candidate) {
  std::vector<std::string> out;
  const bool front =
      std::ranges::any_of(plan.pareto, [&](std::size_t i) { return &plan.candidates[i] == &candidate; });
  if (&candidate == baseline_row(plan)) out.emplace_back(kNow);
  if (!plan.baseline && &candidate == compared_with(plan)) out.emplace_back(kReference);
  if (front) out.emplace_back(kFront);
  if (!fits(plan, candidate)) out.emplace_back(kOver);
  return fmt::format("{}", fmt::join(out, ", "));
}

Shown shown_of(const Plan& plan, const std::vector<const PlanCandidate*>& rows) {
  const auto any = [&](auto member) {
    return std::ranges::any_of(rows, [&](const PlanCandidate* row) { return (row->*member).has_value(); });
  };
  Shown shown{any(&PlanCandidate::tokens_per_s), any(&PlanCandidate::p95), any(&PlanCandidate::change),
              plan.activation, TimeFormat(rows.front()->run.timeline.unit)};
  for (const PlanCandidate* row : rows) {
    shown.time.include(row->step_time);
    shown.time.include(row->p95.value_or(0));
  }
  return shown;
}

page::PageTable table_of(const Plan& plan, const std::vector<const PlanCandidate*>& rows) {
  const Shown shown = shown_of(plan, rows);
  Table table(columns_of(shown, rows.front()->run.timeline.unit));
  for (const PlanCandidate* row : rows) table.add_row(cells_of(*row, shown, mark_of(plan, *row)));
  return page::PageTable::of(table, "", "candidates");
}

/// The words of the table that its legend says more of.
std::vector<std::string> words_in(const Plan& plan, const std::vector<const PlanCandidate*>& rows) {
  std::vector<std::string> out;
  for (const PlanCandidate* row : rows) {
    std::ranges::move(split(mark_of(plan, *row), ','), std::back_inserter(out));
    std::ranges::move(split(row->name, ','), std::back_inserter(out));
    out.push_back(gap_text(*row));
    if (row->searched()) out.emplace_back(kSearched);
  }
  for (std::string& word : out) word = std::string(trimmed(word));
  return out;
}

/// Whether ops may take less time as pairs: bounds are on orders of the pairs that there are.
bool may_pair(const Run& run) {
  return run.costs->overlap.rule != OverlapRule::Sum && run.costs->overlap.rule != OverlapRule::Sequential;
}

/// What it holds: "45.1 GB", "3 activations".
std::string held_text(const Plan& plan, double peak) {
  if (plan.activation > 0) return fmt::format("{:.4g} activations", peak / plan.activation);
  return short_bytes_text(std::llround(peak));
}

/// ", 14.4 % less than 1f1b now", ", as now"; "" where there is nothing to compare with.
std::string compared_text(const Plan& plan, const PlanCandidate& winner) {
  const PlanCandidate* other = compared_with(plan);
  if (&winner == baseline_row(plan)) return ", as now";
  if (other == nullptr || other == &winner || !winner.change) return "";
  std::string out = fmt::format(", {} {} than {}", percent_text(std::abs(*winner.change)),
                                *winner.change <= 0 ? "less" : "more", other->name);
  if (plan.baseline) out += " now";
  return fits(plan, *other) ? out : out + ", which is over the limit";
}

std::string bound_text(const PlanCandidate& winner) {
  const char* pairs = may_pair(winner.run) ? " with these pairs" : "";
  if (winner.proven) return fmt::format("; no better order exists for these stages{}", pairs);
  if (winner.bound.value <= 0) return "";
  return fmt::format("; at most {} above the best order for these stages{}", percent_text(winner.gap), pairs);
}

/// The winner, and what is hardly slower and holds less.
page::List headline(const Plan& plan) {
  const PlanCandidate& winner = plan.candidates.front();
  page::List out{{fmt::format(
      "{}: {} a step{}, {}{}", winner.name, time_text(winner.step_time, winner.run.timeline.unit),
      compared_text(plan, winner), held_text(plan, winner.peak), bound_text(winner))}};
  if (const PlanCandidate* other = cheap_neighbour(plan)) {
    const double slower = static_cast<double>(other->step_time) / static_cast<double>(winner.step_time) - 1;
    out.items.push_back(fmt::format("{}: {} slower, {} less", other->name, percent_text(slower),
                                    held_text(plan, winner.peak - other->peak)));
  }
  return out;
}

bool has_own_layers(const PlanCandidate& winner) {
  return winner.config.given.has("costs.layers") && !winner.layers.empty();
}

/// What a stage consists of and does besides the schedule, where the plan or its input says so: frameworks are told in many ways.
std::string stages_lines(const PlanCandidate& winner) {
  std::string out;
  if (has_own_layers(winner))
    out += fmt::format("  {:<11}{} of stages 0 to {}\n", "layers", fmt::join(winner.layers, ", "),
                       winner.layers.size() - 1);
  const ScheduleOptions& options = winner.config.options;
  const auto where = [](const std::vector<int>& stages) {
    return stages.empty() ? std::string("all") : stage_ranges_text(stages);
  };
  if (const RecomputeOption& recompute = options.recompute; recompute.on) {
    const std::string what = recompute.layers            ? layers_again_text(recompute)
                             : recompute.modules.empty() ? "whole forwards"
                                                         : recompute.modules;
    const std::string but =
        recompute.keep > 0 ? fmt::format(", but for {} passes of each rank", recompute.keep) : "";
    out += fmt::format("  {:<11}{}, stages {}{}\n", "recompute", what, where(recompute.stages), but);
  }
  if (const OffloadOption& offload = options.offload; offload.on)
    out += fmt::format("  {:<11}activations to the host behind their forward, stages {}; loaded {} ahead\n",
                       "offload", where(offload.stages),
                       count_text(static_cast<std::size_t>(offload.prefetch), "op"));
  return out;
}

}  // namespace

page::Section paste_section(const PlanCandidate& winner, std::span<const TargetVerdict> verdicts, int width) {
  return {"run", "To run it", {page::Code{to_run_page(verdicts, width) + stages_lines(winner)}}};
}

page::Page plan_page(const Plan& plan, const PlanStyle& style) {
  page::Page out;
  out.lead.emplace_back(page::List{fact_lines(plan)});
  if (!plan.candidates.empty()) out.lead.emplace_back(headline(plan));
  if (const auto rows = rows_of(plan, style.top); !rows.empty()) {
    out.lead.emplace_back(table_of(plan, rows));
    if (std::string meanings = legend(words_in(plan, rows)); !meanings.empty())
      out.lead.emplace_back(page::Paragraph{std::move(meanings)});
  }
  if (page::List refusals = refusals_list(plan, style.everything); !refusals.items.empty())
    out.sections.push_back({"refused", "Not taken", {std::move(refusals)}});
  page::List advice;
  for (const PlanAdvice& one : plan.advice) advice.items.push_back("  " + one.text);
  if (!advice.items.empty()) out.sections.push_back({"advice", "What would help", {std::move(advice)}});
  return out;
}

}  // namespace pipeloom::study
