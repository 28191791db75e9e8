// The timelines.

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <optional>

#include "gui/draw/chart_draw.hpp"
#include "gui/draw/edit_draw.hpp"
#include "gui/draw/outdated_draw.hpp"
#include "gui/model/chart/chart_part.hpp"
#include "gui/model/chart/chart_words.hpp"
#include "gui/model/chart/glide.hpp"
#include "gui/model/commands/context_menu.hpp"
#include "gui/model/edit/chart_pointer.hpp"
#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/panels/sweep_model.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::gui::views {
namespace {

using Clock = std::chrono::steady_clock;

/// A thing that the pointer rests on for this many seconds is explained.
constexpr double kRest = 0.5;

/// State of the view that lasts between frames.
class ChartView final : public Part {
 public:
  explicit ChartView(Session&) {}

  void draw(Ui& ui);
  bool update(Session&) override;

 private:
  void measure_fonts(const Skin& skin);
  void take_pointer(Ui& ui, const ChartLayout& layout);
  void take_buttons(Ui& ui, const ChartLayout& layout, ChartPointer event);
  void take_right_click(Ui& ui, const ChartLayout& layout) const;
  void explain_hit(Ui& ui) const;
  static void draw_drag(Ui& ui, const ChartLayout& layout, ImDrawList& draw);
  static void note_items(Ui& ui, const ChartLayout& layout);

  ChartList list_;
  ChartTextures textures_;
  ChartFonts fonts_;
  const ImFont* measured_ = nullptr;
  float measured_scale_ = 0;

  bool inside_ = false;   ///< the pointer was in the chart a frame ago
  bool pressed_ = false;  ///< a press in the chart was not yet released
  ImVec2 pointer_ = {-1, -1};
  /// When the pointer moved last, and how many seconds of frames ago.
  Clock::time_point moved_at_ = Clock::now();
  double rested_ = 0;
  bool explained_ = true;
};

void ChartView::measure_fonts(const Skin& skin) {
  if (measured_ == skin.small && measured_scale_ == skin.scale) return;
  measured_ = skin.small;
  measured_scale_ = skin.scale;
  fonts_ = {measure_font(*skin.small), measure_font(*skin.font), measure_font(*skin.strong)};
}

bool ChartView::update(Session& session) {
  const bool due = std::chrono::duration<double>(Clock::now() - moved_at_).count() >= kRest;
  if (!inside_ || explained_ || !due) return false;
  const std::optional<Hit>& hit = session.part<PointerPart>().hit;
  if (!hit || (!hit->op && !hit->gap && !hit->message)) return false;
  rested_ = kRest;
  explained_ = true;
  return true;
}

void ChartView::take_buttons(Ui& ui, const ChartLayout& layout, ChartPointer event) {
  constexpr ImGuiMouseButton kButtons[] = {ImGuiMouseButton_Left, ImGuiMouseButton_Right,
                                           ImGuiMouseButton_Middle};
  const bool hovered = ImGui::IsItemHovered();
  take_right_click(ui, layout);
  for (int i = 0; i < kMouseButtons; ++i) {
    event.button = static_cast<MouseButton>(i);
    const ImGuiMouseButton button = kButtons[i];
    if (hovered && ImGui::IsMouseClicked(button)) {
      event.type =
          ImGui::IsMouseDoubleClicked(button) ? ChartPointer::Type::DoubleClick : ChartPointer::Type::Press;
      pressed_ = true;
      chart_pointer(ui.session, layout, event);
    }
    if (pressed_ && ImGui::IsMouseReleased(button)) {
      event.type = ChartPointer::Type::Release;
      chart_pointer(ui.session, layout, event);
    }
  }
  if (!ImGui::IsAnyMouseDown()) pressed_ = false;
  const ImGuiIO& io = ImGui::GetIO();
  if (!hovered || (io.MouseWheel == 0 && io.MouseWheelH == 0)) return;
  event.type = ChartPointer::Type::Wheel;
  event.wheel_x = io.MouseWheelH;
  event.wheel_y = io.MouseWheel;
  chart_pointer(ui.session, layout, event);
}

/// A right button that goes up where it went down opens the menu of the thing there; a drag with it pans.
void ChartView::take_right_click(Ui& ui, const ChartLayout& layout) const {
  if (!pressed_ || !ImGui::IsMouseReleased(ImGuiMouseButton_Right)) return;
  const ImVec2 at = ImGui::GetIO().MousePos;
  const ImVec2 from = ImGui::GetIO().MouseClickedPos[ImGuiMouseButton_Right];
  const double moved = std::max(std::abs(at.x - from.x), std::abs(at.y - from.y));
  if (moved >= kDragThreshold * static_cast<double>(ui.skin.scale)) return;
  const Hit hit = layout.hit(static_cast<double>(at.x), static_cast<double>(at.y));
  ui.session.part<ContextMenu>().open_at(ui.session, layout, hit);
}

void ChartView::take_pointer(Ui& ui, const ChartLayout& layout) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool hovered = ImGui::IsItemHovered();
  ChartPointer event;
  event.x = io.MousePos.x;
  event.y = io.MousePos.y;
  event.ctrl = io.KeyCtrl;
  event.shift = io.KeyShift;
  event.alt = io.KeyAlt;
  if (hovered || pressed_) {
    // The view may have moved under a pointer that did not.
    event.type = ChartPointer::Type::Move;
    chart_pointer(ui.session, layout, event);
  } else if (inside_) {
    event.type = ChartPointer::Type::Leave;
    chart_pointer(ui.session, layout, event);
  }
  inside_ = hovered || pressed_;
  const bool moved = pointer_.x != io.MousePos.x || pointer_.y != io.MousePos.y;
  rested_ = moved || pressed_ ? 0 : rested_ + ui.session.frame_seconds;
  if (moved || pressed_) {
    pointer_ = io.MousePos;
    moved_at_ = Clock::now();
    explained_ = false;
  }
  take_buttons(ui, layout, event);
}

