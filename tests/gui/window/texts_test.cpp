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

TEST_CASE("thousands have thin spaces, and no decimals") {
  CHECK(with_thin_spaces("13821.0 units") == "13\u2009821 units");
  CHECK(with_thin_spaces("383,007 tokens/s") == "383\u2009007 tokens/s");
  CHECK(with_thin_spaces("985.9 ms") == "985.9 ms");
  CHECK(with_thin_spaces("1,234,567") == "1\u2009234\u2009567");
  CHECK(with_thin_spaces("") == "");
}

}  // namespace texts_test
