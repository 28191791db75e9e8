// The runs on screen side by side: metrics, causes of idle time, steps, and the ops that differ most.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include <pipeloom/schedule.hpp>
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/panels/compare_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "sim/draw/palette.hpp"
#include "sim/memory.hpp"
#include "study/report/metric.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr IdleCause kCauses[] = {IdleCause::Warmup,   IdleCause::Cooldown, IdleCause::Imbalance,
                                 IdleCause::Transfer, IdleCause::Queueing, IdleCause::Memory};

std::string value_text(const study::MetricRow& row, double value, const RunModel* run, TimeUnit unit) {
  if (row.unit == study::Unit::Bytes && run != nullptr && run->memory)
    return memory_cell(*run->memory, static_cast<Bytes>(value));
  if (row.unit == study::Unit::Time) return study::time_with_unit(static_cast<Ticks>(value), unit);
  if (row.unit == study::Unit::Ratio) return percent_text(value);
  return fmt::format("{:.6g}", value);
}

/// Green for better, red for worse, muted where neither is.
Rgba colour_of(const Skin& skin, study::Better better, double relative) {
  if (better == study::Better::Neither || relative == 0) return skin.muted;
  return (relative < 0) == (better == study::Better::Lower) ? skin.good : skin.problem;
}

void draw_value(Ui& ui, const study::MetricRow& row, std::size_t run, std::uint64_t id, TimeUnit unit) {
  ImGui::TableNextColumn();
  if (!row.values[run]) return muted_text(ui, "-");
  const OpenRun* open = ui.session.find_run(id);
  const RunModel* model = open == nullptr ? nullptr : open->run.get();
  text_item(value_text(row, *row.values[run], model, unit));
  const auto relative = row.relative(run);
  if (run == 0 || !relative) return;
  ImGui::SameLine();
  ImGui::PushStyleColor(ImGuiCol_Text, colour_of(ui.skin, row.better, *relative));
  // Of ratios the difference counts, in points: a share of a share has no meaning.
  const bool points = row.unit == study::Unit::Ratio && row.values[0].has_value();
  const double shown = points ? *row.values[run] - *row.values[0] : *relative;
  text_item(fmt::format("{:+.1f}{}", 100 * shown, points ? " points" : " %"));
  ImGui::PopStyleColor();
}

void draw_metrics(Ui& ui, const ComparisonResult& result) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH |
                                     ImGuiTableFlags_ScrollX | ImGuiTableFlags_SizingFixedFit |
                                     ImGuiTableFlags_NoSavedSettings;
  const float height = (ImGui::GetTextLineHeight() + 2 * ImGui::GetStyle().CellPadding.y + 1) *
                       static_cast<float>(result.metrics.size() + 2);
  if (!ImGui::BeginTable("metrics", static_cast<int>(result.runs.size()) + 1, kFlags, ImVec2(0, height)))
    return;
  ImGui::TableSetupScrollFreeze(1, 1);
  ImGui::TableSetupColumn("");
  for (const std::string& title : result.titles) ImGui::TableSetupColumn(title.c_str());
  table_heads();
  for (const study::MetricRow& row : result.metrics) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const study::Metric* metric = study::metric_named(row.name);
    const std::string_view label = metric == nullptr ? std::string_view(row.name) : metric->label;
    text_item(label);
    for (std::size_t run = 0; run < result.runs.size(); ++run)
      draw_value(ui, row, run, result.runs[run], result.unit);
  }
  ImGui::EndTable();
}

/// A bar of a run's idle time, cause by cause, all bars to one scale.
void draw_cause_bar(Ui& ui, const study::CauseTotals& causes, TickSum most) {
  const float width = ImGui::GetContentRegionAvail().x;
  const float height = ImGui::GetTextLineHeight();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy(ImVec2(std::max(width, 1.0F), height));
  float x = at.x;
  const auto theme = ui.skin.dark ? draw::Theme::Dark : draw::Theme::Light;
  std::string help;
  for (const IdleCause cause : kCauses) {
    const TickSum ticks = causes.total.of(cause);
    if (ticks == 0) continue;
    const float part = width * static_cast<float>(share_of(ticks, most));
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(x, at.y),
                                              ImVec2(x + std::max(part, 1.0F), at.y + height),
                                              to_rgba(draw::idle_colour(theme, cause)));
    const std::string_view name = name_of(cause);
    if (ImGui::CalcTextSize(name.data(), name.data() + name.size()).x + 6 < part)
      put_text(*ImGui::GetWindowDrawList(), ImVec2(x + 3, at.y), ui.skin.text, name);
    x += part;
    help += fmt::format("{}{}: {}", help.empty() ? "" : "\n", name,
                        percent_text(share_of(ticks, causes.total.total())));
  }
  explain(help);
}

void draw_causes(Ui& ui, const ComparisonResult& result) {
  TickSum most;
  for (const study::CauseTotals& causes : result.causes) most = std::max(most, causes.total.total());
  for (std::size_t run = 0; run < result.runs.size(); ++run) {
    ImGui::AlignTextToFramePadding();
    muted_text(ui, result.titles[run]);
    draw_cause_bar(ui, result.causes[run], most);
  }
}

