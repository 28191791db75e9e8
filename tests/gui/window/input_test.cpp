// Input to Dear ImGui through the queue, on the null platform: taps, typing, clipboard, Tab, focus.

#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_stdlib.h>

#include <cfloat>
#include <cmath>
#include <string>

#include "gui/app.hpp"
#include "gui/platform/font_data.hpp"
#include "gui/platform/fonts.hpp"
#include "gui/platform/imgui_input.hpp"
#include "gui/platform/tab_order.hpp"
#include "gui/widgets.hpp"
#include "support/catch.hpp"

namespace pipeloom::gui::input_test {
namespace {

using Type = InputEvent::Type;

/// A window with a field, a button, a disabled button, a slider and a tick box, and one frame after another.
class Scene {
 public:
  Scene() { set_up_input(*platform_); }

  void key(Key key, bool down) {
    InputEvent event;
    event.type = down ? Type::KeyDown : Type::KeyUp;
    event.key = key;
    queue.push(event);
  }
  void tap(Key k) {
    key(k, true);
    key(k, false);
  }
  void chord(Key held, Key k) {
    key(held, true);
    tap(k);
    key(held, false);
  }
  void type(const char* typed) {
    for (; *typed != 0; ++typed) {
      InputEvent event;
      event.type = Type::Character;
      event.character = static_cast<unsigned char>(*typed);
      queue.push(event);
    }
  }
  void move(float x, float y) {
    InputEvent event;
    event.x = x;
    event.y = y;
    queue.push(event);
  }
  void button(bool down) {
    InputEvent event;
    event.type = down ? Type::ButtonDown : Type::ButtonUp;
    queue.push(event);
  }
  void click(const char* id) {
    const auto rect = items.find(id);
    REQUIRE(rect);
    move(rect->centre_x(), rect->centre_y());
    frames();
    button(true);
    button(false);
    frames();
  }
  void frame() {
    feed_input(queue.take_frame());
    ImGui::GetIO().DisplaySize = ImVec2(640, 480);
    ImGui::GetIO().DeltaTime = 1.0F / 60;
    platform_->begin_frame();
    ImGui::NewFrame();
    keep_menu_asleep();
    begin_tab_order();
    items.begin_frame();
    draw();
    ImGui::Render();
    platform_->present(*ImGui::GetDrawData());
    shape = wanted_pointer();
  }
  /// Until all input is taken, and one more for what is shown a frame later.
  void frames() {
    while (!queue.empty()) frame();
    frame();
    frame();
  }

  InputQueue queue;
  Items items;
  std::string text = "abc";
  int pressed = 0;
  int refused = 0;
  bool ticked = false;
  double value = 0;
  float wheel = 0;
  int taps_of_f = 0;
  PointerShape shape = PointerShape::Arrow;

 private:
  void draw() {
    items.record(true);
    Ui ui{session_, items, *platform_, {}, false};
    ImGui::SetNextWindowPos(ImVec2(0, 0));
    ImGui::SetNextWindowSize(ImVec2(640, 480));
    ImGui::Begin("scene", nullptr, ImGuiWindowFlags_MenuBar);
    if (ImGui::BeginMenuBar()) {
      if (ImGui::BeginMenu("menu")) ImGui::EndMenu();
      ImGui::EndMenuBar();
    }
    live_text_field(ui, "scene/text", text);
    if (gui::button(ui, "scene/button", "press")) ++pressed;
    ImGui::BeginDisabled();
    if (gui::button(ui, "scene/disabled", "no")) ++refused;
    ImGui::EndDisabled();
    slider(ui, "scene/slider", value, 0, 10, "%.1f");
    checkbox(ui, "scene/tick", "tick", ticked);
    ImGui::End();
    wheel += ImGui::GetIO().MouseWheel;
#if IMGUI_VERSION_NUM < 18700
    if (ImGui::IsKeyPressed('F', false)) ++taps_of_f;
#else
    if (ImGui::IsKeyPressed(ImGuiKey_F, false)) ++taps_of_f;
#endif
  }

