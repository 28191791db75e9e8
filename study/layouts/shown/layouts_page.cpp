#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/number_text.hpp"
#include "sim/memory.hpp"
#include "study/layouts/shown/layouts_shown.hpp"
#include "study/plan/shown/plan_facts.hpp"
#include "study/plan/shown/plan_shown.hpp"
#include "study/run/training.hpp"
#include "study/text/numbers.hpp"
#include "study/text/table.hpp"

namespace pipeloom::study {
namespace {

/// Below the first row's peak by this share of the device: worth a word.
constexpr double kLess = 0.05;

std::string excluded_text(Excluded excluded) {
  switch (excluded) {
    case Excluded::Model:
      return "that the model cannot be shared out to";
    case Excluded::Batch:
      return "that the global batch does not divide into";
    case Excluded::FastDomain:
      return "with tensor ranks in several nodes";
    case Excluded::Target:
      return "that no framework runs";
    case Excluded::Order:
      return "whose schedule refuses its size";
    case Excluded::Memory:
      return "that do not fit";
    case Excluded::Slower:
      return "that a bound shows to be slower";
    case Excluded::NotTried:
      return "not tried";
  }
  return "";
}

std::string space_line(const LayoutPlan& plan, double seconds) {
  std::vector<std::string> parts;
  for (const Excluded excluded : kExcluded)
    if (const auto count = plan.space.excluded.of(excluded); count > 0)
      parts.push_back(
          fmt::format("{} {}", count_text(static_cast<std::size_t>(count)), excluded_text(excluded)));
  parts.push_back(fmt::format("{} simulated; {:.1f} s", count_text(plan.simulated), seconds));
  return fmt::format("{} layouts: {}", count_text(static_cast<std::size_t>(plan.space.points)),
                     fmt::join(parts, ", "));
}

std::string workload_line(const LayoutPlan& plan, const estimate::Setting& setting) {
  return fmt::format("{} on {} {}: batch {} of {} tokens; {}; {}", setting.model->name,
                     count_text(static_cast<std::size_t>(plan.devices)), setting.hardware->name,
                     count_text(static_cast<std::size_t>(plan.global_batch)),
                     count_text(static_cast<std::size_t>(setting.split.sequence)),
                     hardware::name_of(setting.hardware->precision), hidden_text(setting));
}

std::string slower_text(const PlanCandidate& row, const PlanCandidate& first) {
  if (&row == &first) return "";
  return change_text(static_cast<double>(row.step_time) / static_cast<double>(first.step_time) - 1);
}

std::string note_of(const LayoutPlan& plan, std::size_t i) {
  const PlanCandidate& row = plan.plan.candidates[i];
  const PlanCandidate& first = plan.plan.candidates.front();
  std::vector<std::string> out;
  const double device = static_cast<double>(plan.plan.room.device.value_or(0));
  if (i > 0 && first.peak - row.peak > kLess * device)
    out.push_back(short_bytes_text(static_cast<Bytes>(first.peak - row.peak)) + " less");
  if (plan.layouts[i].data == 1) out.emplace_back("no replica to lose");
  if (plan.layouts[i].devices != DeviceOrder::PipelineLast)
    out.emplace_back(name_of(plan.layouts[i].devices));
  return fmt::format("{}", fmt::join(out, ", "));
}

/// "64", "64 fsdp", "8 x 8 fsdp": groups that share out, and the data ranks of each.
std::string replicas_text(const ParallelLayout& layout) {
  const std::string kind = layout.zero >= 3 ? " fsdp" : "";
  if (layout.shards == 0) return std::to_string(layout.data) + kind;
  return fmt::format("{} x {}{}", layout.data / layout.shards, layout.shards, kind);
}

page::PageTable table_of(const LayoutPlan& plan) {
  const auto& rows = plan.plan.candidates;
  const TimeUnit unit = rows.front().run.timeline.unit;
  Table table({{"split"},
               {"dp", Align::Right},
               {"mbs", Align::Right},
               {"v", Align::Right},
               {"schedule"},
               {"recompute"},
               {"tokens/s/GPU", Align::Right},
               {"MFU", Align::Right},
               {"step", Align::Right},
               {"peak", Align::Right},
               {"change", Align::Right},
               {""}});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PlanCandidate& row = rows[i];
    const ParallelLayout& layout = plan.layouts[i];
    const TrainingTerms& training = row.run.model->training;
    table.add_row({split_text(layout), replicas_text(layout), std::to_string(layout.micro_batch),
                   std::to_string(layout.chunks), row.schedule, recompute_text(layout),
                   fmt::format("{:.0f}", tokens_per_s_per_gpu(training, row.step_time).value_or(0)),
                   percent_text(mfu(training, row.step_time).value_or(0)), time_text(row.step_time, unit),
                   memory_cell(*row.run.memory, *std::ranges::max_element(row.peaks)),
                   slower_text(row, rows.front()), note_of(plan, i)});
  }
  return page::PageTable::of(table, "", "layouts");
}

/// "tp 12.1 %, pp 3.2 %": what the first row's step loses.
std::string losses_line(const PlanCandidate& first) {
  const Exposed exposed = exposed_of(first);
  std::vector<std::string> parts;
  for (const auto& [name, share] :
       {std::pair("exchanges of tp", exposed.tensor), std::pair("of cp", exposed.context),
        std::pair("of ep", exposed.expert), std::pair("idle in the pipeline", exposed.pipeline),
        std::pair("reduction of gradients", exposed.data), std::pair("optimizer", exposed.optimizer)})
    if (share >= 0.0005) parts.push_back(fmt::format("{} {}", name, percent_text(share)));
  return fmt::format("of the first step: {}", fmt::join(parts, ", "));
}

std::vector<std::string> certainty_lines(const LayoutPlan& plan) {
  const auto& rows = plan.plan.candidates;
  std::vector<std::string> out;
  const auto equal = static_cast<std::size_t>(std::ranges::count_if(rows, [&](const PlanCandidate& row) {
    return static_cast<double>(row.step_time) <=
           (1 + kEqualSteps) * static_cast<double>(rows.front().step_time);
  }));
  if (equal > 1)
    out.push_back(
        fmt::format("{} are within {:.0f} %, which is less than such estimates are off: run them for some "
                    "steps each, and take the fastest",
                    count_text(equal, "row"), 100 * kEqualSteps));
  for (const IfHidden& one : plan.sensitivities)
    out.push_back(fmt::format("if {} of the layers' exchanges were hidden, the fastest would be {}",
                              one.hidden == 0 ? "none" : "all", split_text(one.best)));
  return out;
}

/// The forecasts of each measured step, and the terms that follow.
std::vector<std::string> measured_lines(const FittedForecast& fitted) {
  std::vector<std::string> out;
  for (const FittedRun& one : fitted.runs)
    out.push_back(
        fmt::format("{} under {}: {:.4g} s measured, {:.4g} s forecast ({}), {:.4g} s under these terms",
                    split_text(one.run.layout), order_name(one.run.layout), one.run.seconds, one.before,
                    change_text(one.before / one.run.seconds - 1), one.after));
  std::vector<std::string> terms;
  std::vector<std::string> others;
  for (const auto& [name, group] : kExchangeNames)
    if (std::ranges::find(fitted.told, group) == fitted.told.end())
      others.emplace_back(name);
    else
      terms.push_back(fmt::format("{} of {}'s exchanges hidden",
                                  percent_text(fitted.terms.hidden[static_cast<std::size_t>(group)]), name));
  terms.push_back(fmt::format("everything else in the passes takes {:.3f} x", fitted.terms.compute));
  out.push_back(fmt::format("terms: {}", fmt::join(terms, ", ")));
  if (!others.empty())
    out.push_back(
        fmt::format("no run has exchanges of {}: none of these counts as hidden", fmt::join(others, " or ")));
  return out;
}

std::string elsewhere_line(const Elsewhere& elsewhere) {
  std::vector<std::string> names;
  for (const Target* target : elsewhere.targets) names.emplace_back(target->title);
  return fmt::format("{} under {}: {} of the step; it needs {}", split_text(elsewhere.layout),
                     order_name(elsewhere.layout), change_text(elsewhere.change), fmt::join(names, ", or "));
}

}  // namespace

