#include "study/document/plain_text.hpp"

#include <ostream>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::size_t kMaxText = 4000;

std::string shown(std::string_view text) {
  return shortened(text, kMaxText);
}

class PlainWriter {
 public:
  PlainWriter(std::ostream& out, const PlainStyle& style) : out_(out), style_(style) {}

  void operator()(const Paragraph& text) { out_ << wrapped(shown(text.text), style_.width) << '\n'; }

  void operator()(const Facts& facts) {
    Table table({{"", Align::Left}, {"", Align::Right}, {"", Align::Left}});
    for (const Fact& fact : facts.facts)
      table.add_row({shown(fact.label), shown(fact.value), shown(fact.note)});
    out_ << table.text() << '\n';
  }

  void operator()(const PageTable& page_table) {
    if (!page_table.caption.empty()) out_ << wrapped(shown(page_table.caption), style_.width);
    Table table(page_table.columns);
    for (const auto& row : page_table.rows) {
      std::vector<std::string> cells;
      for (const Cell& cell : row) cells.push_back(shown(cell.text));
      table.add_row(std::move(cells));
    }
    out_ << table.text(style_.colour) << '\n';
  }

  void operator()(const Figure& figure) { (*this)(Code{figure.text_chart}); }
  void operator()(const Legend& /*legend*/) {}

  void operator()(const Code& code) {
    std::string_view rest = code.text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      out_ << shown(rest.substr(0, end)) << '\n';
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!code.text.empty()) out_ << '\n';
  }

  void blocks(const std::vector<Block>& all) {
    for (const Block& block : all) std::visit(*this, block);
  }

 private:
  std::ostream& out_;
  const PlainStyle& style_;
};

}  // namespace

void write_plain(std::ostream& out, const Page& page, const PlainStyle& style) {
  out << bold(shown(page.title), style.colour) << '\n';
  if (!page.subtitle.empty()) out << shown(page.subtitle) << '\n';
  out << '\n';
  PlainWriter writer(out, style);
  writer.blocks(page.lead);
  for (const Section& section : page.sections) {
    if (section.folded && !style.everything) continue;
    out << bold(shown(section.heading), style.colour) << '\n';
    writer.blocks(section.blocks);
  }
}

}  // namespace pipeloom::study::page
