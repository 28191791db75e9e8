#pragma once

// Raw deflate (RFC 1951): the packed bytes alone, without a header or a sum.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipeloom::io {

/// `text`, packed as small as zlib can.
[[nodiscard]] std::string deflated(std::string_view text);

/// How unpacking ended.
enum class Unpacked : std::uint8_t { Whole, Cut, Damaged, TooLong };

/// Unpacks into `text`. Never holds more than `limit` bytes of it and one block, however much the bytes would give. Bytes after the end of the
/// packed ones are damage.
[[nodiscard]] Unpacked inflate_into(std::string& text, std::string_view bytes, std::size_t limit);

}  // namespace pipeloom::io
