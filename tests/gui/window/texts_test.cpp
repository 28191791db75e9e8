#include "gui/texts.hpp"

#include <imgui.h>

#include "gui/app.hpp"
#include "support/catch.hpp"

namespace texts_test {

using namespace pipeloom::gui;

namespace {

/// A frame of one window, in which `draw` puts texts.
template <class Draw>
std::vector<std::string> overlaps_of(Draw draw) {
  const ImGuiScope scope;
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = ImVec2(400, 300);
  io.DeltaTime = 1.0F / 60;
  io.Fonts->Build();
  ImGui::NewFrame();
  begin_texts(true);
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(ImVec2(400, 300));
  ImGui::Begin("texts");
  draw(*ImGui::GetWindowDrawList());
  ImGui::End();
  ImGui::EndFrame();
  return overlapping_texts();
}

constexpr Rgba kInk = 0xFFFFFFFF;

}  // namespace

TEST_CASE("texts that lie over each other are found, neighbours are not") {
  CHECK(overlaps_of([](ImDrawList& draw) {
          put_text(draw, ImVec2(50, 50), kInk, "limit");
          put_text(draw, ImVec2(60, 52), kInk, "step");
        }) == std::vector<std::string>{"limit over step"});
  CHECK(overlaps_of([](ImDrawList& draw) {
          put_text(draw, ImVec2(50, 50), kInk, "limit");
          put_text(draw, ImVec2(50, 50 + ImGui::GetFontSize()), kInk, "step");
          put_text(draw, ImVec2(200, 50), kInk, "step");
        }).empty());
  // Letters outside of the window are not seen.
  CHECK(overlaps_of([](ImDrawList& draw) {
          put_text(draw, ImVec2(500, 50), kInk, "limit");
          put_text(draw, ImVec2(500, 50), kInk, "step");
        }).empty());
}

TEST_CASE("texts of items are seen like those at a place") {
  CHECK(overlaps_of([](ImDrawList&) {
          ImGui::SetCursorScreenPos(ImVec2(50, 50));
          text_item("limit");
          ImGui::SetCursorScreenPos(ImVec2(52, 52));
          text_item("step");
        }) == std::vector<std::string>{"limit over step"});
}

TEST_CASE("thousands have thin spaces, and no decimals") {
  CHECK(with_thin_spaces("13821.0 units") == "13\u2009821 units");
  CHECK(with_thin_spaces("383,007 tokens/s") == "383\u2009007 tokens/s");
  CHECK(with_thin_spaces("985.9 ms") == "985.9 ms");
  CHECK(with_thin_spaces("1,234,567") == "1\u2009234\u2009567");
  CHECK(with_thin_spaces("") == "");
  CHECK(with_thin_spaces("peak 12345 activations, 1,152 ops (4096)") ==
        "peak 12\u2009345 activations, 1\u2009152 ops (4\u2009096)");
  CHECK(with_thin_spaces("-13821.5 units, 999.95 ms") == "-13\u2009821 units, 999.95 ms");
  CHECK(with_thin_spaces(with_thin_spaces("13821 units")) == "13\u2009821 units");
}

TEST_CASE("digits of names stay as they are") {
  for (const char* name :
       {"0F1000", "1f1b p=1024 m=4096", "2026-11-30.json", "runs/12345/a.csv", "v1.20261130"})
    CHECK(with_thin_spaces(name) == name);
}

}  // namespace texts_test
