#include "gui/layout.hpp"

#include <imgui.h>

#include <algorithm>
#include <cfloat>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/model/edit/schedule_editor.hpp"
#include "gui/model/panels/problems.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"

namespace pipeloom::gui {
namespace {

constexpr ImGuiWindowFlags kHost = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus |
                                   ImGuiWindowFlags_NoNavFocus | ImGuiWindowFlags_MenuBar;
constexpr float kSplitter = 4;
constexpr float kTopHeight = 76;
constexpr float kTabHeight = 34;
/// Fields and their labels need as much, where they get it.
constexpr float kLeastColumn = 240;
constexpr double kMostColumn = 0.45;
/// A narrower window has no right column.
constexpr float kLeastForRight = 1360;
// Shares of the window at first start.
constexpr double kLeft = 0.19;
constexpr double kRight = 0.22;
constexpr double kBottom = 0.34;
constexpr double kBelow = 0.4;
/// A panel that is brought to the front below the timelines has this height, where it is no larger a share of the window.
constexpr float kLeastFront = 200;
constexpr double kMostFront = 0.5;

struct Area {
  float x = 0;
  float y = 0;
  float width = 0;
  float height = 0;
};

std::vector<const View*> open_views(const Ui& ui, View::Dock dock) {
  std::vector<const View*> open;
  for (const View& view : all_views())
    if (view.dock == dock && ui.session.panel_open(view.id)) open.push_back(&view);
  return open;
}

double& split_at(Ui& ui, const std::string& id, double usual) {
  return ui.session.preferences.splits.try_emplace(id, usual).first->second;
}

bool is_folded(Ui& ui, const View& view) {
  const auto found = ui.session.preferences.splits.find(std::string("folded/") + view.id);
  return found != ui.session.preferences.splits.end() && found->second != 0;
}

float title_height(const Ui& ui) {
  return kTabHeight * ui.skin.scale;
}

/// A bar between two areas: how far it was dragged this frame.
float splitter(Ui& ui, const std::string& id, const Area& bar, bool vertical) {
  ImGui::SetCursorScreenPos(ImVec2(bar.x, bar.y));
  ImGui::InvisibleButton(id.c_str(), ImVec2(std::max(bar.width, 1.0F), std::max(bar.height, 1.0F)));
  note_item(ui, "split_at/" + id);
  const bool active = ImGui::IsItemActive();
  const ImVec2 middle(bar.x + bar.width / 2, bar.y + bar.height / 2);
  ImGui::GetWindowDrawList()->AddLine(
      vertical ? ImVec2(middle.x, bar.y) : ImVec2(bar.x, middle.y),
      vertical ? ImVec2(middle.x, bar.y + bar.height) : ImVec2(bar.x + bar.width, middle.y), ui.skin.line);
  if (active || ImGui::IsItemHovered()) {
    ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    ImGui::GetWindowDrawList()->AddRectFilled(ImVec2(bar.x, bar.y),
                                              ImVec2(bar.x + bar.width, bar.y + bar.height), ui.skin.accent);
  }
  if (!active) return 0;
  return vertical ? ImGui::GetIO().MouseDelta.x : ImGui::GetIO().MouseDelta.y;
}

void close_button(Ui& ui, const View& view, float x, float y, float size) {
  ImGui::SetCursorScreenPos(ImVec2(x, y));
  if (ImGui::InvisibleButton("close", ImVec2(size, size))) ui.session.preferences.panels[view.id] = false;
  note_item(ui, std::string("panel/") + view.id + "/close");
  draw_icon(Icon::Cross, ImVec2(x + size / 2, y + size / 2),
            ImGui::IsItemHovered() ? ui.skin.text : ui.skin.muted);
  explain("Close this panel (the Panels menu brings it back)");
}

void draw_title(Ui& ui, const View& view, float width) {
  const std::string id = view.id;
  double& folded = split_at(ui, "folded/" + id, 0);
  const float close = title_height(ui);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float pad = 12 * ui.skin.scale;
  if (ImGui::InvisibleButton("title", ImVec2(std::max(width - close, 1.0F), close))) folded = folded == 0;
  note_item(ui, "panel/" + id + "/title");
  explain(folded != 0 ? "Unfold" : "Fold");
  put_text(*ImGui::GetWindowDrawList(), ImVec2(at.x + pad, at.y + (close - ImGui::GetFontSize()) / 2),
           ImGui::IsItemHovered() ? ui.skin.text : ui.skin.muted, view.title);
  close_button(ui, view, at.x + width - close, at.y, close);
}

/// The content of a panel, with room around it.
void draw_inside(Ui& ui, const View& view) {
  const float pad = 12 * ui.skin.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(pad, pad / 2));
  ImGui::BeginChild(view.id, ImVec2(0, 0), false, ImGuiWindowFlags_AlwaysUseWindowPadding);
  ImGui::PopStyleVar();
  if (ui.session.focus_request == view.id) {
    ImGui::SetWindowFocus();
    ui.session.focus_request.clear();
  }
  view.draw(ui);
  ImGui::EndChild();
  note_item(ui, std::string("panel/") + view.id);
}

void begin_frame(const char* id, const Area& area) {
  ImGui::SetCursorScreenPos(ImVec2(area.x, area.y));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::BeginChild(id, ImVec2(std::max(area.width, 1.0F), std::max(area.height, 1.0F)), false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar();
}

/// A panel without scrolling of its own title. One that is alone needs none.
void draw_panel(Ui& ui, const View& view, const Area& area, bool alone) {
  ImGui::PushID(view.id);
  begin_frame("frame", area);
  if (!alone) draw_title(ui, view, area.width);
  if (alone || !is_folded(ui, view)) {
    const float top = alone ? 4 * ui.skin.scale : title_height(ui);
    ImGui::SetCursorScreenPos(ImVec2(area.x, area.y + top));
    draw_inside(ui, view);
  }
  ImGui::EndChild();
  ImGui::PopID();
}

/// The panels that were open in the previous frame: one that was just opened is brought to the front.
class OpenTabs : public Part {
 public:
  explicit OpenTabs(Session&) {}
  std::set<std::string> known;
  bool any = false;
};

/// Panels that share a place: a word each, one of them in front.
class Tabs {
 public:
  Tabs(Ui& ui, const char* place, std::vector<const View*> views, const Area& area)
      : ui_(ui), place_(place), views_(std::move(views)), area_(area) {}

  void draw() {
    choose();
    ImGui::PushID(place_);
    begin_frame("tabs", area_);
    fit_words();
    for (const View* view : views_) draw_word(*view);
    const float height = kTabHeight * ui_.skin.scale;
    close_button(ui_, *front_, area_.x + area_.width - height, area_.y, height);
    const float y = area_.y + height - 1;
    ImGui::GetWindowDrawList()->AddLine(ImVec2(area_.x, y), ImVec2(area_.x + area_.width, y), ui_.skin.line);
    ImGui::SetCursorScreenPos(ImVec2(area_.x, y + 1));
    draw_inside(ui_, *front_);
    ImGui::EndChild();
    ImGui::PopID();
  }

 private:
  /// True if the keyboard or a script asks for it, or it was opened just now.
  [[nodiscard]] bool is_wanted(const View& view) {
    const auto& tabs = ui_.session.part<OpenTabs>();
    return ui_.session.focus_request == view.id || takes_front(view) ||
           ui_.items.wanted().starts_with(std::string(view.id) + "/") ||
           (tabs.any && !tabs.known.contains(view.id));
  }

  /// True if a selection asks for it. While a schedule is edited, its panel stays: what is selected is edited there.
  [[nodiscard]] bool takes_front(const View& view) const {
    const bool edits =
        ui_.session.preferences.tabs[place_] == "edit" && ui_.session.part<ScheduleEditor>().editing();
    return ui_.session.front_request == view.id && !edits;
  }

  void choose() {
    std::string& chosen = ui_.session.preferences.tabs[place_];
    front_ = views_.front();
    for (const View* view : views_)
      if (view->id == chosen) front_ = view;
    for (const View* view : views_)
      if (is_wanted(*view)) front_ = view;
    chosen = front_->id;
    if (ui_.session.front_request == chosen) ui_.session.front_request.clear();
  }

  [[nodiscard]] static float width_of(ImFont* font, const char* word) {
    return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, word).x;
  }

  /// The room on each side of a word, in a size of letters in which all words have some.
  void fit_words() {
    const float least = 2 * ui_.skin.scale;
    for (ImFont* font : {ui_.skin.font, ui_.skin.small}) {
      font_ = font;
      float words = kTabHeight * ui_.skin.scale;
      for (const View* view : views_)
        words += width_of(font, view->title) + width_of(font, count_of(*view).c_str());
      pad_ = (area_.width - words) / static_cast<float>(2 * views_.size());
      if (pad_ >= least) break;
    }
    pad_ = std::clamp(pad_, least, 12 * ui_.skin.scale);
  }

  /// The number of things that a panel has to say, beside its word.
  [[nodiscard]] std::string count_of(const View& view) const {
    const std::size_t errors =
        std::string_view(view.id) == "problems" ? ui_.session.part<Problems>().report().errors() : 0;
    return errors == 0 ? "" : " " + std::to_string(errors);
  }

  void draw_word(const View& view) {
    const float scale = ui_.skin.scale;
    const float height = kTabHeight * scale;
    const std::string count = count_of(view);
    const ImVec2 size(width_of(font_, view.title), font_->FontSize);
    const float width = size.x + width_of(font_, count.c_str()) + 2 * pad_;
    ImGui::SetCursorScreenPos(ImVec2(area_.x + x_, area_.y));
    if (ImGui::InvisibleButton(view.id, ImVec2(width, height)))
      ui_.session.preferences.tabs[place_] = view.id;
    note_item(ui_, std::string("panel/") + view.id + "/title");
    const bool front = &view == front_;
    ImDrawList& draw = *ImGui::GetWindowDrawList();
    const float left = area_.x + x_ + pad_;
    put_text(draw, font_, ImVec2(left, area_.y + (height - size.y) / 2),
             front || ImGui::IsItemHovered() ? ui_.skin.text : ui_.skin.muted, view.title);
    put_text(draw, font_, ImVec2(left + size.x, area_.y + (height - size.y) / 2), ui_.skin.problem, count);
    if (front)
      draw.AddRectFilled(ImVec2(left, area_.y + height - 2 * scale), ImVec2(left + size.x, area_.y + height),
                         ui_.skin.accent);
    x_ += width;
  }

  Ui& ui_;
  const char* place_;
  std::vector<const View*> views_;
  Area area_;
  const View* front_ = nullptr;
  ImFont* font_ = nullptr;
  float pad_ = 0;
  float x_ = 0;
};

/// A view alone: no title, no padding, nothing that scrolls.
void draw_bare(Ui& ui, const View& view, const Area& area) {
  ImGui::SetCursorScreenPos(ImVec2(area.x, area.y));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::BeginChild(view.id, ImVec2(std::max(area.width, 1.0F), std::max(area.height, 1.0F)), false,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar();
  view.draw(ui);
  ImGui::EndChild();
}

/// Panels one below the other (or, `across`, side by side), splitters between them.
class Stack {
 public:
  Stack(Ui& ui, std::vector<const View*> views, const Area& area, bool across)
      : ui_(ui), views_(std::move(views)), area_(area), across_(across) {
    for (const View* view : views_) {
      if (folds(*view))
        fixed_ += title_height(ui_);
      else
        weights_ += weight(*view);
    }
    const float length = across_ ? area_.width : area_.height;
    free_ = std::max(length - fixed_ - bar() * static_cast<float>(views_.size() - 1), 1.0F);
  }

  void draw() {
    float at = across_ ? area_.x : area_.y;
    for (std::size_t i = 0; i < views_.size(); ++i) {
      const float length = length_of(*views_[i]);
      draw_panel(ui_, *views_[i], part(at, length), views_.size() == 1);
      at += length;
      if (i + 1 < views_.size()) draw_splitter(i, at);
      at += bar();
    }
  }

 private:
  [[nodiscard]] bool folds(const View& view) const {
    return !across_ && views_.size() > 1 && is_folded(ui_, view);
  }
  [[nodiscard]] float bar() const { return kSplitter * ui_.skin.scale; }
  double& weight(const View& view) { return split_at(ui_, std::string("weight/") + view.id, view.weight); }
  float length_of(const View& view) {
    if (folds(view)) return title_height(ui_);
    return static_cast<float>(static_cast<double>(free_) * weight(view) / std::max(weights_, 1e-6));
  }
  [[nodiscard]] Area part(float at, float length) const {
    return across_ ? Area{at, area_.y, length, area_.height} : Area{area_.x, at, area_.width, length};
  }

  void draw_splitter(std::size_t i, float at) {
    const float moved = splitter(ui_, std::string("panels/") + views_[i]->id, part(at, bar()), across_);
    if (moved == 0 || folds(*views_[i]) || folds(*views_[i + 1])) return;
    const double change = static_cast<double>(moved) / static_cast<double>(free_) * weights_;
    double& before = weight(*views_[i]);
    double& after = weight(*views_[i + 1]);
    const double least = 0.05 * weights_;
    const double allowed = std::clamp(change, least - before, after - least);
    before += allowed;
    after -= allowed;
  }

  Ui& ui_;
  std::vector<const View*> views_;
  Area area_;
  bool across_;
  float fixed_ = 0;
  float free_ = 1;
  double weights_ = 0;
};

/// Takes a column or row of the whole for `views`, if there are any, with a splitter at its inner edge.
class Carver {
 public:
  Carver(Ui& ui, const Area& all) : ui_(ui), rest_(all), all_(all) {}

  /// Views across the whole window: they have no splitter, as their height is fixed.
  void top(const std::vector<const View*>& views) {
    for (const View* view : views) {
      const float height = std::min(kTopHeight * ui_.skin.scale, rest_.height);
      draw_bare(ui_, *view, {rest_.x, rest_.y, rest_.width, height});
      rest_.y += height;
      rest_.height = std::max(rest_.height - height, 1.0F);
    }
    all_ = rest_;
  }
  void left(std::vector<const View*> views) {
    if (const auto area = column("left", !views.empty(), kLeft, true))
      Stack(ui_, std::move(views), *area, false).draw();
  }
  void right(std::vector<const View*> views) {
    if (const auto area = column("right", !views.empty(), kRight, false))
      Tabs(ui_, "right", std::move(views), *area).draw();
  }
  void bottom(std::vector<const View*> views) {
    if (const auto area = row("bottom", views, kBottom)) Tabs(ui_, "bottom", std::move(views), *area).draw();
  }
  void below(std::vector<const View*> views) {
    if (const auto area = row("below", views, kBelow)) Stack(ui_, std::move(views), *area, true).draw();
  }

  [[nodiscard]] const Area& rest() const { return rest_; }

 private:
  /// True if one of them is brought to the front: it needs room to be read.
  [[nodiscard]] bool front_is_in(const std::vector<const View*>& views) const {
    return std::ranges::any_of(views,
                               [&](const View* view) { return ui_.session.front_request == view->id; });
  }

  /// Nothing where there is nothing to show.
  std::optional<Area> row(const char* id, const std::vector<const View*>& views, double usual) {
    if (views.empty()) return std::nullopt;
    double& share = split_at(ui_, id, usual);
    const float bar = kSplitter * ui_.skin.scale;
    if (front_is_in(views)) {
      const double least = kLeastFront * ui_.skin.scale / all_.height;
      share = std::max(share, std::min(least, kMostFront));
    }
    const float height = all_.height * static_cast<float>(share);
    rest_.height -= height + bar;
    share -= static_cast<double>(
        splitter(ui_, id, {rest_.x, rest_.y + rest_.height, rest_.width, bar}, false) / all_.height);
    share = std::clamp(share, 0.08, 0.7);
    return Area{rest_.x, rest_.y + rest_.height + bar, rest_.width, height};
  }

  std::optional<Area> column(const char* id, bool any, double usual, bool on_left) {
    if (!any) return std::nullopt;
    double& share = split_at(ui_, id, usual);
    const float bar = kSplitter * ui_.skin.scale;
    const float least = std::min(kLeastColumn * ui_.skin.scale, static_cast<float>(kMostColumn) * all_.width);
    const float width = std::max(all_.width * static_cast<float>(share), least);
    const float x = on_left ? rest_.x : rest_.x + rest_.width - width;
    const float bar_x = on_left ? x + width : x - bar;
    const double moved =
        static_cast<double>(splitter(ui_, id, {bar_x, rest_.y, bar, rest_.height}, true) / all_.width);
    share = std::clamp(share + (on_left ? moved : -moved), 0.08, kMostColumn);
    rest_.width -= width + bar;
    if (on_left) rest_.x += width + bar;
    return Area{x, rest_.y, width, rest_.height};
  }

  Ui& ui_;
  Area rest_;
  Area all_;
};

void remember_open(Ui& ui) {
  auto& tabs = ui.session.part<OpenTabs>();
  tabs.any = true;
  tabs.known.clear();
  for (const View& view : all_views())
    if (ui.session.panel_open(view.id)) tabs.known.insert(view.id);
}

void draw_centre(Ui& ui, const Area& area) {
  for (const View& view : all_views())
    if (view.dock == View::Dock::Centre) draw_bare(ui, view, area);
}

}  // namespace

void draw_layout(Ui& ui) {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  const float tall = (kBarHeight * ui.skin.scale - ImGui::GetFontSize()) / 2;
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ImGui::GetStyle().FramePadding.x, tall));
  ImGui::Begin("pipeloom", nullptr, kHost);
  const bool bar = ImGui::BeginMenuBar();
  ImGui::PopStyleVar(4);
  if (bar) {
    draw_menu_bar(ui);
    ImGui::EndMenuBar();
  }
  const float top = ImGui::GetCursorScreenPos().y;
  const float status = ImGui::GetFrameHeight();
  Carver carver(ui, {0, top, size.x, std::max(size.y - top - status, 1.0F)});
  carver.top(open_views(ui, View::Dock::Top));
  carver.left(open_views(ui, View::Dock::Left));
  std::vector<const View*> bottom = open_views(ui, View::Dock::Bottom);
  std::vector<const View*> right = open_views(ui, View::Dock::Right);
  if (size.x < kLeastForRight * ui.skin.scale) {
    bottom.insert(bottom.end(), right.begin(), right.end());
    right.clear();
  }
  carver.right(right);
  carver.bottom(bottom);
  carver.below(open_views(ui, View::Dock::Below));
  ui.session.front_request.clear();  // of a panel that is closed, or shown alone
  draw_centre(ui, carver.rest());
  remember_open(ui);
  ImGui::SetCursorScreenPos(ImVec2(6 * ui.skin.scale, size.y - status));
  draw_status_line(ui);
  ImGui::End();
  for (const View& view : all_views())
    if (view.dock == View::Dock::Overlay) view.draw(ui);
}

namespace views {
#define PIPELOOM_VIEW(function, id, title, dock, open, weight) void function(Ui& ui);
#include "gui/views.def"
#undef PIPELOOM_VIEW
}  // namespace views

std::span<const View> all_views() {
  static const std::vector<View> all = {
#define PIPELOOM_VIEW(function, id, title, dock, open, weight) \
  View{id, title, View::Dock::dock, open, weight, views::function},
#include "gui/views.def"
#undef PIPELOOM_VIEW
  };
  return all;
}

}  // namespace pipeloom::gui
