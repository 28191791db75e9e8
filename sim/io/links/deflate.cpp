#include "sim/io/links/deflate.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

#include <pipeloom/error.hpp>

namespace pipeloom::io {
namespace {

/// The window of 32 KiB; negative numbers are zlib's way to say that there is no header.
constexpr int kRawWindow = -15;
constexpr int kMostMemory = 9;
constexpr std::size_t kUnpackedBlock = std::size_t{1} << 14;

// zlib reads these bytes and does not write them.
Bytef* packed_bytes(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

/// A stream of zlib's, ended at the end.
struct Unpacker {
  Unpacker() {
    if (::inflateInit2(&stream, kRawWindow) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacker() { ::inflateEnd(&stream); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  z_stream stream{};
};

}  // namespace

std::string deflated(std::string_view text) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kRawWindow, kMostMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw std::bad_alloc();
  std::string out(::deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = packed_bytes(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (ended != Z_STREAM_END) throw InternalError("deflate did not end within its own bound");
  return out;
}

Unpacked inflate_into(std::string& text, std::string_view bytes, std::size_t limit) {
  Unpacker unpacker;
  z_stream& stream = unpacker.stream;
  stream.next_in = packed_bytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::array<char, kUnpackedBlock> block;
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return Unpacked::Damaged;
    const std::size_t got = block.size() - stream.avail_out;
    if (got > limit - std::min(limit, text.size())) return Unpacked::TooLong;
    text.append(block.data(), got);
    if (code == Z_STREAM_END) return stream.avail_in == 0 ? Unpacked::Whole : Unpacked::Damaged;
    if (got == 0) return Unpacked::Cut;
  }
}

}  // namespace pipeloom::io
