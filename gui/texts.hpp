#pragma once

// Texts that are drawn at a place, and the places of all texts of the frame in progress: no two of one window may lie over each other.

#include <string>
#include <string_view>
#include <vector>

#include "gui/model/draw/chart_list.hpp"
#include "gui/model/session/thin_spaces.hpp"

struct ImDrawList;
struct ImFont;
struct ImVec2;

namespace pipeloom::gui {

/// Draws a text and notes its place; `at` is its upper left corner.
void put_text(ImDrawList& draw, ImFont* font, ImVec2 at, Rgba colour, std::string_view text);
/// The same in the font in use.
void put_text(ImDrawList& draw, ImVec2 at, Rgba colour, std::string_view text);
/// The same on several lines, none wider than `wrap`.
void put_wrapped_text(ImDrawList& draw, ImFont* font, ImVec2 at, Rgba colour, std::string_view text,
                      float wrap);
/// A text as an item of the window in progress, its numbers as people read them; notes its place.
void text_item(std::string_view text);
/// The heads of the table that was begun: the names of its columns.
void table_heads();

/// The beginning and the end of a text with an ellipsis between them, as wide as `width` allows; all of it where it fits. Its numbers are as people
/// read them.
[[nodiscard]] std::string fitted(std::string_view text, float width);

/// Notes the place of the text that was drawn last as an item.
void note_text(std::string_view text);
/// Notes the place of a text of this size in the window in progress; `at` is its upper left corner.
void note_text_at(ImVec2 at, ImVec2 size, std::string_view text);
/// Notes the place of a label in the middle of the item that was drawn last.
void note_label(std::string_view label);
/// Notes the places of the labels of the timelines.
void note_labels(const ImDrawList& draw, const ChartList& list, const ChartFonts& fonts);

/// Forgets the texts of the frame before; notes those of this one if `on`.
void begin_texts(bool on);
/// Pairs of texts of one window whose letters overlap: "limit over step". O(texts * their neighbours).
[[nodiscard]] std::vector<std::string> overlapping_texts();

}  // namespace pipeloom::gui
