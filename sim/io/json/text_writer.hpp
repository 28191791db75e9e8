#pragma once

// Fast text on top of a stream: the base of all streaming writers.

#include <array>
#include <charconv>
#include <concepts>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/units.hpp>
#include "sim/actions.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/text.hpp"

namespace pipeloom::io {

/// Collects text in a buffer of 64 KiB and passes it to the stream when it is full. Numbers go through std::to_chars: no
/// locale, no allocation. Call flush() at the end: the destructor cannot, because a full disk throws.
class TextWriter {
 public:
  explicit TextWriter(std::ostream& out) : out_(out), buffer_(kCapacity) {}
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  TextWriter& operator<<(char c) {
    *room(1) = c;
    ++used_;
    return *this;
  }
  TextWriter& operator<<(std::string_view text) {
    if (text.size() > kCapacity / 2) {
      flush();
      out_.write(text.data(), static_cast<std::streamsize>(text.size()));
      return *this;
    }
    std::memcpy(room(text.size()), text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  TextWriter& operator<<(const char* text) { return *this << std::string_view(text); }
  template <std::integral Integer>
  requires(!std::same_as<Integer, char> && !std::same_as<Integer, bool>) TextWriter& operator<<(
      Integer value) {
    return commit(std::to_chars(room(kNumber), end(), value).ptr);
  }
  /// The shortest text that reads back as the same double. REQUIRES: finite.
  TextWriter& operator<<(double value) { return commit(std::to_chars(room(kNumber), end(), value).ptr); }
  TextWriter& operator<<(Op op) { return commit(write_op(room(kMaxOpText), op)); }
  TextWriter& operator<<(Action action) { return commit(write_action(room(kMaxActionText), action)); }

  TextWriter& ticks(Ticks value, TimeUnit unit) {
    return commit(write_ticks(room(kMaxTicksText), value, unit));
  }
  /// A JSON string with quotes.
  TextWriter& quoted(std::string_view text, JsonSpelling spelling = JsonSpelling::Report) {
    if (is_plain(text)) return *this << '"' << text << '"';
    std::string escaped;
    append_json_string(escaped, text, spelling);
    return *this << std::string_view(escaped);
  }

  void flush() {
    out_.write(buffer_.data(), static_cast<std::streamsize>(used_));
    used_ = 0;
  }

 private:
  static constexpr std::size_t kCapacity = std::size_t{1} << 16;
  static constexpr std::size_t kNumber = 40;

  char* room(std::size_t bytes) {
    if (used_ + bytes > buffer_.size()) flush();
    return buffer_.data() + used_;
  }
  char* end() { return buffer_.data() + buffer_.size(); }
  TextWriter& commit(const char* written_to) {
    used_ = static_cast<std::size_t>(written_to - buffer_.data());
    return *this;
  }

  std::ostream& out_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
};

}  // namespace pipeloom::io
