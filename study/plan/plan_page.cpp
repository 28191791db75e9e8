#include <fmt/format.h>

#include <algorithm>

#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/layout/megatron_layout.hpp"
#include "sim/memory.hpp"
#include "study/plan/plan_shown.hpp"
#include "study/text/numbers.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study {
namespace {

std::string share_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string gap_text(const PlanCandidate& candidate) {
  if (candidate.proven) return "optimal";
  return candidate.bound.value > 0 ? share_text(candidate.gap) : "-";
}

struct Shown {
  bool tokens = false;
  bool p95 = false;
  bool change = false;
};

std::vector<Column> columns_of(const Shown& shown) {
  std::vector<Column> out = {{"schedule"}, {"placement"}, {"step", Align::Right}};
  if (shown.p95) out.push_back({"p95", Align::Right});
  if (shown.tokens) out.push_back({"tokens/s", Align::Right});
  if (shown.change) out.push_back({"change", Align::Right});
  for (const char* title : {"bubble", "peak", "gap"}) out.push_back({title, Align::Right});
  out.push_back({""});
  return out;
}

std::vector<std::string> cells_of(const PlanCandidate& candidate, const Shown& shown,
                                  const std::string& mark) {
  const TimeUnit unit = candidate.run.timeline.unit;
  std::vector<std::string> out = {candidate.name, candidate.placement, time_text(candidate.step_time, unit)};
  if (shown.p95) out.push_back(candidate.p95 ? time_text(*candidate.p95, unit) : "-");
  if (shown.tokens)
    out.push_back(candidate.tokens_per_s ? fmt::format("{:.0f}", *candidate.tokens_per_s) : "-");
  if (shown.change) out.push_back(candidate.change ? fmt::format("{:+.1f} %", 100 * *candidate.change) : "-");
  out.push_back(share_text(candidate.bubble_ratio));
  out.push_back(memory_cell(*candidate.run.memory, candidate.peak));
  out.push_back(gap_text(candidate));
  out.push_back(mark);
  return out;
}

std::string table_of(const Plan& plan, const PlanStyle& style) {
  const auto any = [&](auto member) {
    return std::ranges::any_of(plan.candidates, [&](const auto& c) { return (c.*member).has_value(); });
  };
  const Shown shown{any(&PlanCandidate::tokens_per_s), any(&PlanCandidate::p95), plan.baseline.has_value()};
  Table table(columns_of(shown));
  for (std::size_t i = 0; i < std::min(style.top, plan.candidates.size()); ++i)
    table.add_row(cells_of(plan.candidates[i], shown,
                           std::ranges::find(plan.pareto, i) != plan.pareto.end() ? "front" : ""));
  if (plan.baseline)
    table.add_row(cells_of(*plan.baseline, shown, plan.baseline_fits ? "now" : "now, over the limit"));
  return style.markdown ? table.markdown() : table.text(style.colour);
}

/// The winner in a sentence or two.
std::string headline(const Plan& plan) {
  const PlanCandidate& winner = plan.candidates.front();
  std::string out =
      fmt::format("{}: {} a step", winner.name, time_text(winner.step_time, winner.run.timeline.unit));
  if (plan.baseline && winner.change)
    out += fmt::format(", {} {} than {} now", share_text(std::abs(*winner.change)),
                       *winner.change <= 0 ? "less" : "more", plan.baseline->name);
  if (winner.proven)
    return out + fmt::format("; no order of these stages is shorter ({})", winner.bound.name);
  if (winner.bound.value > 0)
    out +=
        fmt::format("; at most {} above the best possible ({})", share_text(winner.gap), winner.bound.name);
  return out;
}

std::string rejected_text(const Plan& plan, const PlanStyle& style) {
  std::string out;
  std::size_t left_out = 0;
  for (const PlanRejected& rejected : plan.rejected) {
    if (!style.everything && !rejected.why.starts_with("holds")) {
      ++left_out;
      continue;
    }
    out +=
        wrapped(fmt::format("{}: {}", rejected.name, rejected.why), static_cast<std::size_t>(style.width), 2);
  }
  if (left_out > 0)
    out += fmt::format("  {} cannot run here; -v says why\n", count_text(left_out, "other schedule"));
  return out.empty() ? "" : "\nNot taken\n" + out;
}

std::string stages_text(const std::vector<int>& layers, const Placement& placement) {
  if (layers.empty() || !layout::layout_refusal(placement).empty()) return "";
  return layout::to_text(layout::layout_of(layout::contents_of(layers)));
}

std::string torch_lines(const PlanCandidate& winner, const std::string& word, const std::string& file) {
  if (!word.empty())
    return fmt::format("schedule class {} of torch.distributed.pipelining, {} stages a rank", word,
                       winner.chunks);
  if (file.empty()) return "its order as PyTorch's CSV: add --schedule-out ORDER.csv";
  return fmt::format(
      "_PipelineScheduleRuntime(stages, n_microbatches={}), then _load_csv(\"{}\", format=\"compute_only\")",
      winner.run.schedule->microbatches(), file);
}

std::string titan_lines(const PlanCandidate& winner, const std::string& word, const std::string& file) {
  const std::string what =
      word.empty() ? fmt::format("pipeline_parallel_schedule_csv = \"{}\"", file.empty() ? "ORDER.csv" : file)
                   : fmt::format("pipeline_parallel_schedule = \"{}\"", word);
  return fmt::format("pipeline_parallel_degree = {}, {}", winner.run.schedule->ranks(), what);
}

std::string megatron_lines(const PlanCandidate& winner) {
  std::string out = fmt::format("--pipeline-model-parallel-size {}", winner.run.schedule->ranks());
  const std::string stages = stages_text(winner.layers, winner.run.schedule->placement());
  if (!stages.empty())
    out += fmt::format(" --pipeline-model-parallel-layout '{}'", shortened(stages, 4096));
  else if (winner.chunks > 1)
    out += fmt::format(" --num-virtual-stages-per-pipeline-rank {}", winner.chunks);
  return out;
}

}  // namespace

std::string paste_text(const PlanCandidate& winner, const Target* target, const std::string& schedule_file) {
  std::string out = "\nTo run it\n";
  for (const Target& one : targets()) {
    if (target != nullptr && target != &one) continue;
    const std::string refusal = target_refusal(one, winner.schedule);
    const std::string word = target_word(one, winner.schedule);
    std::string lines;
    if (!refusal.empty())
      lines = refusal;
    else if (one.name == "torch")
      lines = torch_lines(winner, word, schedule_file);
    else if (one.name == "torchtitan")
      lines = titan_lines(winner, word, schedule_file);
    else if (one.name == "areal")
      lines = fmt::format("pp_schedule: \"{}\", pp_size: {}", word, winner.run.schedule->ranks());
    else
      lines = megatron_lines(winner);
    out += fmt::format("  {:<11}{}\n", one.name, lines);
  }
  return out;
}

std::string plan_page(const Plan& plan, const PlanStyle& style) {
  std::string out;
  if (!plan.candidates.empty()) out += headline(plan) + "\n\n";
  if (!plan.candidates.empty() || plan.baseline) out += table_of(plan, style);
  out += rejected_text(plan, style);
  if (plan.advice.empty()) return out;
  out += "\nWhat would help\n";
  for (const PlanAdvice& advice : plan.advice) out += "  " + advice.text + '\n';
  return out;
}

}  // namespace pipeloom::study