void ChartView::explain_hit(Ui& ui) const {
  const std::optional<Hit>& hit = ui.session.part<PointerPart>().hit;
  if (!hit || !inside_ || hands_are_busy() || rested_ < kRest || !hit->block) return;
  const ChartLayout& layout = ui.session.part<ChartPart>().layout;
  if (*hit->block >= layout.blocks.size()) return;
  const RunModel& run = *layout.blocks[*hit->block].run;
  std::string text;
  if (hit->op && hit->op->run == run.id)
    text = op_tooltip(run, hit->op->op);
  else if (hit->gap && hit->gap->run == run.id)
    text = gap_tooltip(run, hit->gap->rank, run.idle[hit->gap->rank.at()][hit->gap->span]);
  else if (hit->message && *hit->message < run.message_bars.size())
    text = message_tooltip(run, run.message_bars[*hit->message]);
  if (text.empty()) return;
  ImGui::BeginTooltip();
  text_item(text);
  ImGui::EndTooltip();
}

void ChartView::note_items(Ui& ui, const ChartLayout& layout) {
  if (!ui.items.recording()) return;
  const auto note = [&](std::string_view id, const Box& box) {
    if (!box.empty())
      ui.items.add(id, {static_cast<float>(box.x0), static_cast<float>(box.y0), static_cast<float>(box.x1),
                        static_cast<float>(box.y1)});
  };
  for (const LegendEntry& entry : layout.entries)
    note(fmt::format("legend:{}", letter_of(entry.kind)), entry.box);
  note("chart/minimap", layout.minimap);
  note("chart/ruler", layout.ruler);
  note("chart/plot", layout.plot);
  note("chart/overview", layout.overview);
  for (const ChartRow& row : layout.rows) {
    if (!layout.is_visible(row)) continue;
    const std::string id = fmt::format("chart/row/{}/{}", layout.blocks[row.block].index, row.rank.value());
    note(id, layout.clipped(row, row.all));
    const HeaderButtons buttons = layout.header_buttons(row);
    note(id + "/pin", buttons.pin);
    note(id + "/collapse", buttons.collapse);
  }
}

