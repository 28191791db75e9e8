// Numbers and texts as bytes, and frames cut from a stream.

#include "executor/net/wire.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "executor/net/pairs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net::wire_test {
namespace {

constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

Bytes a_bit_of_everything() {
  Writer out;
  out.u8(200).u32(4'000'000'000U).u64(1ULL << 63).i64(kSmallest).f64(-0.5).text("0F3 ").text("");
  out.floats(std::vector<float>{1.5F, -0.0F}).times(std::vector<std::int64_t>{-1, kSmallest}).floats({});
  return std::move(out).take();
}

struct Everything {
  std::uint8_t u8 = 0;
  std::uint32_t u32 = 0;
  std::uint64_t u64 = 0;
  std::int64_t i64 = 0;
  double f64 = 0;
  std::string text;
  std::string no_text;
  std::vector<float> floats;
  std::vector<std::int64_t> times;
  std::vector<float> no_floats;
};

Everything read_everything(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Everything all;
  all.u8 = in.u8();
  all.u32 = in.u32();
  all.u64 = in.u64();
  all.i64 = in.i64();
  all.f64 = in.f64();
  all.text = in.text();
  all.no_text = in.text();
  all.floats = in.floats();
  all.times = in.times();
  all.no_floats = in.floats();
  in.end();
  return all;
}

std::vector<Frame> some_frames() {
  std::vector<Frame> frames{{0, {}}, {255, bytes_of("x")}, {7, {}}, {3, bytes_of("a tensor")}};
  frames.push_back({9, Bytes(70'000, std::byte{42})});
  return frames;
}

Bytes stream_of(const std::vector<Frame>& frames) {
  Bytes stream;
  for (const Frame& frame : frames) {
    const Bytes bytes = encode(frame);
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  return stream;
}

void check_equal(const std::vector<Frame>& got, const std::vector<Frame>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].kind == want[i].kind);
    CHECK(got[i].body == want[i].body);
  }
}

}  // namespace

TEST_CASE("what was written is read") {
  const Everything all = read_everything(a_bit_of_everything());
  CHECK(all.u8 == 200);
  CHECK(all.u32 == 4'000'000'000U);
  CHECK(all.u64 == 1ULL << 63);
  CHECK(all.i64 == kSmallest);
  CHECK(all.f64 == -0.5);
  CHECK(all.text == "0F3 ");
  CHECK(all.no_text.empty());
  CHECK(all.floats == std::vector<float>{1.5F, -0.0F});
  CHECK(std::signbit(all.floats[1]));
  CHECK(all.times == std::vector<std::int64_t>{-1, kSmallest});
  CHECK(all.no_floats.empty());
}

TEST_CASE("bytes are little-endian without padding") {
  Writer out;
  out.u8(1).u32(0x05040302).text("ab");
  CHECK(std::move(out).take() == bytes_of(std::string("\x01\x02\x03\x04\x05\x02\0\0\0ab", 11)));
}

TEST_CASE("a message that is cut anywhere is malformed") {
  const Bytes whole = a_bit_of_everything();
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_THROWS_AS(read_everything(std::span(whole).first(size)), MalformedBytes);
}

TEST_CASE("a message that goes on after its end is malformed") {
  Bytes longer = a_bit_of_everything();
  longer.push_back(std::byte{0});
  CHECK(reason_of([&] { return read_everything(longer); }) ==
        "a message is too long: 1 bytes follow its end");
}

TEST_CASE("a length that cannot be is refused before anything is allocated") {
  Writer out;
  out.u64(std::numeric_limits<std::uint64_t>::max());
  const Bytes bytes = std::move(out).take();
  CHECK_THROWS_AS(Reader(bytes).floats(), MalformedBytes);
  CHECK_THROWS_AS(Reader(bytes).times(), MalformedBytes);
  CHECK_THROWS_AS(Reader(bytes).text(), MalformedBytes);
  // 2^61 times of 8 bytes are 2^64: a product would be 0.
  Writer wraps;
  wraps.u64(1ULL << 61);
  const Bytes wrapped = std::move(wraps).take();
  CHECK_THROWS_AS(Reader(wrapped).times(), MalformedBytes);
}

TEST_CASE("a frame is its length, its kind and its body") {
  CHECK(encode({7, bytes_of("abc")}) == bytes_of(std::string("\x04\0\0\0\x07"
                                                             "abc",
                                                             8)));
  CHECK(encode({7, {}}) == bytes_of(std::string("\x01\0\0\0\x07", 5)));
}

TEST_CASE("frames come out whole, byte by byte") {
  const std::vector<Frame> frames = some_frames();
  const Bytes stream = stream_of(frames);
  FrameCutter cutter;
  std::vector<Frame> got;
  for (const std::byte& byte : stream)
    for (Frame& frame : cutter.feed({&byte, 1})) got.push_back(std::move(frame));
  check_equal(got, frames);
}

TEST_CASE("frames come out whole, however the stream is cut") {
  const std::vector<Frame> frames = some_frames();
  const Bytes stream = stream_of(frames);
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    FrameCutter cutter;
    std::vector<Frame> got;
    std::span<const std::byte> rest = stream;
    std::uniform_int_distribution<std::size_t> size(0, round % 2 == 0 ? 7 : 40'000);
    while (!rest.empty()) {
      const auto piece = rest.first(std::min(size(random), rest.size()));
      for (Frame& frame : cutter.feed(piece)) got.push_back(std::move(frame));
      rest = rest.subspan(piece.size());
    }
    check_equal(got, frames);
  }
}

TEST_CASE("a frame of no length or of too much is refused with its length") {
  FrameCutter empty;
  CHECK_THROWS_AS(empty.feed(bytes_of(std::string("\0\0\0\0", 4))), MalformedBytes);
  FrameCutter large;
  CHECK(large.feed(bytes_of(std::string("\x08\0\0\0", 4)), 8).empty());
  FrameCutter larger;
  CHECK(reason_of([&] { (void)larger.feed(bytes_of(std::string("\x09\0\0\0", 4)), 8); }) ==
        "a frame of 9 bytes; allowed are 1 to 8: the other end speaks another protocol");
  FrameCutter text;
  CHECK_THROWS_AS(text.feed(bytes_of("HTTP/1.1 400 Bad Request\r\n")), MalformedBytes);
}

TEST_CASE("a frame goes through a socket") {
  const auto [here, there] = connected_pair();
  send_frame(here, {5, bytes_of("hello")}, soon());
  send_frame(here, {6, {}}, soon());
  const Frame first = receive_frame(there, soon(), 100);
  CHECK(first.kind == 5);
  CHECK(text_of(first.body) == "hello");
  CHECK(receive_frame(there, soon(), 100).kind == 6);
  send_frame(here, {5, bytes_of("hello")}, soon());
  CHECK_THROWS_AS(receive_frame(there, soon(), 5), MalformedBytes);
}

}  // namespace pipeloom::executor::net::wire_test
