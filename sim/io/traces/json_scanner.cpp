#include "sim/io/traces/json_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <pipeloom/error.hpp>
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"

namespace pipeloom::io {
namespace {

constexpr std::size_t kScanBlock = std::size_t{1} << 20;

/// Bytes at which the structure of a value may change.
constexpr std::array<bool, 256> kStructural = [] {
  std::array<bool, 256> table{};
  for (const char c : {'"', '{', '}', '[', ']'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

/// Bytes that end a number or word.
constexpr std::array<bool, 256> kEndsScalar = [] {
  std::array<bool, 256> table{};
  for (const char c : {' ', '\t', '\r', '\n', ',', ':', '"', '{', '}', '[', ']'})
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

}  // namespace

JsonScanner::JsonScanner(ByteSource& source) : source_(&source), buffer_(kScanBlock) {
  if (peek() == '\xEF') at_ += std::min<std::size_t>(3, end_ - at_);  // a byte order mark
}

bool JsonScanner::fill() {
  const std::size_t from = std::min(kept_, at_);
  if (from > 0) {
    std::memmove(buffer_.data(), buffer_.data() + from, end_ - from);
    passed_ += from;
    at_ -= from;
    end_ -= from;
    if (kept_ != kNothing) kept_ -= from;
  }
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMaxValueBytes)
      throw InputError(
          Where{source_->path()},
          fmt::format("byte {}: a value of more than {}; no profiler writes such, so the file is "
                      "damaged or of another kind",
                      passed_ + 1, bytes_text(static_cast<Bytes>(kMaxValueBytes))));
    buffer_.resize(buffer_.size() * 2);
  }
  const std::size_t count = source_->read(std::span(buffer_).subspan(end_));
  end_ += count;
  return count > 0;
}

bool JsonScanner::has_byte() {
  if (at_ < end_ || fill()) return true;
  is_truncated_ = true;
  return false;
}

char JsonScanner::peek() {
  for (;;) {
    while (at_ < end_ &&
           (buffer_[at_] == ' ' || buffer_[at_] == '\n' || buffer_[at_] == '\r' || buffer_[at_] == '\t'))
      ++at_;
    if (at_ < end_) return buffer_[at_];
    if (!fill()) return '\0';
  }
}

void JsonScanner::fail(std::string_view expected) const {
  const std::string found = at_ < end_ ? std::string(1, buffer_[at_]) : std::string("the end");
  throw InputError(Where{source_->path()},
                   fmt::format("byte {}: '{}' where {} is expected; the file is damaged, or no JSON",
                               passed_ + at_ + 1, shortened(found, 8), expected));
}

bool JsonScanner::enter(char bracket) {
  if (peek() != bracket) return false;
  ++at_;
  is_fresh_ = true;
  return true;
}

/// Passes the comma between two values. False where the object or array ends, or the text.
bool JsonScanner::separate(char close) {
  const bool is_first = std::exchange(is_fresh_, false);
  char next = peek();
  if (next == close) {
    ++at_;
    return false;
  }
  if (next != '\0' && !is_first) {
    if (next != ',') fail("',' or the end of the list");
    ++at_;
    next = peek();
  }
  if (next != '\0' || at_ < end_) return true;
  is_truncated_ = true;
  return false;
}

bool JsonScanner::next_key(std::string& key) {
  if (!separate('}')) return false;
  if (peek() != '"') fail("a key in quotes");
  kept_ = at_++;
  pass_string();
  key.assign(buffer_.data() + kept_ + 1, at_ - kept_ - (is_truncated_ ? 1 : 2));
  kept_ = kNothing;
  if (is_truncated_) return false;
  if (peek() == ':') {
    ++at_;
    return true;
  }
  if (at_ < end_) fail("':' behind a key");
  is_truncated_ = true;
  return false;
}

bool JsonScanner::next_element() {
  return separate(']');
}

void JsonScanner::pass_string() {
  for (;;) {
    while (at_ < end_ && buffer_[at_] != '"' && buffer_[at_] != '\\') ++at_;
    if (!has_byte()) return;
    // Where a block has ended inside the string, its next byte may be any.
    const char c = buffer_[at_];
    if (c != '"' && c != '\\') continue;
    ++at_;
    if (c == '"') return;
    if (!has_byte()) return;
    ++at_;  // what the backslash escapes
  }
}

void JsonScanner::pass_scalar() {
  do
    while (at_ < end_ && !kEndsScalar[static_cast<unsigned char>(buffer_[at_])]) ++at_;
  while (at_ == end_ && has_byte());
}

void JsonScanner::pass_value() {
  for (int depth = 0;;) {
    while (at_ < end_ && !kStructural[static_cast<unsigned char>(buffer_[at_])]) ++at_;
    if (!has_byte()) return;
    const char c = buffer_[at_];
    if (!kStructural[static_cast<unsigned char>(c)]) continue;
    ++at_;
    if (c == '"') {
      pass_string();
      if (is_truncated_) return;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxValueDepth) fail("nothing deeper");
    } else if (--depth == 0) {
      return;
    }
  }
}

void JsonScanner::skip_value() {
  const char first = peek();
  if (first == '{' || first == '[') return pass_value();
  if (first == '"') {
    ++at_;
    return pass_string();
  }
  if (at_ < end_ && kEndsScalar[static_cast<unsigned char>(first)]) fail("a value");
  pass_scalar();
}

std::string_view JsonScanner::take_value() {
  (void)peek();
  kept_ = at_;
  skip_value();
  const std::size_t begin = std::exchange(kept_, kNothing);
  if (is_truncated_) return {};
  return {buffer_.data() + begin, at_ - begin};
}

}  // namespace pipeloom::io
