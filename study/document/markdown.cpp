// A page as Markdown.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>

#include "sim/base/text_tools.hpp"
#include "study/document/formats.hpp"

namespace pipeloom::study::page {
namespace {

/// GitHub renders these in every theme.
std::string_view markdown_sign(Tone tone) {
  constexpr std::array<std::string_view, 5> kSigns = {"", "\xe2\x9c\x85 ", "\xe2\x9d\x8c ",
                                                      "\xe2\x9a\xa0\xef\xb8\x8f ", ""};
  return kSigns[static_cast<std::size_t>(tone)];
}

/// A fence longer than any run of backticks in the text, so that no text ends its block.
std::string fence_for(std::string_view text) {
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

class MarkdownWriter {
 public:
  explicit MarkdownWriter(std::ostream& out) : out_(out) {}

  void operator()(const Paragraph& text) {
    out_ << markdown_sign(text.tone) << markdown_escaped(text.text) << "\n\n";
  }

  void operator()(const Facts& facts) {
    out_ << "| | | |\n| --- | ---: | --- |\n";
    for (const Fact& fact : facts.facts)
      out_ << fmt::format("| {} | **{}** | {}{} |\n", markdown_escaped(fact.label),
                          markdown_escaped(fact.value), markdown_sign(fact.tone),
                          markdown_escaped(fact.note));
    out_ << '\n';
  }

  void operator()(const PageTable& table) {
    if (!table.caption.empty()) out_ << markdown_escaped(table.caption) << "\n\n";
    out_ << '|';
    for (const Column& column : table.columns) out_ << ' ' << markdown_escaped(column.title) << " |";
    out_ << "\n|";
    for (const Column& column : table.columns) out_ << (column.align == Align::Right ? " ---: |" : " --- |");
    out_ << '\n';
    for (const auto& row : table.rows) {
      out_ << '|';
      for (const Cell& cell : row)
        out_ << ' ' << markdown_sign(cell.tone) << markdown_escaped(cell.text) << " |";
      out_ << '\n';
    }
    out_ << '\n';
  }

  void operator()(const Figure& figure) {
    if (figure.text_chart.empty()) return;
    (*this)(Code{figure.text_chart});
  }

  void operator()(const Legend& /*legend*/) {}

  void operator()(const Code& code) {
    const std::string fence = fence_for(code.text);
    out_ << fence << "text\n" << code.text << (code.text.ends_with('\n') ? "" : "\n") << fence << "\n\n";
  }

  void operator()(const List& list) {
    for (const std::string& item : list.items)
      out_ << (item.starts_with("  ") ? "  - " : "- ") << markdown_escaped(trimmed(item)) << '\n';
    out_ << '\n';
  }

  void operator()(const Reference& link) {
    out_ << fmt::format("[{}](<{}>){}\n\n", markdown_escaped(link.text), link.address,
                        markdown_escaped(link.note));
  }

  void blocks(const std::vector<Block>& all) {
    for (const Block& block : all) std::visit(*this, block);
  }

 private:
  std::ostream& out_;
};

}  // namespace

std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += ' ';
    } else {
      if (std::string_view("\\`*_[]|~@#").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

void write_markdown(std::ostream& out, const Page& page) {
  if (!page.title.empty()) out << "## " << markdown_escaped(page.title) << "\n\n";
  if (!page.subtitle.empty()) out << markdown_escaped(page.subtitle) << "\n\n";
  MarkdownWriter writer(out);
  writer.blocks(page.lead);
  for (const Section& section : page.sections) {
    if (section.folded)
      out << "<details><summary>" << markdown_escaped(section.heading) << "</summary>\n\n";
    else if (!section.heading.empty())
      out << "### " << markdown_escaped(section.heading) << "\n\n";
    writer.blocks(section.blocks);
    if (section.folded) out << "</details>\n\n";
  }
  if (!page.footer.empty()) out << "<sub>" << markdown_escaped(page.footer) << "</sub>\n";
}

}  // namespace pipeloom::study::page
