#include "sim/io/json_text.hpp"

#include <fmt/format.h>

namespace pipeloom::io {

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string shortened(std::string_view text, std::size_t limit) {
  const bool cut = text.size() > limit;
  std::size_t length = cut ? limit : text.size();
  const auto continues = [&text](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
  };
  while (cut && length > 0 && continues(length)) --length;
  std::string out(text.substr(0, length));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return cut ? out + "..." : out;
}

}  // namespace pipeloom::io
