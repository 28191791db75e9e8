#pragma once

// Small operations on text that have no subject of their own. Letters are ASCII's: they compare keys, names and words of ours.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipeloom {

/// Small letters for capitals; every other byte as it is.
[[nodiscard]] constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] std::string lower(std::string_view text);

/// `text` without the characters of `blanks` at its ends. The result points into `text`.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r");

/// The parts between separators, empty ones included: n separators give n + 1 parts.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

/// The texts one after the other with `separator` between them; "" for none.
[[nodiscard]] std::string join(const std::vector<std::string>& texts, std::string_view separator);

/// The entry of `valid` that looks most like `name`, or "" when nothing is near (case and `-`/`_` ignored,
/// at most a third of the letters changed).
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& valid);
/// The `count` entries of `valid` that look most like `name`, in the order of `valid`; all if there are no more.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view name,
                                                     const std::vector<std::string>& valid,
                                                     std::size_t count);

// Text from outside, made fit to be shown: names of files, values of options, whatever an input holds. Every message shows such
// text by shortened(), which does this and cuts; tests/lint/message_text.py looks for those that do not.

/// A character at the beginning of a text.
struct Utf8Character {
  std::size_t length =
      0;  ///< bytes, 0 if the text begins with no well-formed character (RFC 3629) or is empty
  std::uint32_t code = 0;
};
[[nodiscard]] Utf8Character utf8_character(std::string_view text);

/// True if a character shows itself and nothing else: no control character, line or paragraph separator, mark that turns the direction of
/// writing, or number that is no character.
[[nodiscard]] bool is_printable(std::uint32_t code);

/// `text` as part of one line for a terminal or a log, never longer than before: '?' for each byte that is not UTF-8, for each character
/// that is_printable() denies, and for the first character of a text that CI servers take for a command: "::" at the beginning, "##[" and
/// "##vso[" anywhere.
[[nodiscard]] std::string printable(std::string_view text);
/// The same for a text of several lines, whose ends it keeps.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// At most `limit` bytes of what a user wrote, fit for one line of a message (printable()): "..." in the
/// middle where something was cut, between UTF-8 characters only. Messages give 80 at most; places of files may have 200.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

}  // namespace pipeloom
