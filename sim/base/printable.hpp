#pragma once

// What somebody else wrote, made fit to be shown: names of files, values of options, whatever an input holds. Every message shows such
// text by shortened(), which does this and cuts; tests/lint/message_text.py looks for those that do not.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/printable.hpp"

namespace pipeloom {

/// A character at the beginning of a text.
struct Utf8Character {
  std::size_t length =
      0;  ///< bytes, 0 if the text begins with no well-formed character (RFC 3629) or is empty
  std::uint32_t code = 0;
};
[[nodiscard]] Utf8Character utf8_character(std::string_view text);

/// Whether a character shows itself and nothing else: no control character, line or paragraph separator, mark that turns the direction of
/// writing, or number that is no character.
[[nodiscard]] bool is_printable(std::uint32_t code);

/// `text` as part of one line for a terminal or a log, never longer than before: '?' for each byte that is not UTF-8, for each character
/// that is_printable() denies, and for the first of what CI servers take for a command: "::" at the beginning, "##[" and "##vso[" anywhere.
[[nodiscard]] std::string printable(std::string_view text);
/// The same for a text of several lines, whose ends it keeps.
[[nodiscard]] std::string printable_lines(std::string_view text);

/// At most `limit` bytes of what a user wrote, fit for one line of a message (printable()): "..." in the
/// middle where something was cut, between UTF-8 characters only. Messages give 80 at most; places of files may have 200.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

}  // namespace pipeloom
