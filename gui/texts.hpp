#pragma once

// Texts that are drawn at a place, and the places of all texts of the frame in progress: no two of one window may lie over each other.

#include <string>
#include <string_view>
#include <vector>

#include "gui/model/draw/chart_list.hpp"

struct ImDrawList;
struct ImFont;
struct ImVec2;

namespace pipeloom::gui {

/// Draws a text and notes its place; `at` is its upper left corner.
void put_text(ImDrawList& draw, ImFont* font, ImVec2 at, Rgba colour, std::string_view text);
/// The same in the font in use.
void put_text(ImDrawList& draw, ImVec2 at, Rgba colour, std::string_view text);
/// A number with its unit as people read it: thin spaces between thousands, and no decimals from 1000 on. "13821.0 units" -> "13 821 units",
/// "383,007 tokens/s" -> "383 007 tokens/s".
[[nodiscard]] std::string with_thin_spaces(std::string_view text);

/// Notes the place of the text that was drawn last as an item.
void note_text(std::string_view text);
/// Notes the places of the labels of the timelines.
void note_labels(const ImDrawList& draw, const ChartList& list, const ChartFonts& fonts);

/// Forgets the texts of the frame before; notes those of this one if `on`.
void begin_texts(bool on);
/// Pairs of texts of one window whose letters overlap: "limit over step". O(texts * their neighbours).
[[nodiscard]] std::vector<std::string> overlapping_texts();

}  // namespace pipeloom::gui