/// Draws the place to which a dragged op would go: a line in its row, and its box outlined.
void ChartView::draw_drag(Ui& ui, const ChartLayout& layout, ImDrawList& draw) {
  const auto preview = ui.session.part<ScheduleEditor>().drag_preview();
  const ChartRow* row = preview ? layout.row_of(preview->run, preview->rank) : nullptr;
  if (row == nullptr || !layout.is_visible(*row)) return;
  const Box strip = layout.clipped(*row, row->lane(ChartLane::Work));
  const double x = layout.x_of(static_cast<double>(preview->time));
  if (strip.empty() || x < strip.x0 || x > strip.x1) return;
  const float width = 3 * ui.skin.scale;
  const auto at = static_cast<float>(x);
  draw.AddLine(ImVec2(at, static_cast<float>(strip.y0)), ImVec2(at, static_cast<float>(strip.y1)),
               ui.skin.accent, width);
  if (const auto box = layout.rect_of(OpRef{preview->run, preview->op}))
    draw.AddRect(ImVec2(static_cast<float>(box->x0), static_cast<float>(box->y0)),
                 ImVec2(static_cast<float>(box->x1), static_cast<float>(box->y1)), ui.skin.accent, 0, 0,
                 width);
}

/// Says what to do where there is nothing to see.
void draw_invitation(const Ui& ui, const Box& area, ImDrawList& draw) {
  if (!ui.session.runs.empty() || ui.session.jobs.pending() > 0) return;
  const bool sweep = !ui.session.part<SweepModel>().file().empty();
  const char* const lines[] = {sweep ? "No run is open" : "Nothing is open",
                               sweep ? "A click on a point of the sweep opens it here."
                                     : "Ctrl+O opens a file; so does dropping one here.",
                               "Or change a parameter on the left: what it gives is shown."};
  auto y = static_cast<float>((area.y0 + area.y1) / 2);
  for (const char* line : lines) {
    const bool first = line == lines[0];
    ImFont* font = first ? ui.skin.strong : ui.skin.font;
    const float width = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, line).x;
    const auto x = static_cast<float>((area.x0 + area.x1) / 2) - width / 2;
    put_text(draw, font, ImVec2(x, y), first ? ui.skin.text : ui.skin.muted, line);
    y += 1.5F * font->FontSize;
  }
}

/// The layout of what is drawn: on the way to another view, that is a range between the two.
void lay_out(Ui& ui, const Box& area, ChartLayout& layout) {
  lay_out_chart(ui.session, area, ui.skin.scale, layout);
  if (const auto& glide = ui.session.part<Glide>(); !glide.idle()) layout.range = glide.shown();
}

void ChartView::draw(Ui& ui) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size = ImGui::GetContentRegionAvail();
  const Box area{at.x, at.y, at.x + std::max(size.x, 1.0F), at.y + std::max(size.y, 1.0F)};
  measure_fonts(ui.skin);
  ChartLayout& layout = ui.session.part<ChartPart>().layout;
  lay_out(ui, area, layout);
  ImGui::InvisibleButton("chart", ImVec2(std::max(size.x, 1.0F), std::max(size.y, 1.0F)),
                         ImGuiButtonFlags_MouseButtonLeft | ImGuiButtonFlags_MouseButtonRight |
                             ImGuiButtonFlags_MouseButtonMiddle);
  note_item(ui, "chart");
  take_pointer(ui, layout);
  // The chart shows the pointer's changes at once; later code asks for the layout that is on screen.
  lay_out(ui, area, layout);
  build_chart_list(ui.session, layout, fonts_, list_);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, ImVec2(at.x + size.x, at.y + size.y), ui.skin.background);
  draw_chart_list(list_, layout.plot, {ui.skin.small, ui.skin.font, ui.skin.strong}, ui.platform, textures_,
                  draw);
  note_labels(draw, list_, fonts_);
  draw_drag(ui, layout, draw);
  draw_what_if(ui, layout, draw);
  draw_refused_edit(ui, layout, draw);
  draw_outdated(ui, layout, draw);
  draw_invitation(ui, area, draw);
  note_items(ui, layout);
  explain_hit(ui);
}

}  // namespace

void chart(Ui& ui) {
  ui.session.part<ChartView>().draw(ui);
}

}  // namespace pipeloom::gui::views
