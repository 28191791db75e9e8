// Durations of ops: bars by duration and kind, numbers per kind, and the outliers. A click on a bar narrows the search to it.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "gui/model/chart/chart_colours.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/op_walk.hpp"
#include "gui/model/chart/select.hpp"
#include "gui/model/panels/ops_table.hpp"
#include "gui/model/session/command.hpp"
#include "gui/widgets.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui::views {
namespace {

constexpr float kLeastBar = 2;

struct Bars {
  const DurationHistogram* histogram;
  ImVec2 at;
  float width;
  float height;
  [[nodiscard]] float left_of(std::size_t bin) const {
    return at.x + width * static_cast<float>(bin) / static_cast<float>(histogram->bins.size());
  }
};

std::string bin_text(const Bars& bars, std::size_t bin, TimeUnit unit) {
  const DurationHistogram& h = *bars.histogram;
  std::string text = duration_text(h.edges[bin], unit) + " to " + duration_text(h.edges[bin + 1], unit);
  for (const OpKind kind : kAllOpKinds)
    if (h.bins[bin][index_of(kind)] > 0)
      text += fmt::format("\n{}: {}", letter_of(kind), h.bins[bin][index_of(kind)]);
  return text + "\nClick: only these";
}

void draw_bin(Ui& ui, const Bars& bars, std::size_t bin, std::size_t most, const ChartColours& colours) {
  const std::size_t total = bars.histogram->total(bin);
  const float x0 = bars.left_of(bin);
  const float x1 = std::max(bars.left_of(bin + 1) - 1, x0 + 1);
  const float bottom = bars.at.y + bars.height;
  ui.items.add("histogram/bar/" + std::to_string(bin), {x0, bars.at.y, x1, bottom});
  if (total == 0) return;
  // Square roots: a single op next to a million still shows.
  const double share = std::sqrt(static_cast<double>(total) / static_cast<double>(most));
  const float tall = std::max(bars.height * static_cast<float>(share), kLeastBar * ui.skin.scale);
  float y = bottom;
  for (const OpKind kind : kAllOpKinds) {
    const std::size_t n = bars.histogram->bins[bin][index_of(kind)];
    if (n == 0) continue;
    const float part = tall * static_cast<float>(static_cast<double>(n) / static_cast<double>(total));
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(x0, y - part), ImVec2(x1, y), colours.kind_fill(kind));
    y -= part;
  }
}

