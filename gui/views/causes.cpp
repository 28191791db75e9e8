// Causes of idle time: the run's metrics, idle time by cause in total and per rank, and the longest gaps. A click on a gap goes there.

#include "gui/model/panels/causes.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <string>

#include <pipeloom/metrics.hpp>
#include "gui/cause_rows.hpp"
#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/widgets.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui::views {
namespace {

/// Lines in sight before a list scrolls.
constexpr std::size_t kRanksInSight = 8;
constexpr std::size_t kGapsInSight = 6;
constexpr std::size_t kRootsInSight = 6;
/// Wide enough for sums and places side by side; pixels at scale 1.
constexpr float kTwoColumns = 560;
constexpr ImGuiTableFlags kSideBySide = ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_SizingStretchSame;

constexpr IdleCause kAllCauses[] = {IdleCause::Warmup,   IdleCause::Cooldown, IdleCause::Imbalance,
                                    IdleCause::Transfer, IdleCause::Queueing, IdleCause::Memory};

Rgba colour_of(const Ui& ui, IdleCause cause) {
  const Preferences& preferences = ui.session.preferences;
  return rgba(gap_colour(preferences.palette, theme_of(preferences), cause));
}

void draw_metrics(Ui& ui, const CausesModel& model) {
  if (!ImGui::BeginTable("metrics", 2, ImGuiTableFlags_NoSavedSettings)) return;
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthFixed);
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
  for (const MetricLine& line : model.metrics()) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushStyleColor(ImGuiCol_Text, ui.skin.muted);
    text_item(line.name);
    ImGui::PopStyleColor();
    explain(line.help);
    ImGui::TableNextColumn();
    wrapped_text(line.value);
    note_item(ui, "causes/metric/" + line.name);
    explain(line.help);
  }
  ImGui::EndTable();
}

/// The two numbers that are asked for first, in one line.
void draw_headline(const CausesModel& model) {
  std::string text;
  for (const MetricLine& line : model.metrics()) {
    if (line.name == "makespan") text += line.value;
    if (line.name == "bubble ratio") text += ", bubble " + line.value;
  }
  text_item(text);
  explain("Step time, and the share of idle time; all metrics are below");
}

std::string causes_text(const CauseSums& causes, TimeUnit unit) {
  std::string text = "idle " + duration_text(causes.total(), unit);
  for (const IdleCause cause : kAllCauses)
    if (causes.of(cause) > 0)
      text += fmt::format("\n{}: {}", name_of(cause), duration_text(causes.of(cause), unit));
  return text;
}

/// One bar of parts; `most` is its full width.
void draw_stack(Ui& ui, const CauseSums& causes, TickSum most, float width, float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy(ImVec2(width, height));
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, ImVec2(at.x + width, at.y + height), ui.skin.row);
  if (most <= 0) return;
  double before = 0;
  for (const IdleCause cause : kAllCauses) {
    const auto part = static_cast<double>(causes.of(cause));
    if (part <= 0) continue;
    const double per = static_cast<double>(width) / static_cast<double>(most);
    list->AddRectFilled(ImVec2(at.x + static_cast<float>(before * per), at.y),
                        ImVec2(at.x + static_cast<float>((before + part) * per), at.y + height),
                        colour_of(ui, cause));
    before += part;
  }
}

void draw_legend(Ui& ui, const CausesSummary& summary, TimeUnit unit) {
  for (const IdleCause cause : kAllCauses) {
    const TickSum ticks = summary.total.of(cause);
    if (ticks == 0) continue;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float side = ImGui::GetTextLineHeight() * 0.7F;
    const float top = at.y + ImGui::GetTextLineHeight() * 0.15F;
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(at.x, top), ImVec2(at.x + side, top + side),
                                              colour_of(ui, cause));
    ImGui::SetCursorScreenPos(ImVec2(at.x + side + 6 * ui.skin.scale, at.y));
    const double share = share_of(ticks, summary.total.total());
    text_item(fmt::format("{}  {}  {}", name_of(cause), duration_text(ticks, unit), percent_text(share)));
    note_item(ui, "causes/" + std::string(name_of(cause)));
    explain(explanation_of(cause));
  }
}

void draw_ranks(Ui& ui, const CausesSummary& summary, TimeUnit unit) {
  const float line = ImGui::GetTextLineHeightWithSpacing();
  const auto rows = static_cast<float>(std::min(summary.of_rank.size(), kRanksInSight));
  ImGui::BeginChild("ranks", ImVec2(0, rows * line));
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(summary.of_rank.size()), line);
  const float label = ImGui::CalcTextSize("rank 000000").x;
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const IdleCauses& causes = summary.of_rank[static_cast<std::size_t>(i)];
      text_item(fmt::format("rank {}", i));
      ImGui::SameLine(label);
      draw_stack(ui, causes, summary.most_of_rank, std::max(ImGui::GetContentRegionAvail().x, 1.0F),
                 ImGui::GetTextLineHeight());
      note_item(ui, "causes/rank/" + std::to_string(i));
      if (ImGui::IsItemHovered()) explain(causes_text(causes, unit));
    }
  clipper.End();
  ImGui::EndChild();
}

