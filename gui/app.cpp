#include "gui/app.hpp"

#include <imgui.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "gui/layout.hpp"
#include "gui/model/commands/features.hpp"
#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/command.hpp"
#include "gui/model/session/state.hpp"
#include "gui/model/session/tour.hpp"
#include "gui/platform/fonts.hpp"
#include "gui/platform/imgui_input.hpp"
#include "gui/platform/tab_order.hpp"
#include "gui/script_parts.hpp"
#include "gui/script_runner.hpp"
#include "gui/texts.hpp"
#include "gui/widgets.hpp"
#include "study/run/input.hpp"

namespace pipeloom::gui {
namespace {

/// Dear ImGui needs a frame to learn a window's size and another to place the things that depend on it.
constexpr int kSettlingFrames = 3;
/// While nothing happens, parts may still look at the world (files that change) this often, in seconds.
constexpr double kRest = 0.5;
/// While a request for the state waits for jobs, they are looked at this often, in seconds.
constexpr double kUntilIdle = 0.02;

double seconds_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

bool is_modifier(Key key) {
  return key == Key::Shift || key == Key::Control || key == Key::Alt || key == Key::Super;
}

/// Lines instead of blocks: a thing at rest has the colour of its panel, the one under the pointer is raised, one accent.
void style_colours(const Skin& skin) {
  ImGuiStyle& style = ImGui::GetStyle();
  constexpr Rgba kNone = 0;
  const std::pair<ImGuiCol, Rgba> colours[] = {
      {ImGuiCol_Text, skin.text},
      {ImGuiCol_TextDisabled, skin.muted},
      {ImGuiCol_WindowBg, skin.panel},
      {ImGuiCol_ChildBg, kNone},
      {ImGuiCol_PopupBg, skin.panel},
      {ImGuiCol_MenuBarBg, skin.panel},
      {ImGuiCol_Border, skin.line},
      {ImGuiCol_Separator, skin.line},
      {ImGuiCol_FrameBg, skin.background},
      {ImGuiCol_FrameBgHovered, skin.raised},
      {ImGuiCol_FrameBgActive, skin.raised},
      {ImGuiCol_TitleBg, skin.panel},
      {ImGuiCol_TitleBgActive, skin.panel},
      {ImGuiCol_TitleBgCollapsed, skin.panel},
      {ImGuiCol_Button, skin.panel},
      {ImGuiCol_ButtonHovered, skin.raised},
      {ImGuiCol_ButtonActive, skin.line},
      {ImGuiCol_Header, skin.raised},
      {ImGuiCol_HeaderHovered, skin.raised},
      {ImGuiCol_HeaderActive, skin.line},
      {ImGuiCol_TableHeaderBg, skin.panel},
      {ImGuiCol_TableBorderStrong, skin.line},
      {ImGuiCol_TableBorderLight, skin.line},
      {ImGuiCol_TableRowBg, kNone},
      {ImGuiCol_TableRowBgAlt, kNone},
      {ImGuiCol_ScrollbarBg, kNone},
      {ImGuiCol_ScrollbarGrab, skin.line},
      {ImGuiCol_ScrollbarGrabHovered, skin.faint},
      {ImGuiCol_ScrollbarGrabActive, skin.muted},
      {ImGuiCol_PlotHistogram, skin.accent},
      {ImGuiCol_TextSelectedBg, with_alpha(skin.accent, 80)},
      {ImGuiCol_NavHighlight, skin.accent},
      {ImGuiCol_CheckMark, skin.accent},
      {ImGuiCol_SliderGrab, with_alpha(skin.accent, 180)},
      {ImGuiCol_SliderGrabActive, skin.accent},
  };
  for (const auto& [index, colour] : colours) style.Colors[index] = ImGui::ColorConvertU32ToFloat4(colour);
}

/// Everything of Dear ImGui that depends on theme and scale. Lengths are on a grid of four pixels: a field has 24, its row 28.
void apply_style(const Skin& skin) {
  ImGui::GetStyle() = ImGuiStyle();
  if (skin.dark)
    ImGui::StyleColorsDark();
  else
    ImGui::StyleColorsLight();
  style_colours(skin);
  ImGuiStyle& style = ImGui::GetStyle();
  style.FrameRounding = 4;
  style.WindowRounding = 6;
  style.GrabRounding = 4;
  style.FrameBorderSize = 1;
  style.FramePadding = ImVec2(8, 4);
  style.ItemSpacing = ImVec2(8, 4);
  style.CellPadding = ImVec2(4, 3);
  style.ScrollbarSize = 10;
  style.ScaleAllSizes(skin.scale);
}

}  // namespace

void FrameTimes::add(double milliseconds) {
  latest_[count_ % kKept] = milliseconds;
  ++count_;
}

double FrameTimes::p95() const {
  const std::size_t kept = std::min(count_, kKept);
  if (kept == 0) return 0;
  auto sorted = latest_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(kept);
  std::sort(sorted.begin(), end);
  return sorted[std::min(kept * 95 / 100, kept - 1)];
}

double FrameTimes::max() const {
  const std::size_t kept = std::min(count_, kKept);
  return kept == 0 ? 0
                   : *std::max_element(latest_.begin(), latest_.begin() + static_cast<std::ptrdiff_t>(kept));
}

ImGuiScope::ImGuiScope() {
  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  // Panels and sizes are the session's business, so that they can be tested and saved in one place.
  ImGui::GetIO().IniFilename = nullptr;
  ImGui::GetIO().LogFilename = nullptr;
}

ImGuiScope::~ImGuiScope() {
  ImGui::DestroyContext();
}

App::App(std::unique_ptr<Platform> platform)
    : platform_(std::move(platform)), session_(std::make_unique<Session>()), ui_{*session_,  items_,
                                                                                 *platform_, {},
                                                                                 false,      false} {
  session_->wake = [window = platform_.get()] { window->wake(); };
  for (const View& view : all_views())
    if (view.dock != View::Dock::Centre && view.dock != View::Dock::Overlay)
      session_->panel_defaults[view.id] = view.open;
  set_up_input(*platform_);
  start_features(*session_);
}

App::~App() = default;

bool App::finished() const {
  return session_->quit || platform_->close_requested();
}

void App::take_chord(const InputEvent& event) {
  if (is_modifier(event.key)) return;
  const Chord chord{event.key, is_down(Key::Control), is_down(Key::Shift), is_down(Key::Alt)};
  if (!ImGui::GetIO().WantTextInput && take_tour_key(*session_, chord)) {
    down_[static_cast<std::size_t>(event.key)] = false;  // and nothing else while it is held
    return;
  }
  const Command* command = command_of(chord);
  if (command == nullptr || command->repeats) return;
  // While a text is typed, letters are letters and editing keys are the field's; chords and function keys stay commands.
  const bool is_text = !chord.ctrl && !chord.alt && (event.key < Key::F1 || event.key > Key::F12);
  if (ImGui::GetIO().WantTextInput && (is_text || chord.key == key_of('Z') || chord.key == key_of('Y')))
    return;
  run_command(*session_, command->id);
}

void App::take_input() {
  const std::vector<InputEvent> events = input_.take_frame();
  feed_input(events);
  for (const InputEvent& event : events) {
    const auto key = static_cast<std::size_t>(event.key);
    if (event.type == InputEvent::Type::KeyDown) {
      down_[key] = true;
      take_chord(event);
    }
    if (event.type == InputEvent::Type::KeyUp) down_[key] = false;
    if (event.type == InputEvent::Type::Focus && !event.focused) down_.fill(false);
    if (event.type == InputEvent::Type::Drop)
      for (const auto& of_run : study::files_by_run(event.paths, {}))
        run_command(*session_, "open", of_run.front());
  }
}

void App::run_held_commands() {
  if (ImGui::GetIO().WantTextInput) return;
  for (const Command& command : all_commands()) {
    if (!command.repeats) continue;
    for (const Chord& chord : command.keys)
      if (is_down(chord.key) && chord.ctrl == is_down(Key::Control) && chord.shift == is_down(Key::Shift) &&
          chord.alt == is_down(Key::Alt))
        run_command(*session_, command.id);
  }
}

void App::restyle(float scale, bool dark) {
  scale_ = scale;
  dark_ = dark;
  ui_.skin = make_skin(dark_, scale_);
  ui_.skin.large = fonts_.large;
  ui_.skin.strong = fonts_.strong;
  ui_.skin.font = fonts_.font;
  ui_.skin.small = fonts_.small;
  apply_style(ui_.skin);
}

void App::apply_preferences() {
  const Preferences& preferences = session_->preferences;
  const auto scale =
      static_cast<float>(preferences.scale > 0 ? preferences.scale : platform_->display_scale());
  if (fonts_.scale == 0) {
    fonts_ = use_fonts(build_fonts(scale), *platform_);
    wanted_scale_ = scale;
    restyle(scale, preferences.dark);
  }
  if (preferences.dark != dark_) restyle(scale_, preferences.dark);
  if (scale == wanted_scale_) return;
  // The old letters stay until the new ones are there.
  wanted_scale_ = scale;
  session_->jobs.submit("fonts", [this, scale](const Cancelled&) -> Jobs::Finish {
    auto fonts = std::make_shared<Fonts>(build_fonts(scale));
    return [this, fonts, scale] {
      fonts_ = use_fonts(std::move(*fonts), *platform_);
      restyle(scale, dark_);
    };
  });
}

void App::show_title() {
  std::string title = window_title(*session_);
  if (title == title_) return;
  title_ = std::move(title);
  platform_->set_title(title_);
}

void App::draw() {
  const double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  ImGui::NewFrame();
  keep_menu_asleep();
  begin_tab_order();
  ui_.typing = ImGui::GetIO().WantTextInput;
  items_.begin_frame();
  begin_texts(items_.recording());
  draw_layout(ui_);
  ui_.popup_was_open = ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup);
  ImGui::Render();
  times_.add(1e3 * (seconds_of(CLOCK_THREAD_CPUTIME_ID) - start));
}

