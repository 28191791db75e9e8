#include "study/text/result_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <pipeloom/error.hpp>
#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::sweep {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 16;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20;
}

bool is_value(std::string_view text) {
  LineScanner scanner(text);
  return scanner.value() && scanner.at_end();
}

}  // namespace

std::optional<std::uint64_t> LineScanner::whole_number() {
  std::uint64_t value = 0;
  const std::string_view rest = cursor_.rest();
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc{} || (rest.front() == '0' && end != rest.data() + 1)) return std::nullopt;
  cursor_.skip(static_cast<std::size_t>(end - rest.data()));
  return value;
}

std::optional<std::string_view> LineScanner::value() {
  const std::size_t begin = cursor_.at();
  return skip_value(0) ? std::optional(cursor_.since(begin)) : std::nullopt;
}

std::optional<std::string_view> LineScanner::number() {
  const std::size_t begin = cursor_.at();
  return skip_number() ? std::optional(cursor_.since(begin)) : std::nullopt;
}

std::optional<std::string_view> LineScanner::quoted() {
  const std::size_t begin = cursor_.at();
  return skip_string() ? std::optional(cursor_.since(begin)) : std::nullopt;
}

bool LineScanner::skip_value(int depth) {
  if (depth > io::kMaxDocumentDepth) return false;
  switch (cursor_.peek()) {
    case '"':
      return skip_string();
    case '{':
      return skip_members('}', true, depth);
    case '[':
      return skip_members(']', false, depth);
    case 't':
      return take("true");
    case 'f':
      return take("false");
    case 'n':
      return take("null");
    default:
      return skip_number();
  }
}

bool LineScanner::skip_members(char close, bool with_keys, int depth) {
  cursor_.skip();
  skip_blanks();
  if (cursor_.take(close)) return true;
  for (;;) {
    skip_blanks();
    if (with_keys) {
      if (!skip_string()) return false;
      skip_blanks();
      if (!cursor_.take(':')) return false;
      skip_blanks();
    }
    if (!skip_value(depth + 1)) return false;
    skip_blanks();
    if (cursor_.take(close)) return true;
    if (!cursor_.take(',')) return false;
  }
}

bool LineScanner::skip_string() {
  if (!cursor_.take('"')) return false;
  while (!cursor_.at_end()) {
    if (cursor_.take('"')) return true;
    if (cursor_.peek() == '\\') {
      if (!skip_escape()) return false;
      continue;
    }
    const std::size_t length = is_control(cursor_.peek()) ? 0 : utf8_character(cursor_.rest()).length;
    if (length == 0) return false;
    cursor_.skip(length);
  }
  return false;
}

bool LineScanner::skip_escape() {
  cursor_.skip();
  const char c = cursor_.peek();
  cursor_.skip();
  if (c != 'u') return c != '\0' && std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
  const std::string_view digits = cursor_.rest().substr(0, 4);
  cursor_.skip(digits.size());
  // Halves of a pair outside the basic plane are written as UTF-8, never as two escapes.
  const bool is_half = digits.size() == 4 && (digits[0] == 'd' || digits[0] == 'D') && digits[1] >= '8';
  return digits.size() == 4 && !is_half && std::all_of(digits.begin(), digits.end(), is_hexadecimal);
}

bool LineScanner::skip_number() {
  cursor_.take('-');
  const std::string_view whole = cursor_.take_word(is_digit);
  if (whole.empty() || (whole.front() == '0' && whole.size() > 1)) return false;
  if (cursor_.take('.') && cursor_.take_word(is_digit).empty()) return false;
  if (!cursor_.take('e') && !cursor_.take('E')) return true;
  if (!cursor_.take('+')) cursor_.take('-');
  return !cursor_.take_word(is_digit).empty();
}

std::string decoded(std::string_view quoted) {
  if (quoted.find('\\') == std::string_view::npos) return std::string(quoted.substr(1, quoted.size() - 2));
  return io::Document::parse(quoted, "").root().text();
}

std::size_t valid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const std::size_t length = utf8_character(text.substr(i)).length;
    if (length == 0) break;
    i += length;
  }
  return i;
}

bool begins_a_formula(std::string_view text) {
  return !text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos;
}

void append_cell(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::optional<std::vector<std::string>> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && inside && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[i++];
    } else if (c == '"') {
      const bool at_begin = i == 0 || line[i - 1] == ',';
      const bool at_end = i + 1 == line.size() || line[i + 1] == ',';
      if (inside ? !at_end : !at_begin) return std::nullopt;
      inside = !inside;
    } else if (c == ',' && !inside) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return inside ? std::nullopt : std::optional(std::move(cells));
}

std::string cell_of_json(std::string_view json) {
  if (json.size() < 3 || json.front() != '"' || json.find('\\') != std::string_view::npos)
    return std::string(json);
  const std::string_view text = json.substr(1, json.size() - 2);
  return std::string(is_value(text) || begins_a_formula(text) ? json : text);
}

std::string json_of_cell(std::string_view cell) {
  if (is_value(cell)) return std::string(cell);
  std::string json;
  io::append_json_string(json, cell);
  return json;
}

bool LineSource::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t used = buffer_.size();
  buffer_.resize(used + kBlock);
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.data() + used, kBlock);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(used + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) throw InputError::cannot_read(name_, std::strerror(errno));
  return got > 0;
}

bool LineSource::next(std::string& line) {
  std::size_t searched = 0;
  std::size_t end = 0;
  ended_ = true;
  while ((end = buffer_.find('\n', begin_ + searched)) == std::string::npos) {
    searched = buffer_.size() - begin_;
    if (searched <= kMaxLine && fill()) continue;
    if (searched == 0) return false;
    ended_ = false;
    end = buffer_.size();
    break;
  }
  line.assign(buffer_, begin_, end - begin_);
  offset_ += line.size() + (ended_ ? 1 : 0);
  ++line_number_;
  begin_ = std::min(end + 1, buffer_.size());
  return true;
}

}  // namespace pipeloom::sweep
