// A page as text for a terminal.

#include <algorithm>
#include <ostream>
#include <string>

#include "sim/base/text_tools.hpp"
#include "study/document/formats.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::size_t kMaxText = 4000;

std::string shown(std::string_view text) {
  return shortened(text, kMaxText);
}

/// Blocks as text, each with the lines that belong to it.
class PlainWriter {
 public:
  explicit PlainWriter(const PlainStyle& style) : style_(style) {}

  std::string operator()(const Paragraph& text) const { return wrapped(shown(text.text), style_.width); }

  std::string operator()(const Facts& facts) const {
    Table table({{"", Align::Left}, {"", Align::Right}, {"", Align::Left}});
    for (const Fact& fact : facts.facts)
      table.add_row({shown(fact.label), shown(fact.value), shown(fact.note)});
    return table.text();
  }

  std::string operator()(const PageTable& page_table) const {
    Table table(page_table.columns);
    for (const auto& row : page_table.rows) {
      std::vector<std::string> cells;
      for (const Cell& cell : row) cells.push_back(shown(cell.text));
      table.add_row(std::move(cells));
    }
    const std::string caption =
        page_table.caption.empty() ? std::string() : wrapped(shown(page_table.caption), style_.width);
    return caption + table.text(style_.colour);
  }

  /// Drawn by this program, maybe with a terminal's colours.
  std::string operator()(const Figure& figure) const { return figure.text_chart; }
  std::string operator()(const Legend& /*legend*/) const { return {}; }
  std::string operator()(const Reference& /*link*/) const { return {}; }

  std::string operator()(const Code& code) const {
    std::string out;
    std::string_view rest = code.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      out += shown(rest.substr(0, end)) + '\n';
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return out;
  }

  std::string operator()(const List& list) const {
    std::string out;
    for (const std::string& item : list.items) {
      const std::size_t indent = std::min(item.find_first_not_of(' '), item.size());
      out += wrapped(shown(std::string_view(item).substr(indent)), style_.width, indent);
    }
    return out;
  }

 private:
  const PlainStyle& style_;
};

}  // namespace

void write_plain(std::ostream& out, const Page& page, const PlainStyle& style) {
  const PlainWriter writer(style);
  bool first = true;
  const auto add = [&](const std::string& text) {
    if (text.empty()) return;
    out << (first ? "" : "\n") << text;
    first = false;
  };
  std::string head;
  if (!page.title.empty()) head = bold(shown(page.title), style.colour) + '\n';
  if (!page.subtitle.empty()) head += shown(page.subtitle) + '\n';
  add(head);
  for (const Block& block : page.lead) add(std::visit(writer, block));
  for (const Section& section : page.sections) {
    if (section.folded && !style.everything) continue;
    std::string heading =
        section.heading.empty() ? std::string() : bold(shown(section.heading), style.colour) + '\n';
    for (const Block& block : section.blocks) {
      const std::string text = std::visit(writer, block);
      if (text.empty()) continue;
      add(heading + text);
      heading.clear();
    }
  }
}

}  // namespace pipeloom::study::page
