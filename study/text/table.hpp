#pragma once

// Tables of text with aligned columns.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom::study {

enum class Align : unsigned char { Left, Right };

struct Column {
  std::string title;
  Align align = Align::Left;
};

/// Rows of cells below column titles; a table whose titles are all empty has no heading.
///
///   rank  busy  idle
///      0  24.0   9.0
///      1  24.0   9.0
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  /// Cells become printable() (sim/base/text_tools.hpp): names of files and cases steer no terminal and no CI server.
  /// REQUIRES: as many cells as columns.
  void add_row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
  [[nodiscard]] const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  /// Lines ending in '\n', columns two blanks apart, no blanks at the ends of lines. The heading is bold if `colour`.
  [[nodiscard]] std::string text(bool colour = false) const;

 private:
  [[nodiscard]] bool has_heading() const;
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// `text` in bold for a terminal if `on`.
[[nodiscard]] std::string bold(std::string_view text, bool on);

/// Columns that a UTF-8 text takes on a terminal, counting each character as one.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// `text` broken between words into lines of at most `width` columns, each after `indent` blanks and ending in '\n'. A
/// longer word has a line of its own, and "%" stays with the number before it.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width, std::size_t indent = 0);

}  // namespace pipeloom::study
