#pragma once

// The letters of result files: JSON values on one line, CSV cells, and lines of files that are larger than memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/text_cursor.hpp"

namespace pipeloom::sweep {

/// Walks over a text that is expected to look one way only. A text that does not fit gives false or nothing and may leave the place anywhere.
class LineScanner {
 public:
  explicit LineScanner(std::string_view text) : cursor_(text) {}
  [[nodiscard]] bool take(std::string_view literal) { return cursor_.take(literal); }
  /// Decimal digits without leading zeros, below 2^64.
  [[nodiscard]] std::optional<std::uint64_t> whole_number();
  /// The raw text of any JSON value, blanks inside allowed, nested at most 64 deep, strings in valid UTF-8.
  [[nodiscard]] std::optional<std::string_view> value();
  /// The raw text of a JSON number, or of a string with its quotes.
  [[nodiscard]] std::optional<std::string_view> number();
  [[nodiscard]] std::optional<std::string_view> quoted();
  [[nodiscard]] bool at_end() const { return cursor_.at_end(); }
  /// Bytes passed so far: the column of the first byte that does not fit is one more.
  [[nodiscard]] std::size_t position() const { return cursor_.at(); }

 private:
  bool skip_value(int depth);
  bool skip_members(char close, bool with_keys, int depth);
  bool skip_string();
  bool skip_escape();
  bool skip_number();
  void skip_blanks() { cursor_.skip_blanks(" "); }

  TextCursor cursor_;
};

/// The content of a JSON string. REQUIRES: LineScanner::quoted() gave it.
[[nodiscard]] std::string decoded(std::string_view quoted);
/// Length of the valid UTF-8 at the beginning of `text`.
[[nodiscard]] std::size_t valid_utf8(std::string_view text);

/// Appends a CSV cell, quoted where it has to be.
void append_cell(std::string& out, std::string_view text);
/// The cells of a line. Nothing for quotes that do not match.
[[nodiscard]] std::optional<std::vector<std::string>> cells_of(std::string_view line);
/// True if a spreadsheet would calculate a cell of this text as a formula: it begins with = + - or @.
[[nodiscard]] bool begins_a_formula(std::string_view text);
/// A JSON value as the content of a cell: without its quotes if it is a text that reads as nothing else, for programs and spreadsheets.
[[nodiscard]] std::string cell_of_json(std::string_view json);
/// The JSON value that cell_of_json() turned into this.
[[nodiscard]] std::string json_of_cell(std::string_view cell);

/// Lines of an open file, one after another.
class LineSource {
 public:
  /// `name` is the file's in messages. Does not own the descriptor, which is read from its current offset.
  LineSource(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  /// False at the end of the file. `line` comes without its end. Throws InputError if the file cannot be read.
  bool next(std::string& line);
  /// False if the line that next() gave last has no end: it is the file's last, or more than kMaxLine bytes long and only begun.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Bytes up to and with the end of the line that next() gave last; lines so far.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] int line_number() const { return line_number_; }

  static constexpr std::size_t kMaxLine = std::size_t{16} << 20;

 private:
  bool fill();

  int descriptor_;
  std::string name_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the bytes that next() has not given yet
  std::uint64_t offset_ = 0;
  int line_number_ = 0;
  bool ended_ = true;
};

}  // namespace pipeloom::sweep