/// A strip of bars, one per step of a measured run; a click shows the step.
void draw_steps(Ui& ui, CompareModel& model, const ComparisonResult& result) {
  for (std::size_t run = 0; run < result.runs.size(); ++run) {
    if (result.steps[run].size() < 2) continue;
    std::vector<float> lengths;
    for (const Ticks ticks : result.steps[run])
      lengths.push_back(static_cast<float>(to_double(ticks, result.unit)));
    ImGui::PushID(static_cast<int>(run));
    ImGui::PlotHistogram("##steps", lengths.data(), static_cast<int>(lengths.size()), 0,
                         fmt::format("{}: {} steps", result.titles[run], lengths.size()).c_str(), 0, FLT_MAX,
                         ImVec2(-1, 3 * ImGui::GetTextLineHeight()));
    note_item(ui, fmt::format("compare/steps/{}", run));
    const float left = ImGui::GetItemRectMin().x;
    const float share = (ImGui::GetIO().MousePos.x - left) / std::max(1.0F, ImGui::GetItemRectSize().x);
    const int last = static_cast<int>(lengths.size()) - 1;
    if (ImGui::IsItemHovered() && ImGui::IsMouseClicked(ImGuiMouseButton_Left))
      model.choose_step(ui.session, result.runs[run],
                        std::clamp(static_cast<int>(share * static_cast<float>(lengths.size())), 0, last));
    ImGui::PopID();
  }
}

std::string difference_text(const RunModel& run, const study::OpDifference& difference) {
  const TimeUnit unit = run.timeline.unit;
  return fmt::format("{} of rank {}: start {:+.4g} {}, duration {:+.4g} {}",
                     to_text(run.schedule->ops()[difference.in_b]),
                     run.schedule->rank_of_op(difference.in_b).value(), to_double(difference.start, unit),
                     unit_word(unit), to_double(difference.duration, unit), unit_word(unit));
}

void draw_largest(Ui& ui, const CompareModel& model, const ComparisonResult& result) {
  constexpr std::size_t kShown = 12;
  for (std::size_t pair = 0; pair < result.pairs.size(); ++pair) {
    const OpenRun* open = ui.session.find_run(result.pairs[pair].run);
    if (open == nullptr) continue;
    const auto& largest = result.pairs[pair].ops.largest;
    for (std::size_t i = 0; i < std::min(kShown, largest.size()); ++i) {
      const std::string id = fmt::format("compare/largest/{}/{}", pair, i);
      if (selectable(ui, id, difference_text(*open->run, largest[i]).c_str(), false))
        model.select(ui.session, pair, i);
    }
  }
}

void draw_offsets(Ui& ui, const CompareModel& model, const ComparisonResult& result) {
  if (model.aligned() && button(ui, "compare/align", "Clocks as read", "Takes the offsets back"))
    run_command(ui.session, "align-clocks");
  if (model.aligned()) return;
  for (const PairComparison& pair : result.pairs) {
    if (pair.offsets.empty()) continue;
    std::string text = "clocks ahead:";
    for (std::size_t rank = 0; rank < std::min<std::size_t>(pair.offsets.size(), 64); ++rank)
      text += fmt::format(" rank {} {:+.4g} {}{}", rank, to_double(pair.offsets[rank], result.unit),
                          unit_word(result.unit), rank + 1 < pair.offsets.size() ? "," : "");
    muted_text(ui, text);
  }
  const bool any = std::any_of(result.pairs.begin(), result.pairs.end(),
                               [](const PairComparison& pair) { return !pair.offsets.empty(); });
  if (any &&
      button(ui, "compare/align", "Set clocks right", "Takes each rank's median difference off its times"))
    run_command(ui.session, "align-clocks");
}

void draw_controls(Ui& ui, const CompareModel& model) {
  std::vector<std::string> titles;
  for (const OpenRun& open : ui.session.runs) titles.push_back(open.run->title);
  int baseline = -1;
  if (model.result() != nullptr)
    for (std::size_t i = 0; i < ui.session.runs.size(); ++i)
      if (ui.session.runs[i].run->id == model.result()->runs.front()) baseline = static_cast<int>(i);
  ImGui::AlignTextToFramePadding();
  muted_text(ui, "Against");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(choice_width(ui, titles));
  if (choice(ui, "compare/baseline", titles, baseline, "What the others are compared with"))
    run_command(ui.session, "set-baseline", std::to_string(baseline));
  ImGui::SameLine();
  bool difference = model.shows_difference();
  if (checkbox(ui, "compare/difference", "Colour by difference", difference,
               "Ops by how they differ from their counterpart: grey is equal"))
    run_command(ui.session, "toggle-difference");
}

}  // namespace

void compare(Ui& ui) {
  auto& model = ui.session.part<CompareModel>();
  const ComparisonResult* result = model.result();
  if (result == nullptr) {
    muted_text(ui,
               "Tick a schedule in the table of schedules, or open another file below this run: they are "
               "compared here.");
    return;
  }
  draw_controls(ui, model);
  for (const PairComparison& pair : result->pairs)
    for (const std::string& line : pair.lines) wrapped_text(line);
  draw_metrics(ui, *result);
  draw_causes(ui, *result);
  draw_steps(ui, model, *result);
  draw_offsets(ui, model, *result);
  draw_largest(ui, model, *result);
}

}  // namespace pipeloom::gui::views
