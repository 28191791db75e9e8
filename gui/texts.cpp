#include "gui/texts.hpp"

#include <imgui.h>

#include <algorithm>
#include <cfloat>

#include "gui/items.hpp"

namespace pipeloom::gui {
namespace {

struct TextPlace {
  const void*
      layer;  ///< a window, or a part of one that scrolls; what is drawn in front of a chart is another
  ItemRect rect;
  std::string text;
};

struct TextPlaces {
  bool on = false;
  std::vector<TextPlace> all;
};

TextPlaces& places() {
  static TextPlaces of_frame;
  return of_frame;
}

/// The part of a line of letters that has ink, inside of what the list may draw on.
void note_place(const ImDrawList& draw, ImVec2 at, ImVec2 size, std::string_view text,
                const void* layer = nullptr) {
  if (!places().on || text.empty()) return;
  const ImVec2 from = draw.GetClipRectMin();
  const ImVec2 to = draw.GetClipRectMax();
  const float height = std::min(ImGui::GetFontSize(), size.y);
  const ItemRect rect{std::max(at.x + 1, from.x), std::max(at.y + 0.2F * height, from.y),
                      std::min(at.x + size.x - 1, to.x), std::min(at.y + size.y - 0.2F * height, to.y)};
  if (rect.x0 < rect.x1 && rect.y0 < rect.y1)
    places().all.push_back({layer == nullptr ? &draw : layer, rect, std::string(text)});
}

bool overlap(const TextPlace& a, const TextPlace& b) {
  return a.layer == b.layer && a.rect.x0 < b.rect.x1 && b.rect.x0 < a.rect.x1 && a.rect.y0 < b.rect.y1 &&
         b.rect.y0 < a.rect.y1;
}

}  // namespace

void put_text(ImDrawList& draw, ImFont* font, ImVec2 at, Rgba colour, std::string_view text) {
  const char* const end = text.data() + text.size();
  draw.AddText(font, font->FontSize, at, colour, text.data(), end);
  if (places().on)
    note_place(draw, at, font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.data(), end), text);
}

void put_text(ImDrawList& draw, ImVec2 at, Rgba colour, std::string_view text) {
  put_text(draw, ImGui::GetFont(), at, colour, text);
}

std::string with_thin_spaces(std::string_view text) {
  constexpr std::string_view kThin = "\xe2\x80\x89";
  constexpr std::size_t kDigits = 4;  // that count
  std::size_t end = 0;
  std::string digits;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == ','))
    if (const char c = text[end++]; c != ',') digits += c;
  if (digits.size() < kDigits) return std::string(text);
  if (end + 1 < text.size() && text[end] == '.')
    for (++end; end < text.size() && text[end] >= '0' && text[end] <= '9';) ++end;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += kThin;
    out += digits[i];
  }
  return out.append(text.substr(end));
}

void note_text(std::string_view text) {
  const ImVec2 from = ImGui::GetItemRectMin();
  const ImVec2 to = ImGui::GetItemRectMax();
  if (ImGui::IsItemVisible())
    note_place(*ImGui::GetWindowDrawList(), from, ImVec2(to.x - from.x, to.y - from.y), text);
}

void note_labels(const ImDrawList& draw, const ChartList& list, const ChartFonts& fonts) {
  if (!places().on) return;
  for (const std::vector<ChartLabel>* labels : {&list.labels, &list.front_labels})
    for (const ChartLabel& label : *labels) {
      const ChartFont& font = label.face == ChartFace::Small    ? fonts.small
                              : label.face == ChartFace::Normal ? fonts.normal
                                                                : fonts.strong;
      const std::string_view text = list.text_of(label);
      note_place(draw, ImVec2(label.x, label.y),
                 ImVec2(static_cast<float>(font.width(text)), static_cast<float>(font.height)), text, labels);
    }
}

void begin_texts(bool on) {
  places().on = on;
  places().all.clear();
}

std::vector<std::string> overlapping_texts() {
  std::vector<TextPlace> all = places().all;
  std::ranges::sort(all, {}, [](const TextPlace& place) { return place.rect.y0; });
  std::vector<std::string> pairs;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size() && all[j].rect.y0 < all[i].rect.y1; ++j)
      if (overlap(all[i], all[j])) pairs.push_back(all[i].text + " over " + all[j].text);
  return pairs;
}

}  // namespace pipeloom::gui