void App::frame() {
  const bool busy = !input_.empty();
  take_input();
  const double now = seconds_of(CLOCK_MONOTONIC);
  session_->frame_seconds = frame_step_ > 0 ? frame_step_ : std::clamp(now - last_frame_at_, 1e-3, 0.1);
  last_frame_at_ = now;
  run_held_commands();
  const bool changed = session_->update();
  if (session_->clipboard) platform_->set_clipboard(*std::exchange(session_->clipboard, std::nullopt));
  apply_preferences();
  ImGuiIO& io = ImGui::GetIO();
  const PixelSize size = platform_->size();
  io.DisplaySize = ImVec2(static_cast<float>(size.width), static_cast<float>(size.height));
  io.DeltaTime = static_cast<float>(session_->frame_seconds);
  show_title();
  platform_->begin_frame();
  draw();
  platform_->set_pointer(wanted_pointer());
  platform_->present(*ImGui::GetDrawData());
  ++frames_;
  if (busy || changed)
    settling_ = kSettlingFrames;
  else if (settling_ > 0)
    --settling_;
}

bool App::wants_frame() const {
  const bool held = std::any_of(down_.begin(), down_.end(), [](bool down) { return down; });
  return frames_ < kSettlingFrames || settling_ > 0 || held || !input_.empty();
}

