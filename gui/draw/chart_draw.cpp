#include "gui/draw/chart_draw.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace pipeloom::gui {
namespace {

/// Indices are 16 bits wide: a batch must stay below 65,536 vertices.
constexpr std::size_t kBatch = 8192;

ImVec2 point(float x, float y) {
  return {x, y};
}

/// Calls fn(thing) for all, with room for `rects` rectangles each.
template <class Things, class Fn>
void in_batches(ImDrawList& draw, const Things& things, int rects, Fn&& fn) {
  for (std::size_t begin = 0; begin < things.size(); begin += kBatch) {
    const std::size_t end = std::min(things.size(), begin + kBatch);
    const int count = static_cast<int>(end - begin) * rects;
    draw.PrimReserve(6 * count, 4 * count);
    for (std::size_t i = begin; i < end; ++i) fn(things[i]);
  }
}

void draw_quads(ImDrawList& draw, const std::vector<ChartQuad>& quads) {
  in_batches(draw, quads, 1, [&](const ChartQuad& quad) {
    draw.PrimRect(point(quad.x0, quad.y0), point(quad.x1, quad.y1), quad.colour);
  });
}

/// Four bars each: sharp, and cheaper than strokes.
void draw_outlines(ImDrawList& draw, const std::vector<ChartOutline>& outlines) {
  constexpr int kBars = 4;
  const auto bars = [&](const ChartOutline& box) {
    const float w = std::min({box.width, (box.x1 - box.x0) / 2, (box.y1 - box.y0) / 2});
    draw.PrimRect(point(box.x0, box.y0), point(box.x1, box.y0 + w), box.colour);
    draw.PrimRect(point(box.x0, box.y1 - w), point(box.x1, box.y1), box.colour);
    draw.PrimRect(point(box.x0, box.y0 + w), point(box.x0 + w, box.y1 - w), box.colour);
    draw.PrimRect(point(box.x1 - w, box.y0 + w), point(box.x1, box.y1 - w), box.colour);
  };
  // Four times the vertices: a quarter of the things.
  for (std::size_t begin = 0; begin < outlines.size(); begin += kBatch / kBars) {
    const std::size_t end = std::min(outlines.size(), begin + kBatch / kBars);
    const int count = static_cast<int>(end - begin) * kBars;
    draw.PrimReserve(6 * count, 4 * count);
    for (std::size_t i = begin; i < end; ++i) bars(outlines[i]);
  }
}

void draw_lines(ImDrawList& draw, const std::vector<ChartLine>& lines) {
  for (const ChartLine& line : lines)
    draw.AddLine(point(line.x0, line.y0), point(line.x1, line.y1), line.colour, line.width);
}

/// Letter by letter: half the cost of AddText, which lays lines out.
void draw_letters(ImDrawList& draw, const ImFont& font, const ChartLabel& label, std::string_view text) {
  const int count = static_cast<int>(text.size());
  draw.PrimReserve(6 * count, 4 * count);
  float x = label.x;
  int drawn = 0;
  for (const char letter : text) {
    const ImFontGlyph* const glyph = font.FindGlyph(static_cast<ImWchar>(static_cast<unsigned char>(letter)));
    if (glyph->Visible) {
      draw.PrimRectUV(point(x + glyph->X0, label.y + glyph->Y0), point(x + glyph->X1, label.y + glyph->Y1),
                      point(glyph->U0, glyph->V0), point(glyph->U1, glyph->V1), label.colour);
      ++drawn;
    }
    x += glyph->AdvanceX;
  }
  draw.PrimUnreserve(6 * (count - drawn), 4 * (count - drawn));
}

void draw_labels(ImDrawList& draw, const ChartList& list, const std::vector<ChartLabel>& labels,
                 const ChartFaces& faces) {
  for (const ChartLabel& label : labels) {
    const std::string_view text = list.text_of(label);
    ImFont* const font = label.face == ChartFace::Small    ? faces.small
                         : label.face == ChartFace::Normal ? faces.normal
                                                           : faces.strong;
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
    if (plain)
      draw_letters(draw, *font, label, text);
    else
      draw.AddText(font, font->FontSize, point(label.x, label.y), label.colour, text.data(),
                   text.data() + text.size());
  }
}

void draw_picture(ImDrawList& draw, const ChartPicture& picture, std::uintptr_t texture) {
  if (picture.strips.empty()) return;
  draw.PushTextureID(reinterpret_cast<ImTextureID>(texture));  // NOLINT(performance-no-int-to-ptr): its type
  in_batches(draw, picture.strips, 1, [&](const ChartStrip& strip) {
    const auto rows = static_cast<float>(picture.rows);
    const float u = static_cast<float>(strip.texels) / static_cast<float>(picture.width);
    draw.PrimRectUV(point(strip.x0, strip.y0), point(strip.x1, strip.y1), point(0, strip.row / rows),
                    point(u, strip.row_end / rows), IM_COL32_WHITE);
  });
  draw.PopTextureID();
}

void draw_straight(ImDrawList& draw, const ChartArrow& arrow) {
  const float dx = arrow.x1 - arrow.x0;
  const float dy = arrow.y1 - arrow.y0;
  const float length = std::max(std::sqrt(dx * dx + dy * dy), 1.0F);
  const float head = 3.5F * arrow.width + 2;
  // Along the line, and across it.
  const ImVec2 along = point(dx / length * head, dy / length * head);
  const ImVec2 foot = point(arrow.x1 - along.x, arrow.y1 - along.y);
  const ImVec2 side = point(-along.y * 0.55F, along.x * 0.55F);
  draw.AddLine(point(arrow.x0, arrow.y0), foot, arrow.colour, arrow.width);
  draw.AddTriangleFilled(point(arrow.x1, arrow.y1), point(foot.x + side.x, foot.y + side.y),
                         point(foot.x - side.x, foot.y - side.y), arrow.colour);
}

void draw_arrow(ImDrawList& draw, const ChartArrow& arrow) {
  if (arrow.straight) {
    draw_straight(draw, arrow);
    return;
  }
  // Leaves and arrives along the time axis, bent enough to be told from its neighbours.
  const float bend = std::clamp(std::abs(arrow.x1 - arrow.x0) / 2, 12.0F, 60.0F);
  const float head = 3.5F * arrow.width + 2;
  draw.AddBezierCubic(point(arrow.x0, arrow.y0), point(arrow.x0 + bend, arrow.y0),
                      point(arrow.x1 - bend, arrow.y1), point(arrow.x1 - head, arrow.y1), arrow.colour,
                      arrow.width);
  draw.AddTriangleFilled(point(arrow.x1, arrow.y1), point(arrow.x1 - head, arrow.y1 - head * 0.6F),
                         point(arrow.x1 - head, arrow.y1 + head * 0.6F), arrow.colour);
}

}  // namespace

