// The tables of a page for LaTeX.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>

#include "sim/base/text_tools.hpp"
#include "study/document/formats.hpp"

namespace pipeloom::study::page {
namespace {

struct LatexCharacter {
  std::uint32_t code;
  std::string_view text;
};

/// Characters with a meaning of their own, and those that join their neighbours: `[` and `*` at the start of a row would be read as
/// arguments of the line end before it.
constexpr std::array kLatexCharacters = {
    LatexCharacter{'\\', "\\textbackslash{}"},
    LatexCharacter{'{', "\\{"},
    LatexCharacter{'}', "\\}"},
    LatexCharacter{'$', "\\$"},
    LatexCharacter{'&', "\\&"},
    LatexCharacter{'#', "\\#"},
    LatexCharacter{'_', "\\_"},
    LatexCharacter{'%', "\\%"},
    LatexCharacter{'~', "\\textasciitilde{}"},
    LatexCharacter{'^', "\\textasciicircum{}"},
    LatexCharacter{'<', "\\textless{}"},
    LatexCharacter{'>', "\\textgreater{}"},
    LatexCharacter{'|', "\\textbar{}"},
    LatexCharacter{'"', "\\char34{}"},
    LatexCharacter{'[', "{[}"},
    LatexCharacter{']', "{]}"},
    LatexCharacter{'*', "{*}"},
    LatexCharacter{'`', "{`}"},
    LatexCharacter{0xB5, "$\\mu$"},
    LatexCharacter{0xD7, "$\\times$"},
    LatexCharacter{0x2013, "--"},
    LatexCharacter{0x2014, "---"},
    LatexCharacter{0x2192, "$\\rightarrow$"},
    LatexCharacter{0x2212, "$-$"},
    LatexCharacter{0x2264, "$\\leq$"},
    LatexCharacter{0x2265, "$\\geq$"},
};

/// Letters of Western European languages, which every pdflatex since 2018 reads from UTF-8 and has in each font.
constexpr bool is_accented(std::uint32_t code) {
  constexpr std::array<std::uint32_t, 6> kNot = {0xD0, 0xD7, 0xDE, 0xF0, 0xF7, 0xFE};
  return code >= 0xC0 && code <= 0xFF && std::ranges::find(kNot, code) == kNot.end();
}

std::string latex_character(std::uint32_t code, std::string_view bytes) {
  const auto* const found = std::ranges::find(kLatexCharacters, code, &LatexCharacter::code);
  if (found != kLatexCharacters.end()) return std::string(found->text);
  if (code < 0x20 || code == 0x7F) return " ";
  if (code < 0x7F || is_accented(code)) return std::string(bytes);
  return fmt::format("U+{:04X}", code);
}

/// The page as LaTeX: blocks become tables, or comments.
class LatexWriter {
 public:
  explicit LatexWriter(std::ostream& out) : out_(out) {}

  /// A comment ends with its line: `text` has none of its own.
  void comment(std::string_view text) { out_ << "% " << printable(text) << '\n'; }

  void operator()(const Paragraph& text) { comment(text.text); }
  void operator()(const List& list) {
    for (const std::string& item : list.items) comment(item);
  }
  void operator()(const Figure& /*figure*/) {}
  void operator()(const Legend& /*legend*/) {}
  void operator()(const Reference& /*link*/) {}
  void operator()(const Code& /*code*/) {}

  void operator()(const Facts& facts) { (*this)(PageTable::of(facts)); }

  void operator()(const PageTable& table) {
    if (!table.caption.empty()) comment(table.caption);
    out_ << "\\begin{tabular}{";
    for (const Column& column : table.columns) out_ << (column.align == Align::Right ? 'r' : 'l');
    out_ << "}\n\\hline\n";
    if (std::ranges::any_of(table.columns, [](const Column& column) { return !column.title.empty(); })) {
      row(table.columns, &Column::title);
      out_ << "\\hline\n";
    }
    for (const auto& cells : table.rows) row(cells, &Cell::text);
    out_ << "\\hline\n\\end{tabular}\n\n";
  }

  void blocks(const std::vector<Block>& all) {
    for (const Block& block : all) std::visit(*this, block);
  }

 private:
  template <class Cells, class Member>
  void row(const Cells& cells, Member member) {
    for (std::size_t i = 0; i < cells.size(); ++i)
      out_ << (i == 0 ? "" : " & ") << latex_escaped(cells[i].*member);
    out_ << " \\\\\n";
  }

  std::ostream& out_;
};

}  // namespace

std::string latex_escaped(std::string_view text) {
  std::string out;
  // A number below zero has a minus sign, not a hyphen.
  if (text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9') {
    out = "$-$";
    text.remove_prefix(1);
  }
  while (!text.empty()) {
    const Utf8Character character = utf8_character(text);
    const std::size_t length = std::max<std::size_t>(1, character.length);
    // Two of these in a row would be another character: a dash, a quotation mark.
    if ((text[0] == '-' || text[0] == '\'') && out.ends_with(text[0])) out += "{}";
    out += character.length == 0 ? "?" : latex_character(character.code, text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

void write_latex(std::ostream& out, const Page& page) {
  LatexWriter writer(out);
  for (const std::string& line : {page.title, page.subtitle})
    if (!line.empty()) writer.comment(line);
  writer.blocks(page.lead);
  for (const Section& section : page.sections) {
    if (!section.heading.empty()) writer.comment(section.heading);
    writer.blocks(section.blocks);
  }
}

}  // namespace pipeloom::study::page
