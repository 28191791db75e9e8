#include "gui/skin.hpp"

#include "sim/draw/palette.hpp"
#include "support/catch.hpp"

namespace skin_test {

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

draw::Colour colour_of(Rgba rgba) {
  return {static_cast<std::uint8_t>(rgba & 0xFFU), static_cast<std::uint8_t>(rgba >> 8U & 0xFFU),
          static_cast<std::uint8_t>(rgba >> 16U & 0xFFU)};
}

double contrast_of(Rgba ink, Rgba ground) {
  return draw::contrast(colour_of(ink), colour_of(ground));
}

}  // namespace

TEST_CASE("what must be read stands out from its ground in both themes") {
  constexpr double kLegible = 4.5;  // WCAG 2.1, AA
  for (const bool dark : {true, false}) {
    INFO((dark ? "dark" : "light"));
    const Skin skin = make_skin(dark, 1);
    for (const Rgba ground : {skin.background, skin.panel, skin.raised}) {
      CHECK(contrast_of(skin.text, ground) >= kLegible);
      CHECK(contrast_of(skin.muted, ground) >= kLegible);
    }
    CHECK(contrast_of(skin.faint, skin.panel) >= kLegible);
    // The parts of the bar below the bubble.
    const auto theme = dark ? draw::Theme::Dark : draw::Theme::Light;
    for (std::size_t i = 0; i < kIdleCauses; ++i) {
      const Rgba cause = to_rgba(draw::idle_colour(theme, static_cast<IdleCause>(i)));
      CHECK(contrast_of(legible(cause, skin.panel), skin.panel) >= kLegible);
    }
    for (const Rgba ground : {skin.background, skin.panel}) {
      CHECK(contrast_of(skin.accent, ground) >= kLegible);
      CHECK(contrast_of(skin.good, ground) >= kLegible);
      CHECK(contrast_of(skin.problem, ground) >= kLegible);
    }
  }
}

}  // namespace skin_test
