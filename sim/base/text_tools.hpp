#pragma once

// Small operations on text that have no subject of their own. Letters are ASCII's: what they compare are keys, names and words of ours.

#include <cstddef>
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

/// The texts one behind the other with `separator` between them; "" for none.
[[nodiscard]] std::string join(const std::vector<std::string>& texts, std::string_view separator);

/// The entry of `valid` that looks most like `name`, or "" when nothing is near (case and `-`/`_` ignored,
/// at most a third of the letters changed).
[[nodiscard]] std::string nearest_name(std::string_view name, const std::vector<std::string>& valid);
/// The `count` entries of `valid` that look most like `name`, in the order of `valid`; all if there are no more.
[[nodiscard]] std::vector<std::string> nearest_names(std::string_view name,
                                                     const std::vector<std::string>& valid,
                                                     std::size_t count);

}  // namespace pipeloom