/// Draws the root causes of the bubble, the largest first; amounts sum to it.
void draw_roots(Ui& ui, const CausesModel& model, TimeUnit unit) {
  const std::vector<RootLine>& roots = model.roots();
  if (roots.empty()) return;
  muted_text(ui, "Root causes");
  explain("What delayed the ops that ranks wait for, not who they wait for; amounts sum to the idle time");
  const float line = cause_row_height(ui) + ImGui::GetStyle().ItemSpacing.y;
  const auto rows = static_cast<float>(std::min(roots.size(), kRootsInSight));
  ImGui::BeginChild("roots", ImVec2(0, rows * line));
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(roots.size()), line);
  while (clipper.Step())
    for (int n = clipper.DisplayStart; n < clipper.DisplayEnd; ++n)
      draw_cause_row(ui, "causes/root/", roots[static_cast<std::size_t>(n)], static_cast<std::size_t>(n),
                     roots.front().share, unit);
  clipper.End();
  ImGui::EndChild();
  ImGui::Separator();
  muted_text(ui, "By phase");
}

void draw_gaps(Ui& ui, CausesModel& model, const RunModel& run) {
  const CausesSummary& summary = *model.summary();
  const auto rows = static_cast<float>(std::min(summary.longest.size(), kGapsInSight));
  ImGui::BeginChild("gaps", ImVec2(0, rows * ImGui::GetTextLineHeightWithSpacing()));
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(summary.longest.size()));
  while (clipper.Step())
    for (int n = clipper.DisplayStart; n < clipper.DisplayEnd; ++n) {
      const auto i = static_cast<std::size_t>(n);
      const GapRef& gap = summary.longest[i];
      const IdleSpan& span = run.idle[gap.rank.at()][gap.span];
      const std::string label =
          fmt::format("rank {}   {}   {}", gap.rank.value(),
                      duration_text(span.end - span.start, run.timeline.unit), name_of(span.cause));
      if (selectable(ui, "causes/gap/" + std::to_string(i), label.c_str(), ui.session.selection.gap == gap))
        model.select(ui.session, i);
      if (ImGui::IsItemHovered()) explain(model.gap_text(ui.session, i));
    }
  clipper.End();
  ImGui::EndChild();
}

/// Draws the causes of the idle time: roots, then phases.
void draw_sums(Ui& ui, const CausesModel& model, TimeUnit unit) {
  const CausesSummary& summary = *model.summary();
  draw_roots(ui, model, unit);
  draw_stack(ui, summary.total, summary.total.total(), std::max(ImGui::GetContentRegionAvail().x, 1.0F),
             ImGui::GetTextLineHeight());
  note_item(ui, "causes/total");
  if (ImGui::IsItemHovered()) explain("All ranks: " + causes_text(summary.total, unit));
  draw_legend(ui, summary, unit);
}

/// And where it is seen: gaps, then ranks.
void draw_places(Ui& ui, CausesModel& model, const RunModel& run) {
  const CausesSummary& summary = *model.summary();
  text_item(fmt::format("Longest of {}", study::count_text(summary.num_gaps, "gap")));
  explain("A click shows the gap in the timelines");
  draw_gaps(ui, model, run);
  // Scripts know the cause of the longest gap without a pointer on it.
  wrapped_text(model.gap_text(ui.session, 0));
  ImGui::Separator();
  draw_ranks(ui, summary, run.timeline.unit);
}

}  // namespace

void causes(Ui& ui) {
  auto& model = ui.session.part<CausesModel>();
  const CausesSummary* summary = model.summary();
  const RunPtr run = model.run(ui.session);
  if (summary == nullptr || !run) return muted_text(ui, "Nothing is open.");
  draw_headline(model);
  const bool wide = ImGui::GetContentRegionAvail().x >= kTwoColumns * ui.skin.scale;
  if (summary->num_gaps > 0 && ImGui::BeginTable("sums and places", wide ? 2 : 1, kSideBySide)) {
    ImGui::TableNextColumn();
    draw_sums(ui, model, run->timeline.unit);
    if (!wide) ImGui::Separator();
    ImGui::TableNextColumn();
    draw_places(ui, model, *run);
    ImGui::EndTable();
  }
  ImGui::Separator();
  draw_metrics(ui, model);
}

}  // namespace pipeloom::gui::views
