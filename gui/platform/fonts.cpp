#include "gui/platform/fonts.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/platform/font_data.hpp"

namespace pipeloom::gui {
namespace {

// Pairs of first and last code point, ended by 0. Static: an atlas reads them when it is built.
constexpr ImWchar kAllSigns[] = {0x0020, 0x017F,  // Latin with accents
                                 0x0370, 0x03FF,  // Greek
                                 0x2009, 0x2009,  // thin space
                                 0x2010, 0x2027,  // dashes, quotes, bullets, ellipsis
                                 0x2030, 0x203A,  // per mille, primes, single angle quotes
                                 0x2070, 0x208E,  // superscripts and subscripts
                                 0x2190, 0x21FF,  // arrows
                                 0x2200, 0x22A5,  // mathematical operators
                                 0x2318, 0x2318,  // command key
                                 0x25A0, 0x25FF,  // geometric shapes
                                 0x2605, 0x2606,  // stars
                                 0x2713, 0x2717,  // ticks and crosses
                                 0};
constexpr ImWchar kSmallSigns[] = {0x0020, 0x00FF, 0x0370, 0x03FF, 0x2009, 0x2009, 0x2010, 0x2027,
                                   0x2190, 0x2199, 0x2248, 0x2265, 0x25A0, 0x25CF, 0};

/// Dear ImGui counts a face's size from the highest to the lowest of its letters.
float line_height(const FontFace& face, float pixels) {
  return std::round(pixels * face.height);
}

void add_face(ImFontAtlas& atlas, const FontFace& face, float pixels, const ImWchar* signs, bool merge) {
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.OversampleH = 2;
  config.OversampleV = 1;
  config.PixelSnapH = true;
  config.MergeMode = merge;
  // Dear ImGui only reads the bytes, but asks for them as its own.
  atlas.AddFontFromMemoryTTF(const_cast<unsigned char*>(face.data.data()), static_cast<int>(face.data.size()),
                             line_height(face, pixels), &config, signs);
}

/// The face at a size; signs that it lacks are those of the face of signs.
ImFont* add_font(ImFontAtlas& atlas, const FontFace& face, float pixels, const ImWchar* signs) {
  add_face(atlas, face, pixels, signs, false);
  if (face.data.data() != sign_face().data.data()) add_face(atlas, sign_face(), pixels, signs, true);
  return atlas.Fonts.back();
}

/// Every figure as wide as the widest, in the middle of its room. REQUIRES: the atlas is built.
void level_figures(ImFont& font) {
  float widest = 0;
  for (ImWchar figure = '0'; figure <= '9'; ++figure)
    widest = std::max(widest, font.FindGlyph(figure)->AdvanceX);
  for (ImWchar figure = '0'; figure <= '9'; ++figure) {
    // The font is ours, and Dear ImGui has no other way to its glyphs.
    auto* glyph = const_cast<ImFontGlyph*>(font.FindGlyph(figure));
    const float shift = std::floor((widest - glyph->AdvanceX) / 2);
    glyph->X0 += shift;
    glyph->X1 += shift;
    glyph->AdvanceX = widest;
    font.IndexAdvanceX[figure] = widest;
  }
}

}  // namespace

void AtlasDeleter::operator()(ImFontAtlas* atlas) const {
  IM_DELETE(atlas);
}

Fonts build_fonts(float scale) {
  const float bounded = std::clamp(scale, 0.5F, 8.0F);
  Fonts fonts;
  fonts.atlas.reset(IM_NEW(ImFontAtlas)());
  fonts.atlas->TexDesiredWidth = bounded > 1.5F ? 2048 : 1024;
  fonts.font = add_font(*fonts.atlas, text_face(), kFontPixels * bounded, kAllSigns);
  fonts.large = add_font(*fonts.atlas, strong_face(), kLargeFontPixels * bounded, kSmallSigns);
  fonts.strong = add_font(*fonts.atlas, strong_face(), kStrongFontPixels * bounded, kSmallSigns);
  fonts.small = add_font(*fonts.atlas, text_face(), kSmallFontPixels * bounded, kSmallSigns);
  fonts.atlas->Build();
  for (ImFont* font : fonts.atlas->Fonts) level_figures(*font);
  fonts.scale = scale;
  return fonts;
}

Fonts use_fonts(Fonts fonts, Platform& platform) {
  ImGuiIO& io = ImGui::GetIO();
  // The context made the first atlas itself and frees whichever it has when it ends.
  IM_DELETE(io.Fonts);
  io.Fonts = fonts.atlas.release();
  io.FontDefault = fonts.font;
  platform.upload_fonts();
  return fonts;
}

}  // namespace pipeloom::gui
