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

void put_wrapped_text(ImDrawList& draw, ImFont* font, ImVec2 at, Rgba colour, std::string_view text,
                      float wrap) {
  const char* const end = text.data() + text.size();
  draw.AddText(font, font->FontSize, at, colour, text.data(), end, wrap);
  if (places().on)
    note_place(draw, at, font->CalcTextSizeA(font->FontSize, FLT_MAX, wrap, text.data(), end), text);
}

void text_item(std::string_view text) {
  const std::string shown = with_thin_spaces(text);
  ImGui::TextUnformatted(shown.data(), shown.data() + shown.size());
  note_text(shown);
}

void table_heads() {
  ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
  for (int column = 0; column < ImGui::TableGetColumnCount(); ++column) {
    if (!ImGui::TableSetColumnIndex(column)) continue;
    const char* const name = ImGui::TableGetColumnName(column);
    ImGui::PushID(column);
    ImGui::TableHeader(name);
    ImGui::PopID();
    note_text(name);
  }
}

std::string fitted(std::string_view plain, float width) {
  std::string text = with_thin_spaces(plain);
  constexpr std::string_view kEllipsis = "\xe2\x80\xa6";
  const auto width_of = [](std::string_view part) {
    return ImGui::CalcTextSize(part.data(), part.data() + part.size()).x;
  };
  if (width_of(text) <= width) return text;
  const auto cut = [&](std::size_t kept) {
    std::size_t front = (kept + 1) / 2;
    std::size_t back = text.size() - kept / 2;
    // Between characters only.
    while (front > 0 && (static_cast<unsigned char>(text[front]) & 0xC0U) == 0x80) --front;
    while (back < text.size() && (static_cast<unsigned char>(text[back]) & 0xC0U) == 0x80) ++back;
    return text.substr(0, front).append(kEllipsis).append(text, back);
  };
  std::size_t least = 0;
  std::size_t most = std::min<std::size_t>(text.size() - 1, 512);
  while (least < most) {
    const std::size_t middle = (least + most + 1) / 2;
    if (width_of(cut(middle)) <= width)
      least = middle;
    else
      most = middle - 1;
  }
  return cut(least);
}

void note_text(std::string_view text) {
  const ImVec2 from = ImGui::GetItemRectMin();
  const ImVec2 to = ImGui::GetItemRectMax();
  if (ImGui::IsItemVisible())
    note_place(*ImGui::GetWindowDrawList(), from, ImVec2(to.x - from.x, to.y - from.y), text);
}

void note_text_at(ImVec2 at, ImVec2 size, std::string_view text) {
  if (ImGui::IsItemVisible()) note_place(*ImGui::GetWindowDrawList(), at, size, text);
}

void note_label(std::string_view label) {
  if (!places().on || !ImGui::IsItemVisible()) return;
  const ImVec2 from = ImGui::GetItemRectMin();
  const ImVec2 to = ImGui::GetItemRectMax();
  const ImVec2 size = ImGui::CalcTextSize(label.data(), label.data() + label.size(), true);
  note_place(*ImGui::GetWindowDrawList(), ImVec2((from.x + to.x - size.x) / 2, (from.y + to.y - size.y) / 2),
             size, label);
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
