// The tables of a page as CSV.

#include <algorithm>
#include <map>
#include <ostream>
#include <string>

#include "study/document/formats.hpp"

namespace pipeloom::study::page {
namespace {

struct NamedTable {
  std::string name;
  PageTable table;
};

/// All tables of a page, facts too.
std::vector<NamedTable> tables_of(const Page& page) {
  std::vector<NamedTable> out;
  const auto add = [&out](const std::vector<Block>& blocks, const std::string& heading) {
    for (const Block& block : blocks) {
      if (const auto* table = std::get_if<PageTable>(&block))
        out.push_back({!table->name.empty()     ? table->name
                       : table->caption.empty() ? heading
                                                : table->caption,
                       *table});
      if (const auto* facts = std::get_if<Facts>(&block)) out.push_back({"facts", PageTable::of(*facts)});
    }
  };
  add(page.lead, page.title);
  for (const Section& section : page.sections) add(section.blocks, section.heading);
  return out;
}

/// A field, in quotes where RFC 4180 wants them.
std::string csv_field(std::string_view text) {
  if (text.find_first_of("\",\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

void write_csv(std::ostream& out, const Page& page) {
  const std::vector<NamedTable> tables = tables_of(page);
  std::size_t width = 0;
  for (const NamedTable& table : tables) width = std::max(width, table.table.columns.size());
  const auto line = [&](const std::string& name, const auto& cells, const auto& text_of) {
    out << csv_field(name);
    for (std::size_t i = 0; i < width; ++i)
      out << ',' << (i < cells.size() ? csv_field(text_of(cells[i])) : "");
    out << "\r\n";
  };
  std::map<std::string, int> seen;
  for (const NamedTable& table : tables) {
    const int times = ++seen[table.name];
    const std::string name = times == 1 ? table.name : table.name + ' ' + std::to_string(times);
    line(name, table.table.columns, [](const Column& column) { return column.title; });
    for (const auto& row : table.table.rows) line(name, row, [](const Cell& cell) { return cell.text; });
  }
}

}  // namespace pipeloom::study::page
