#pragma once

// Small operations on text that have no subject of their own. Letters are ASCII's: what they compare are keys, names and words of ours.

#include <string>
#include <string_view>
#include <vector>

namespace pipeloom {

/// `text` with small letters for capitals; every other byte as it is.
[[nodiscard]] std::string lower(std::string_view text);
[[nodiscard]] char lower(char c);

/// `text` without the characters of `blanks` at its ends. The result points into `text`.
[[nodiscard]] std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r");

/// The parts between separators, empty ones included: n separators give n + 1 parts.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

/// The texts one behind the other with `separator` between them; "" for none.
[[nodiscard]] std::string join(const std::vector<std::string>& texts, std::string_view separator);

}  // namespace pipeloom
