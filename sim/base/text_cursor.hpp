#pragma once

// A place in a text that is read from left to right. Each grammar decides what it accepts at a place, and its error texts.

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace pipeloom {

class TextCursor {
 public:
  /// Does not own the text.
  explicit TextCursor(std::string_view text) : text_(text) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  /// Bytes passed so far: the column is one more.
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }
  /// The next character; '\0' at the end.
  [[nodiscard]] char peek() const { return at_end() ? '\0' : text_[at_]; }
  /// The text between `begin` and the place.
  [[nodiscard]] std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

  void skip(std::size_t count = 1) { at_ += count; }
  /// Passes `c`, or `literal`, if it is at the place, and returns true; else it stays.
  bool take(char c) { return !at_end() && text_[at_] == c && (++at_, true); }
  bool take(std::string_view literal) { return rest().starts_with(literal) && (at_ += literal.size(), true); }

  /// The characters from here on for which `is` holds.
  template <class Is>
  [[nodiscard]] std::string_view word(const Is& is) const {
    const std::string_view rest = this->rest();
    return rest.substr(
        0, static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is) - rest.begin()));
  }
  /// The same, and passes them.
  template <class Is>
  std::string_view take_word(const Is& is) {
    const std::string_view found = word(is);
    at_ += found.size();
    return found;
  }
  /// Passes all characters of `blanks`.
  void skip_blanks(std::string_view blanks) {
    while (!at_end() && blanks.find(text_[at_]) != std::string_view::npos) ++at_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace pipeloom
