#include "study/text/table.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/text_tools.hpp"

namespace pipeloom::study {
namespace {

constexpr std::string_view kGap = "  ";

std::vector<std::string> titles_of(const std::vector<Column>& columns) {
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.push_back(column.title);
  return titles;
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  // Every byte but the continuation bytes 10xxxxxx begins a character.
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (Column& column : columns_) column.title = printable(column.title);
}

void Table::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

bool Table::has_heading() const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [](const Column& column) { return !column.title.empty(); });
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  return widths;
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += kGap;
    const std::string blanks(widths[i] - display_width(cells[i]), ' ');
    out += columns_[i].align == Align::Right ? blanks + cells[i] : cells[i] + blanks;
  }
  return without_trailing_blanks(std::move(out));
}

std::string Table::text(bool colour) const {
  const auto width = widths();
  std::string out;
  if (has_heading()) out += bold(line(titles_of(columns_), width), colour) + '\n';
  for (const auto& row : rows_) out += line(row, width) + '\n';
  return out;
}

std::string bold(std::string_view text, bool on) {
  return on ? "\x1b[1m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  const std::string margin(indent, ' ');
  std::string out;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    // A number stays with its "%".
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > width) {
      out += margin + line + '\n';
      line.clear();
    }
    if (!line.empty() && !word.empty()) line += ' ';
    line += word;
    begin = end + 1;
  }
  return line.empty() ? out : out + margin + line + '\n';
}

}  // namespace pipeloom::study