ChartTextures::~ChartTextures() {
  for (const Slot& slot : slots_)
    if (slot.texture != 0) platform_->delete_texture(slot.texture);
}

std::uintptr_t ChartTextures::upload(Platform& platform, Which which, const ChartPicture& picture) {
  platform_ = &platform;
  Slot& slot = slots_[static_cast<std::size_t>(which)];
  if (picture.rows == 0) return slot.texture;
  if (slot.texture == 0) slot.texture = platform.make_texture();
  if (slot.version != picture.version)
    platform.set_texture(slot.texture, {picture.width, picture.rows}, picture.texels);
  slot.version = picture.version;
  return slot.texture;
}

ChartFont measure_font(const ImFont& font) {
  ChartFont measured;
  measured.height = font.FontSize;
  for (std::size_t letter = 0; letter < measured.advance.size(); ++letter)
    measured.advance[letter] = font.GetCharAdvance(static_cast<ImWchar>(letter));
  return measured;
}

void draw_chart_list(const ChartList& list, const Box& plot, const ChartFaces& faces, Platform& platform,
                     ChartTextures& textures, ImDrawList& draw) {
  using Which = ChartTextures::Which;
  draw_quads(draw, list.ground);
  draw_picture(draw, list.rows, textures.upload(platform, Which::Rows, list.rows));
  draw_picture(draw, list.minimap, textures.upload(platform, Which::Minimap, list.minimap));
  draw_picture(draw, list.overview, textures.upload(platform, Which::Overview, list.overview));
  draw_quads(draw, list.quads);
  draw_lines(draw, list.lines);
  draw_outlines(draw, list.outlines);
  for (const ChartDot& dot : list.dots) draw.AddCircleFilled(point(dot.x, dot.y), dot.radius, dot.colour);
  draw_labels(draw, list, list.labels, faces);
  draw.PushClipRect(point(static_cast<float>(plot.x0), static_cast<float>(plot.y0)),
                    point(static_cast<float>(plot.x1), static_cast<float>(plot.y1)), true);
  for (const ChartArrow& arrow : list.arrows) draw_arrow(draw, arrow);
  draw.PopClipRect();
  draw_quads(draw, list.front);
  draw_outlines(draw, list.front_outlines);
  draw_lines(draw, list.front_lines);
  for (const ChartQuad& pill : list.pills)
    draw.AddRectFilled(point(pill.x0, pill.y0), point(pill.x1, pill.y1), pill.colour,
                       (pill.y1 - pill.y0) / 2);
  draw_labels(draw, list, list.front_labels, faces);
}

}  // namespace pipeloom::gui