  ImGuiScope scope_;
  std::unique_ptr<Platform> platform_ = open_null({640, 480});
  Session session_;
};

TEST_CASE("input: no tap is lost, however many fall between two frames") {
  Scene scene;
  scene.frames();
  for (int i = 0; i < 10; ++i) scene.tap(key_of('F'));
  scene.frames();
  CHECK(scene.taps_of_f == 10);
}

TEST_CASE("input: a click presses once, also when down and up come together") {
  Scene scene;
  scene.frames();
  scene.click("scene/button");
  CHECK(scene.pressed == 1);
  scene.click("scene/disabled");
  CHECK(scene.refused == 0);
  scene.click("scene/tick");
  CHECK(scene.ticked);
}

TEST_CASE("input: Alt with a key wakes no menu and moves no keyboard, Alt alone does") {
  Scene scene;
  scene.frames();
  scene.click("scene/button");
  const ImGuiContext& context = *ImGui::GetCurrentContext();
  const ImGuiID before = context.NavId;
  for (const Key key : {Key::Left, Key::Down, key_of('.')}) {
    scene.chord(Key::Alt, key);
    scene.frames();
    CHECK(context.NavLayer == ImGuiNavLayer_Main);
    CHECK(context.NavId == before);
  }
  scene.tap(Key::Alt);
  scene.frames();
  CHECK(context.NavLayer == ImGuiNavLayer_Menu);
}

TEST_CASE("input: the pointer says what a click would do") {
  Scene scene;
  scene.frames();
  const auto field = scene.items.find("scene/text");
  REQUIRE(field);
  scene.move(field->centre_x(), field->centre_y());
  scene.frames();
  CHECK(scene.shape == PointerShape::Text);
  scene.move(-FLT_MAX, -FLT_MAX);
  scene.frames();
  CHECK(scene.shape == PointerShape::Arrow);
}

TEST_CASE("input: typing, selecting, copying and pasting in a field") {
  Scene scene;
  scene.frames();
  scene.click("scene/text");
  scene.chord(Key::Control, key_of('A'));
  scene.frames();
  scene.chord(Key::Control, key_of('C'));
  scene.frames();
  scene.tap(Key::End);
  scene.frames();
  scene.type("de");
  scene.chord(Key::Control, key_of('V'));
  scene.frames();
  CHECK(scene.text == "abcdeabc");
  scene.tap(Key::Backspace);
  scene.frames();
  CHECK(scene.text == "abcdeab");
}

TEST_CASE("input: Tab walks every widget that can be used, round and round") {
  Scene scene;
  scene.frames();
  // Dear ImGui starts at the first widget, the field.
  scene.tap(Key::Tab);
  scene.frames();
  scene.tap(Key::Space);
  scene.frames();
  CHECK(scene.pressed == 1);
  scene.tap(Key::Tab);  // past the disabled button
  scene.frames();
  scene.tap(Key::Tab);
  scene.frames();
  scene.tap(Key::Space);
  scene.frames();
  CHECK(scene.ticked);
  scene.tap(Key::Tab);  // the field, which takes text at once
  scene.frames();
  scene.chord(Key::Control, key_of('A'));
  scene.type("x");
  scene.frames();
  CHECK(scene.text == "x");
  scene.chord(Key::Shift, Key::Tab);  // and back
  scene.frames();
  scene.tap(Key::Space);
  scene.frames();
  CHECK_FALSE(scene.ticked);
}

TEST_CASE("input: the wheel turns as far as it was turned") {
  Scene scene;
  scene.frames();
  for (int i = 0; i < 3; ++i) {
    InputEvent event;
    event.type = Type::Wheel;
    event.y = 1;
    scene.queue.push(event);
  }
  scene.frames();
  CHECK(scene.wheel == 3.0F);
}

TEST_CASE("input: keys that were down when the window lost the keyboard are up") {
  Scene scene;
  scene.frames();
  scene.key(Key::Control, true);
  scene.key(key_of('F'), true);
  scene.frames();
  CHECK(ImGui::GetIO().KeyCtrl);
  InputEvent event;
  event.type = Type::Focus;
  event.focused = false;
  scene.queue.push(event);
  scene.frames();
  CHECK_FALSE(ImGui::GetIO().KeyCtrl);
#if IMGUI_VERSION_NUM < 18700
  CHECK_FALSE(ImGui::IsKeyDown('F'));
#else
  CHECK_FALSE(ImGui::IsKeyDown(ImGuiKey_F));
#endif
}

TEST_CASE("fonts: every scale has letters of its own size, and all the signs") {
  const ImGuiScope scope;
  const auto platform = open_null({640, 480});
  for (const float scale : {0.5F, 1.0F, 1.25F, 2.0F, 4.0F}) {
    const Fonts fonts = use_fonts(build_fonts(scale), *platform);
    CHECK(fonts.font->FontSize == std::round(kFontPixels * scale * text_face().height));
    CHECK(fonts.small->FontSize == std::round(kSmallFontPixels * scale * text_face().height));
    for (const int sign : {0x41, 0xE9, 0xB5, 0x3B1, 0x2026, 0x2192, 0x2264, 0x25B2, 0x2713})
      CHECK(fonts.font->FindGlyphNoFallback(static_cast<ImWchar>(sign)) != nullptr);
    CHECK(ImGui::GetIO().Fonts->IsBuilt());
  }
}

}  // namespace
}  // namespace pipeloom::gui::input_test
