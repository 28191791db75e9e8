#include "sim/draw/palette.hpp"

#include "support/catch.hpp"

namespace palette_test {

using namespace pipeloom;
using namespace pipeloom::draw;

TEST_CASE("contrast follows the definition of WCAG", "[draw]") {
  CHECK(contrast({0, 0, 0}, {255, 255, 255}) == Approx(21.0));
  CHECK(contrast({10, 20, 30}, {10, 20, 30}) == Approx(1.0));
}

TEST_CASE("numbers on every op colour can be read", "[draw]") {
  for (const Theme theme : {Theme::Light, Theme::Dark}) {
    for (const OpKind kind : kAllOpKinds) {
      for (int shade = 0; shade < 6; ++shade) {
        const Colour fill = kind_colour(theme, kind, shade, 6);
        CHECK(contrast(fill, text_on(fill)) >= 4.5);
        CHECK(contrast(pattern_colour(fill), text_on(fill)) >= contrast(fill, text_on(fill)));
      }
      for (const int count : {3, 8, 9, 100}) {
        for (int i = 0; i < count; ++i) {
          const Colour fill = series_colour(theme, i, count, kind);
          CHECK(contrast(fill, text_on(fill)) >= 4.5);
        }
      }
    }
  }
}

TEST_CASE("labels can be read in both themes", "[draw]") {
  for (const Theme theme : {Theme::Light, Theme::Dark}) {
    const Surface& surface = surface_of(theme);
    CHECK(contrast(surface.text, surface.background) >= 7);
    CHECK(contrast(surface.muted, surface.background) >= 4.5);
  }
}

TEST_CASE("kinds and shades have colours of their own", "[draw]") {
  for (const Theme theme : {Theme::Light, Theme::Dark}) {
    std::vector<Colour> seen;
    for (const OpKind kind : kAllOpKinds) {
      for (int shade = 0; shade < 4; ++shade) {
        const Colour colour = kind_colour(theme, kind, shade, 4);
        CHECK(std::find(seen.begin(), seen.end(), colour) == seen.end());
        seen.push_back(colour);
      }
    }
    CHECK(kind_colour(theme, OpKind::Forward, 4, 8) == kind_colour(theme, OpKind::Forward, 0, 8));
  }
}

TEST_CASE("names of colourings and themes read back", "[draw]") {
  for (const ColourBy by : {ColourBy::Kind, ColourBy::Stage, ColourBy::Microbatch, ColourBy::Rank}) {
    CHECK(colour_by_named(name_of(by)) == by);
  }
  CHECK(theme_named("dark") == Theme::Dark);
  CHECK_FALSE(theme_named("Dark"));
  CHECK(to_hex({0, 0x72, 0xb2}) == "#0072b2");
  CHECK(blend({0, 0, 0}, {100, 200, 50}, 0.5) == Colour{50, 100, 25});
}

}  // namespace palette_test
