#pragma once

// Numbers and texts as bytes, of which frames between ranks are made: little-endian, no padding, lengths first.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/net/socket.hpp"

namespace pipeloom::executor::net {

using Bytes = std::vector<std::byte>;

/// Bytes with an invalid meaning: too short, too long, a length that cannot be. what() says which.
class MalformedBytes : public NetworkError {
 public:
  using NetworkError::NetworkError;
};

class Writer {
 public:
  Writer& u8(std::uint8_t value);
  Writer& u32(std::uint32_t value);
  Writer& u64(std::uint64_t value);
  Writer& i64(std::int64_t value);
  Writer& f64(double value);
  Writer& text(std::string_view text);                  ///< u32 length, bytes
  Writer& floats(std::span<const float> values);        ///< u64 count, 4 bytes each
  Writer& times(std::span<const std::int64_t> values);  ///< u64 count, 8 bytes each
  [[nodiscard]] Bytes take() && { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Reads in the order in which it was written. Every function throws MalformedBytes where the bytes end too early; none allocates more
/// than the bytes that are there.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  [[nodiscard]] std::uint8_t u8();
  [[nodiscard]] std::uint32_t u32();
  [[nodiscard]] std::uint64_t u64();
  [[nodiscard]] std::int64_t i64();
  [[nodiscard]] double f64();
  [[nodiscard]] std::string text();
  [[nodiscard]] std::vector<float> floats();
  [[nodiscard]] std::vector<std::int64_t> times();
  /// Throws MalformedBytes unless all was read.
  void end() const;

 private:
  /// `count` elements of `size` bytes each.
  [[nodiscard]] std::span<const std::byte> next(std::uint64_t count, std::size_t size);
  std::span<const std::byte> rest_;
};

/// A frame on the wire: u32 length of the rest, u8 kind, body.
struct Frame {
  std::uint8_t kind = 0;
  Bytes body;
};
/// Larger frames are refused: a peer that speaks another protocol would otherwise ask for gigabytes.
inline constexpr std::uint32_t kMostFrameBytes = (1U << 30) + (1U << 20);

/// The bytes before the body: length and kind.
using FrameHead = std::array<std::byte, 5>;
/// Throws NetworkError for a body that no frame can hold.
[[nodiscard]] FrameHead head_of(const Frame& frame);

/// Head and body. Throws as head_of().
[[nodiscard]] Bytes encode(const Frame& frame);

/// Cuts a stream into frames, whatever pieces it arrives in. It holds the bytes of one unfinished frame, and at most 64 MiB more.
class FrameCutter {
 public:
  /// The frames that `bytes` complete, in order. Throws MalformedBytes for a length of 0 or above `most`, the limit for frames of the other
  /// end, as soon as the length is there; the frames before it in `bytes` are lost then, and the cutter is of no more use.
  [[nodiscard]] std::vector<Frame> feed(std::span<const std::byte> bytes,
                                        std::uint32_t most = kMostFrameBytes);

 private:
  /// Takes the head of the frame from `bytes`; returns the bytes after it.
  [[nodiscard]] std::span<const std::byte> fill_head(std::span<const std::byte> bytes, std::uint32_t most);

  FrameHead head_{};
  std::size_t have_ = 0;  // bytes of it
  Frame frame_;
  std::uint32_t missing_ = 0;  // bytes of its body
};

/// One frame to or from a socket that the caller alone reads. Throws NetworkError as receive_all(), MalformedBytes for a frame above `most` bytes.
void send_frame(const Socket& socket, const Frame& frame, Deadline deadline);
[[nodiscard]] Frame receive_frame(const Socket& socket, Deadline deadline, std::uint32_t most);

}  // namespace pipeloom::executor::net