/// The window's button is the command: it may ask. A signal does not wait for an answer, and a workspace keeps what is edited.
void App::take_close_request() {
  if (!platform_->close_requested()) return;
  platform_->refuse_close();
  if (platform_->close_requested()) return;
  run_command(*session_, "quit");
  settling_ = kSettlingFrames;
}

void App::run(const std::function<void()>& tell_state) {
  bool asked = false;
  while (!finished()) {
    // A caret blinks only while a text is typed; nothing else moves by itself.
    platform_->collect(input_, wants_frame() ? 0 : asked ? kUntilIdle : kRest);
    take_close_request();
    const bool changed = !wants_frame() && (session_->update() || explanation_is_due());
    if (changed) settling_ = kSettlingFrames;
    if (wants_frame()) {
      frame();
    } else if (asked && session_->idle()) {
      tell_state();
      asked = false;
    }
    // After the answer: what came before the request is collected first.
    asked = platform_->take_state_request() || asked;
  }
}

std::string dump_state(App& app) {
  WindowState window;
  const PixelSize size = app.platform().size();
  window.seq = app.frames();
  window.width = size.width;
  window.height = size.height;
  window.scale = static_cast<double>(app.ui().skin.scale);
  window.platform = app.platform().name();
  window.typing = app.ui().typing;
  window.input_waits = !app.input().empty();
  for (const auto& [id, rect] : app.ui().items.all()) window.items[id] = {rect.x0, rect.y0, rect.x1, rect.y1};
  window.overlaps = overlapping_texts();
  window.frame_count = app.times().count();
  window.cpu_ms_p95 = app.times().p95();
  window.cpu_ms_max = app.times().max();
  return state_dump(app.session(), window);
}

ScriptHost host_of(App& app) {
  app.ui().items.record(true);
  app.set_frame_step(1.0 / 60);
  return {app.session(),
          app.ui().items,
          app.platform(),
          app.input(),
          [&app] { app.frame(); },
          [&app] { return dump_state(app); },
          [&app](std::string_view target) { return resolve_target(app.ui(), target); }};
}

}  // namespace pipeloom::gui
