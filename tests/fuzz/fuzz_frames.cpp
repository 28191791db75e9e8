// Any bytes as what a connection says: cut into frames in one piece and in many, each read as a letter of a meeting and as numbers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "executor/net/meeting_letters.hpp"
#include "executor/net/wire.hpp"

namespace {

using namespace pipeloom::executor::net;

struct Cut {
  std::vector<Frame> frames;
  bool is_malformed = false;
};

/// `bytes` in pieces of `size`.
Cut cut(std::span<const std::byte> bytes, std::size_t size) {
  FrameCutter cutter;
  Cut result;
  try {
    while (!bytes.empty()) {
      const auto piece = bytes.first(std::min(size, bytes.size()));
      for (Frame& frame : cutter.feed(piece, kMostLetterBytes)) result.frames.push_back(std::move(frame));
      bytes = bytes.subspan(piece.size());
    }
  } catch (const MalformedBytes&) {
    result.is_malformed = true;
  }
  return result;
}

/// Frames are what the bytes say, in their order.
void check_prefix(const std::vector<Frame>& frames, std::span<const std::byte> bytes) {
  for (const Frame& frame : frames) {
    const Bytes again = encode(frame);
    if (again.size() > bytes.size() || !std::equal(again.begin(), again.end(), bytes.begin()))
      __builtin_trap();
    bytes = bytes.subspan(again.size());
  }
}

template <typename Function>
void allow_malformed(const Function& fn) {
  try {
    (void)fn();
  } catch (const MalformedBytes&) {
    return;
  }
}

/// The body as one of everything, in an order that follows from the kind.
void read_numbers(const Frame& frame) {
  Reader in(frame.body);
  for (unsigned next = frame.kind;; next = next * 5 + 1) {
    switch (next % 8) {
      case 0:
        (void)in.u8();
        break;
      case 1:
        (void)in.u32();
        break;
      case 2:
        (void)in.u64();
        break;
      case 3:
        (void)in.i64();
        break;
      case 4:
        (void)in.f64();
        break;
      case 5:
        (void)in.text();
        break;
      case 6:
        (void)in.floats();
        break;
      default:
        (void)in.times();
        break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::size_t piece = std::to_integer<std::size_t>(bytes.front()) + 1;
  const auto stream = bytes.subspan(1);
  const Cut whole = cut(stream, size);
  const Cut pieces = cut(stream, piece);
  if (whole.is_malformed != pieces.is_malformed) __builtin_trap();
  // A piece that turns out malformed takes its frames with it.
  if (!whole.is_malformed && whole.frames.size() != pieces.frames.size()) __builtin_trap();
  check_prefix(whole.frames, stream);
  check_prefix(pieces.frames, stream);
  for (const Frame& frame : pieces.frames) {
    allow_malformed([&] { return difference({}, hello_in(frame)); });
    allow_malformed([&] { return table_in(frame); });
    allow_malformed([&] { return call_in(frame); });
    allow_malformed([&] { return text_in(frame); });
    allow_malformed([&] {
      read_numbers(frame);
      return 0;
    });
  }
  return 0;
}
