#include "sim/io/json/json_text.hpp"

#include <fmt/format.h>

#include "sim/base/printable.hpp"

namespace pipeloom::io {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
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

}  // namespace pipeloom::io
