#include "executor/net/wire.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

namespace pipeloom::executor::net {
namespace {

// Numbers go out as they lie in memory.
static_assert(std::endian::native == std::endian::little, "frames are little-endian");

template <typename T>
void append(Bytes& bytes, std::span<const T> values) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto raw = std::as_bytes(values);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

template <typename T>
void append(Bytes& bytes, T value) {
  append(bytes, std::span<const T>(&value, 1));
}

template <typename T>
T number(std::span<const std::byte> bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename T>
std::vector<T> numbers(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

MalformedBytes too_short(std::uint64_t want, std::size_t have) {
  return MalformedBytes("a message ends too early: " + std::to_string(want) + " bytes expected, " +
                        std::to_string(have) + " are there");
}

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

/// The length of a frame, without its own bytes. Throws MalformedBytes unless it is 1 to `most`.
std::uint32_t checked_length(std::span<const std::byte> bytes, std::uint32_t most) {
  const auto length = number<std::uint32_t>(bytes);
  if (length == 0 || length > most)
    throw MalformedBytes("a frame of " + std::to_string(length) + " bytes; allowed are 1 to " +
                         std::to_string(most) + ": the other end speaks another protocol");
  return length;
}

}  // namespace

Writer& Writer::u8(std::uint8_t value) {
  append(bytes_, value);
  return *this;
}

Writer& Writer::u32(std::uint32_t value) {
  append(bytes_, value);
  return *this;
}

Writer& Writer::u64(std::uint64_t value) {
  append(bytes_, value);
  return *this;
}

Writer& Writer::i64(std::int64_t value) {
  append(bytes_, value);
  return *this;
}

Writer& Writer::f64(double value) {
  append(bytes_, value);
  return *this;
}

Writer& Writer::text(std::string_view text) {
  u32(static_cast<std::uint32_t>(text.size()));
  append(bytes_, std::span<const char>(text));
  return *this;
}

Writer& Writer::floats(std::span<const float> values) {
  u64(values.size());
  append(bytes_, values);
  return *this;
}

Writer& Writer::times(std::span<const std::int64_t> values) {
  u64(values.size());
  append(bytes_, values);
  return *this;
}

std::span<const std::byte> Reader::next(std::uint64_t count, std::size_t size) {
  // Divided, not multiplied: the count may be anything.
  if (count > rest_.size() / size) {
    const std::uint64_t want = count > UINT64_MAX / size ? UINT64_MAX : count * size;
    throw too_short(want, rest_.size());
  }
  const auto bytes = rest_.first(static_cast<std::size_t>(count) * size);
  rest_ = rest_.subspan(bytes.size());
  return bytes;
}

std::uint8_t Reader::u8() {
  return number<std::uint8_t>(next(1, 1));
}

std::uint32_t Reader::u32() {
  return number<std::uint32_t>(next(1, sizeof(std::uint32_t)));
}

std::uint64_t Reader::u64() {
  return number<std::uint64_t>(next(1, sizeof(std::uint64_t)));
}

std::int64_t Reader::i64() {
  return number<std::int64_t>(next(1, sizeof(std::int64_t)));
}

double Reader::f64() {
  return number<double>(next(1, sizeof(double)));
}

std::string Reader::text() {
  const auto bytes = next(u32(), 1);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<float> Reader::floats() {
  return numbers<float>(next(u64(), sizeof(float)));
}

std::vector<std::int64_t> Reader::times() {
  return numbers<std::int64_t>(next(u64(), sizeof(std::int64_t)));
}

void Reader::end() const {
  if (!rest_.empty())
    throw MalformedBytes("a message is too long: " + std::to_string(rest_.size()) + " bytes follow its end");
}

FrameHead head_of(const Frame& frame) {
  if (frame.body.size() >= kMostFrameBytes)
    throw NetworkError("a message of " + std::to_string(frame.body.size()) +
                       " bytes; allowed are less than " + std::to_string(kMostFrameBytes) +
                       "; send smaller tensors");
  const auto length = static_cast<std::uint32_t>(frame.body.size() + 1);
  FrameHead head{};
  std::memcpy(head.data(), &length, sizeof length);
  head.back() = static_cast<std::byte>(frame.kind);
  return head;
}

Bytes encode(const Frame& frame) {
  const FrameHead head = head_of(frame);
  Bytes bytes(head.size() + frame.body.size());
  std::copy(frame.body.begin(), frame.body.end(), std::copy(head.begin(), head.end(), bytes.begin()));
  return bytes;
}

std::span<const std::byte> FrameCutter::fill_head(std::span<const std::byte> bytes, std::uint32_t most) {
  const std::size_t count = std::min(bytes.size(), head_.size() - have_);
  std::copy_n(bytes.begin(), count, head_.begin() + static_cast<std::ptrdiff_t>(have_));
  const bool had_length = have_ >= kLengthBytes;
  have_ += count;
  // Checked as soon as it is there: a peer that sent a wrong length may send nothing more.
  if (!had_length && have_ >= kLengthBytes) {
    // A body that is announced is not there yet: large ones grow as they come.
    constexpr std::uint32_t kMostReserved = 64U << 20;
    missing_ = checked_length(head_, most) - 1;
    frame_.body.reserve(std::min(missing_, kMostReserved));
  }
  return bytes.subspan(count);
}

std::vector<Frame> FrameCutter::feed(std::span<const std::byte> bytes, std::uint32_t most) {
  std::vector<Frame> frames;
  while (!bytes.empty()) {
    if (have_ < head_.size()) bytes = fill_head(bytes, most);
    if (have_ < head_.size()) break;
    const std::size_t count = std::min<std::size_t>(bytes.size(), missing_);
    frame_.body.insert(frame_.body.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    missing_ -= static_cast<std::uint32_t>(count);
    bytes = bytes.subspan(count);
    if (missing_ > 0) break;
    frame_.kind = static_cast<std::uint8_t>(head_.back());
    frames.push_back(std::exchange(frame_, {}));
    have_ = 0;
  }
  return frames;
}

void send_frame(const Socket& socket, const Frame& frame, Deadline deadline) {
  send_all(socket, encode(frame), deadline);
}

Frame receive_frame(const Socket& socket, Deadline deadline, std::uint32_t most) {
  std::array<std::byte, kLengthBytes> length{};
  receive_all(socket, length, deadline);
  Bytes rest(checked_length(length, most));
  receive_all(socket, rest, deadline);
  const auto kind = static_cast<std::uint8_t>(rest.front());
  rest.erase(rest.begin());
  return {kind, std::move(rest)};
}

}  // namespace pipeloom::executor::net
