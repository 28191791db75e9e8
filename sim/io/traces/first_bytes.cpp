#include "sim/io/traces/byte_source.hpp"

namespace pipeloom::io {

bool is_packed(const std::string& path) {
  return ByteSource(path).is_packed();
}

std::string first_bytes(const std::string& path, std::size_t count) {
  ByteSource source(path);
  std::string text(count, '\0');
  std::size_t filled = 0;
  while (filled < count) {
    const std::size_t more = source.read(std::span(text).subspan(filled));
    if (more == 0) break;
    filled += more;
  }
  text.resize(filled);
  return text;
}

}  // namespace pipeloom::io
