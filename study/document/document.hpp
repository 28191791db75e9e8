#pragma once

// A page of findings, independent of its format: one self-contained HTML file, or Markdown for a pull request.
//
// The HTML opens from disk and loads nothing: its policy forbids everything but the one style and the one script that it holds, each
// named by hash. It is complete without the script, which adds hover texts, zoom and sorting. Equal pages give equal bytes.

#include <iosfwd>
#include <string>
#include <string_view>
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

  [[nodiscard]] static PageTable of(const Table& table, std::string caption);
};

/// A picture. `markup` is a whole <svg> whose ids begin with something unique to the figure. Markdown shows `text_chart` in a code block
/// instead, if there is one.
struct Figure {
  std::string markup;
  std::string caption;
  std::string text_chart = {};
  /// Keys and buttons for zooming are offered (svg of class "zoom", see study/document/script.hpp).
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

using Block = std::variant<Paragraph, Facts, PageTable, Figure, Legend, Code>;

struct Section {
  std::string id;  ///< unique in the page, an XML id
  std::string heading;
  std::vector<Block> blocks;
  /// Closed at first: for content that few readers need. Prints open.
  bool folded = false;
};

struct Page {
  std::string title;     ///< of the window and the first heading
  std::string subtitle;  ///< a line below it; may be empty
  /// The answer, before any heading.
  std::vector<Block> lead;
  std::vector<Section> sections;
  /// The program that made the page: "pipeloom 1.2.0".
  std::string footer;
  /// Rules on top of the common style. No @import, no url().
  std::string style = {};
};

/// The whole HTML file. Check `out` afterwards, as with any stream.
void write_html(std::ostream& out, const Page& page);

/// GitHub-flavoured Markdown: headings, tables, text charts in code blocks. Pictures and legends are left out, folded sections become
/// <details>.
void write_markdown(std::ostream& out, const Page& page);

/// `text` as Markdown text: characters that Markdown or HTML could take for markup are escaped, line ends become blanks.
[[nodiscard]] std::string markdown_escaped(std::string_view text);

}  // namespace pipeloom::study::page
