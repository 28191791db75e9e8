#pragma once

// The words of one line of a script, and their places.

#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>

namespace pipeloom::gui {

struct ScriptWord {
  std::string text;  ///< without quotes
  int column = 0;    ///< from 1
  bool quoted = false;
};

/// Reads a line word by word. Every function throws InputError with the place of the word that it cannot use.
class ScriptWords {
 public:
  /// Splits at blanks; a word in double quotes is read as a JSON text, one that starts with # ends the line.
  /// REQUIRES: `line` outlives this. `where` gives file and line.
  ScriptWords(std::string_view line, Where where);

  [[nodiscard]] bool empty() const { return next_ == words_.size(); }
  /// The place of the next word, or of the line's end.
  [[nodiscard]] Where here() const;
  /// The next word without taking it; null at the end.
  [[nodiscard]] const ScriptWord* peek() const { return empty() ? nullptr : &words_[next_]; }
  /// `what` names the word that is expected, for the error if it is missing.
  const ScriptWord& take(std::string_view what);
  /// The rest of the line, as it is written; of a single quoted word its content.
  std::string rest();
  /// All that is left, quotes kept: JSON.
  std::string raw_rest();
  void expect_end() const;
  double number(std::string_view what);
  int whole(std::string_view what, int least, int most);

 private:
  void split();
  std::size_t split_bare(std::size_t at);
  std::size_t split_quoted(std::size_t at);
  [[nodiscard]] std::string raw_from(std::size_t word) const;

  Where where_;
  std::string_view line_;
  std::vector<ScriptWord> words_;
  std::size_t next_ = 0;
};

/// Throws InputError.
[[noreturn]] void refuse(const Where& where, const std::string& message);

}  // namespace pipeloom::gui