void take_bin(Ui& ui, const RunModel& run, const Bars& bars) {
  if (!ImGui::IsItemHovered()) return;
  const auto n = static_cast<float>(bars.histogram->bins.size());
  const float share = (ImGui::GetIO().MousePos.x - bars.at.x) / std::max(bars.width, 1.0F);
  const auto bin = static_cast<std::size_t>(std::clamp(share * n, 0.0F, n - 1));
  const float x0 = bars.left_of(bin);
  ImGui::GetWindowDrawList()->AddRect(ImVec2(x0, bars.at.y),
                                      ImVec2(bars.left_of(bin + 1), bars.at.y + bars.height), ui.skin.accent);
  if (!ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {
    explain(bin_text(bars, bin, run.timeline.unit));
    return;
  }
  const auto& search = ui.session.part<SearchModel>();
  run_command(ui.session, "search",
              narrowed_to(search.text(), bars.histogram->edges[bin], bars.histogram->edges[bin + 1],
                          bin + 1 == bars.histogram->bins.size(), run.timeline.unit));
}

void draw_bars(Ui& ui, const RunModel& run, const DurationHistogram& histogram, float height) {
  if (histogram.bins.empty()) return;
  const Bars bars{&histogram, ImGui::GetCursorScreenPos(), std::max(ImGui::GetContentRegionAvail().x, 1.0F),
                  std::max(height - ImGui::GetTextLineHeight(), 8.0F)};
  ImGui::InvisibleButton("bars", ImVec2(bars.width, bars.height));
  note_item(ui, "histogram/bars");
  ImGui::GetWindowDrawList()->AddRectFilled(bars.at, ImVec2(bars.at.x + bars.width, bars.at.y + bars.height),
                                            ui.skin.row);
  std::size_t most = 1;
  for (std::size_t bin = 0; bin < histogram.bins.size(); ++bin) most = std::max(most, histogram.total(bin));
  const ChartColours& colours = ui.session.part<ChartPart>().colours_of(ui.session, run);
  for (std::size_t bin = 0; bin < histogram.bins.size(); ++bin) draw_bin(ui, bars, bin, most, colours);
  take_bin(ui, run, bars);
  const std::string least = duration_text(histogram.edges.front(), run.timeline.unit);
  const std::string most_text = duration_text(histogram.edges.back(), run.timeline.unit);
  text_item(least);
  const float room = bars.width - ImGui::CalcTextSize(most_text.c_str()).x;
  if (room < ImGui::CalcTextSize(least.c_str()).x + ImGui::GetStyle().ItemSpacing.x) return;
  ImGui::SameLine(ImGui::GetCursorPosX() + room);
  text_item(most_text);
}

void draw_kinds(Ui& ui, const RunModel& run, const DurationStats& stats) {
  constexpr ImGuiTableFlags kFlags =
      ImGuiTableFlags_NoSavedSettings | ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_BordersInnerH;
  if (!ImGui::BeginTable("kinds", 7, kFlags)) return;
  for (const char* name : {"", "count", "total", "mean", "median", "p95", "max"})
    ImGui::TableSetupColumn(name);
  table_heads();
  const TimeUnit unit = run.timeline.unit;
  for (const OpKind kind : kAllOpKinds) {
    const KindDurations& d = stats.of[index_of(kind)];
    if (d.count == 0) continue;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    text_item(std::string(1, letter_of(kind)));
    note_item(ui, std::string("histogram/kind/") + letter_of(kind));
    ImGui::TableNextColumn();
    text_item(std::to_string(d.count));
    for (const double ticks : {static_cast<double>(d.total), d.mean(), static_cast<double>(d.median),
                               static_cast<double>(d.p95), static_cast<double>(d.most)}) {
      ImGui::TableNextColumn();
      text_item(fmt::format("{:.4g}", ticks / static_cast<double>(ticks_per(unit))));
    }
  }
  ImGui::EndTable();
}

void draw_outliers(Ui& ui, const RunPtr& run, const DurationStats& stats) {
  text_item(stats.num_outliers == 0 ? "No outliers"
                                    : fmt::format("{} outliers of their kind and stage", stats.num_outliers));
  explain("Outside of the quartiles by more than 1.5 times their distance; the strangest first");
  ImGui::BeginChild("outliers");
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(stats.outliers.size()));
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
      const DurationOutlier& o = stats.outliers[static_cast<std::size_t>(i)];
      const std::string text = fmt::format("{}   {}   median {}", op_name(*run, o.position),
                                           duration_text(o.duration, run->timeline.unit),
                                           duration_text(o.median, run->timeline.unit));
      if (selectable(ui, "histogram/outlier/" + std::to_string(i), text.c_str(),
                     ui.session.selection.op == OpRef{run->id, o.position}))
        select_from_list(ui.session, {run->id, o.position});
    }
  clipper.End();
  ImGui::EndChild();
}

}  // namespace

void histogram(Ui& ui) {
  auto& table = ui.session.part<OpsTable>();
  const DurationStats* stats = table.stats();
  const RunPtr& run = table.run();
  if (!run || stats == nullptr || stats->run != run->id)
    return muted_text(ui, run ? "Counting." : "Nothing is open.");
  bool logarithmic = table.logarithmic;
  if (checkbox(ui, "histogram/log", "Logarithmic", logarithmic, "Bars whose durations grow by one factor"))
    table.logarithmic = logarithmic;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  ImGui::BeginChild("left", ImVec2(room.x * 0.6F, 0));
  draw_bars(ui, *run, logarithmic ? stats->logarithmic : stats->linear,
            std::max(room.y * 0.5F, 40 * ui.skin.scale));
  draw_kinds(ui, *run, *stats);
  ImGui::EndChild();
  ImGui::SameLine();
  ImGui::BeginChild("right");
  draw_outliers(ui, run, *stats);
  ImGui::EndChild();
}

}  // namespace pipeloom::gui::views
