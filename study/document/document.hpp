#pragma once

// A page of findings, independent of its format: what commands print and what reports write (formats: study/document/formats.hpp).
//
// The HTML opens from disk and loads nothing: its policy forbids everything but the one style and the one script that it holds, each
// named by hash. It is complete without the script, which adds hover texts, zoom and sorting. Equal pages give equal bytes.

#include <string>
#include <variant>
#include <vector>

#include "study/text/table.hpp"

namespace pipeloom::study::page {

/// Tone of a text. HTML colours it and adds a sign, Markdown adds the sign alone: colour is never the only carrier.
enum class Tone : unsigned char { Plain, Good, Bad, Warning, Muted };

/// All texts below are plain: writers escape them. Only `markup` is written unchanged.
struct Paragraph {
  std::string text;
  Tone tone = Tone::Plain;
};

/// A number to see first: "makespan", "33.0 ms", "reaches the lower bound".
struct Fact {
  std::string label;
  std::string value;
  std::string note;
  Tone tone = Tone::Plain;
};
struct Facts {
  std::vector<Fact> facts;
};

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;
  /// Class of a small square of colour before the text (study/document/html.hpp), "" for none.
  std::string swatch = {};
};
/// A table with a caption. The first cell of a row is its heading. HTML tables of more than one row can be sorted by their columns where
/// the script runs; numbers sort as numbers, sizes with units too.
struct PageTable {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  bool sortable = true;
  /// How many columns name a row, 1 or 2: HTML keeps them in sight where the others scroll. Of two the first is a short number.
  int headings = 1;
  /// A short name for programs that read the tables; "" takes the caption, or the heading above.
  std::string name = {};

  [[nodiscard]] static PageTable of(const Table& table, std::string caption, std::string name = {});
  /// Label, value and note, without titles.
  [[nodiscard]] static PageTable of(const Facts& facts);
};

/// A picture. `markup` is a whole <svg> whose ids begin with something unique to the figure. Where there is none, and in Markdown and plain
/// text, `text_chart` is shown, a chart of letters that ends in a line end. Colours of a terminal in it are for plain text alone.
struct Figure {
  std::string markup;
  std::string caption;
  std::string text_chart = {};
  /// Keys and buttons for zooming are offered (svg of class "zoom", see study/document/html.hpp).
  bool zooms = false;
};

/// Meaning of the figures' colours.
struct LegendEntry {
  std::vector<std::string> swatches;  ///< classes
  std::string text;
};
struct Legend {
  std::vector<LegendEntry> entries;
};

/// Text with its lines and blanks kept.
struct Code {
  std::string text;
};

/// Sentences one below the other. Two blanks before an item make it part of the item above.
struct List {
  std::vector<std::string> items;
};

/// An address that the page leads to, on a line of its own: the text of the link, and plain words after it. HTML and Markdown show it.
struct Reference {
  std::string text;
  std::string address;  ///< of http or https, or relative
  std::string note = {};
};

using Block = std::variant<Paragraph, Facts, PageTable, Figure, Legend, Code, List, Reference>;

struct Section {
  std::string id;       ///< unique in the page, an XML id
  std::string heading;  ///< "" for none
  std::vector<Block> blocks;
  /// Closed at first: for content that few readers need. Prints open.
  bool folded = false;
};

struct Page {
  std::string title;     ///< of the window and the first heading; "" for neither
  std::string subtitle;  ///< a line below it; may be empty
  /// The answer, before any heading.
  std::vector<Block> lead;
  std::vector<Section> sections;
  /// The program that made the page: "pipeloom 1.2.0".
  std::string footer;
  /// Rules on top of the common style. No @import, no url().
  std::string style = {};
};

}  // namespace pipeloom::study::page
