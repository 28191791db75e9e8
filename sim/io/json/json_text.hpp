#pragma once

// Text that goes into JSON files.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"

namespace pipeloom::io {

using pipeloom::shortened;

/// How numbers and texts are spelt. Report: 1 and 1.5, a tab is \u0009; as the program prints them. Window: 1.0 where a number may have
/// decimals, a tab is \t; the window's own files.
enum class JsonSpelling : std::uint8_t { Report, Window };

/// Appends `text` as a JSON string with quotes; a byte that is not UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text,
                        JsonSpelling spelling = JsonSpelling::Report);
/// The same as a text of its own.
[[nodiscard]] std::string json_string(std::string_view text);

/// True if a JSON string holds `text` unchanged: nothing to escape, and ASCII.
[[nodiscard]] inline bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

// Numbers with more digits than are kept: one wording for every reader.

/// "run.json:3:12: costs.forward is 0.12345678901, more digits than are kept; it was rounded". `found` is printable already.
[[nodiscard]] std::string rounded_warning(const Where& where, std::string_view key, std::string_view found);

}  // namespace pipeloom::io
