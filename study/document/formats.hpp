#pragma once

// Formats of pages. A format is one row of a table, and every command that prints a page or writes one asks it.

#include <array>
#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/document/document.hpp"

namespace pipeloom::study::page {

/// How plain text is laid out. Other formats ignore it.
struct PlainStyle {
  std::size_t width = 100;  ///< columns that sentences may take; tables take as many as they need
  bool colour = false;      ///< headings in bold
  bool everything = false;  ///< folded sections too
};

struct PageFormat {
  std::string_view name;                    ///< of --format
  std::array<std::string_view, 2> endings;  ///< of file names, "" for none
  /// Holds pictures and long tables. Pages for other formats have charts of letters in their place, and short tables.
  bool has_pictures = false;
  void (*write)(std::ostream& out, const Page& page, const PlainStyle& style) = nullptr;
};

/// All formats. The first is what a terminal shows.
[[nodiscard]] std::span<const PageFormat> page_formats();
/// Their names.
[[nodiscard]] std::vector<std::string> page_format_names();
/// nullptr if no format has this name; "md" is Markdown's too.
[[nodiscard]] const PageFormat* page_format_named(std::string_view name);
/// The format of files with such a name, nullptr if there is none.
[[nodiscard]] const PageFormat* page_format_of_file(std::string_view file);

/// A page as text for a terminal: headings, aligned tables, charts of letters. Control characters in names from files become '?', so that
/// no text can steer the terminal.
void write_plain(std::ostream& out, const Page& page, const PlainStyle& style);

/// The whole HTML file. Check `out` afterwards, as with any stream.
void write_html(std::ostream& out, const Page& page);

/// GitHub-flavoured Markdown: headings, tables, text charts in code blocks. Pictures and legends are left out, folded sections become
/// <details>.
void write_markdown(std::ostream& out, const Page& page);
/// `text` as Markdown text: characters that Markdown or HTML could take for markup are escaped, line ends become blanks.
[[nodiscard]] std::string markdown_escaped(std::string_view text);

/// The tables, each a `tabular` for \input in a paper of one's own: no package is needed. Titles, captions and sentences are comments
/// above them; pictures are left out.
void write_latex(std::ostream& out, const Page& page);
/// `text` as LaTeX text in UTF-8. A character that pdflatex may not know is its number, "U+4E2D"; line ends become blanks.
[[nodiscard]] std::string latex_escaped(std::string_view text);

/// The tables as CSV by RFC 4180. The first field of a line names the table, the first line of a table has its column titles, and all
/// lines have as many fields as the widest table. Everything else is left out.
void write_csv(std::ostream& out, const Page& page);

}  // namespace pipeloom::study::page
