#include "sim/io/json/json_text.hpp"

#include <fmt/format.h>

#include "sim/base/text_tools.hpp"

namespace pipeloom::io {

namespace {

/// The letter after the backslash, or 0 for a character that has none.
char escape_letter(char c, JsonSpelling spelling) {
  if (c == '"' || c == '\\') return c;
  if (c == '\n') return 'n';
  if (spelling == JsonSpelling::Report) return 0;
  switch (c) {
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text, JsonSpelling spelling) {
  out += '"';
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (const char letter = escape_letter(c, spelling)) {
      out += '\\';
      out += letter;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (const std::size_t length = utf8_character(text.substr(at)).length; length > 0) {
      out += text.substr(at, length);
      at += length - 1;
    } else {
      out += "\xef\xbf\xbd";
    }
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string rounded_warning(const Where& where, std::string_view key, std::string_view found) {
  const std::string place = where.text();
  return fmt::format("{}{}{} is {}, more digits than are kept; it was rounded", place,
                     place.empty() ? "" : ": ", key, found);
}

}  // namespace pipeloom::io