page::Page layouts_page(const LayoutPlan& plan, double seconds) {
  page::Page out;
  page::List facts;
  if (!plan.plan.candidates.empty())
    facts.items.push_back(workload_line(plan, plan.plan.candidates.front().run.model->costs.setting));
  if (std::string room = room_line(plan.plan); !room.empty()) facts.items.push_back(std::move(room));
  if (!plan.plan.candidates.empty())
    facts.items.push_back(accuracy_line(plan.plan.candidates.front().run.model->costs.setting));
  facts.items.push_back(space_line(plan, seconds));
  if (plan.ended)
    facts.items.emplace_back("ended before all layouts were looked at: this is the best so far");
  out.lead.emplace_back(std::move(facts));
  if (plan.plan.candidates.empty()) return out;
  out.lead.emplace_back(table_of(plan));
  out.lead.emplace_back(page::Paragraph{losses_line(plan.plan.candidates.front())});
  if (plan.elsewhere)
    out.sections.push_back(
        {"elsewhere", "Faster elsewhere", {page::List{{"  " + elsewhere_line(*plan.elsewhere)}}}});
  if (plan.fitted) {
    page::List measured;
    for (const std::string& line : measured_lines(*plan.fitted)) measured.items.push_back("  " + line);
    out.sections.push_back({"measured", "Measured steps", {std::move(measured)}});
  }
  page::List certain;
  for (const std::string& line : certainty_lines(plan)) certain.items.push_back("  " + line);
  if (!certain.items.empty()) out.sections.push_back({"certainty", "How sure", {std::move(certain)}});
  return out;
}

}  // namespace pipeloom::study
