#include "sim/io/json/json_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace pipeloom::io {
namespace {

constexpr int kMaxDigits = 17;   // of a double
constexpr int kMostBefore = 15;  // digits in front of the point, beyond which there is an exponent
constexpr int kMostZeros = 3;    // between the point and the first digit

char* put(char* out, std::string_view text) {
  return std::copy(text.begin(), text.end(), out);
}

/// The whole number that `text` is, in the type that holds it.
template <class Integer>
std::optional<Integer> whole_of(std::string_view text) {
  Integer out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

void write_number(JsonWriter& json, const Value& number) {
  if (const auto whole = whole_of<std::int64_t>(number.text()))
    json.number(*whole);
  else if (const auto large = whole_of<std::uint64_t>(number.text()))
    json.number(*large);
  else
    json.number(number.number());
}

}  // namespace

char* write_window_number(char* out, double value) {
  // d.ddde+XX: the digits that are needed, and the place of the point.
  char buffer[kMaxWindowNumber];
  const char* const end =
      std::to_chars(buffer, buffer + sizeof buffer, std::abs(value), std::chars_format::scientific).ptr;
  const char* const e = std::find(static_cast<const char*>(buffer), end, 'e');
  int exponent = 0;
  std::from_chars(e + (e[1] == '+' ? 2 : 1), end, exponent);
  char digits[kMaxDigits];
  const auto count = static_cast<int>(
      std::copy_if(static_cast<const char*>(buffer), e, digits, [](char c) { return c != '.'; }) - digits);
  const int before = exponent + 1;
  if (std::signbit(value)) *out++ = '-';
  if (before > kMostBefore || before < -kMostZeros)
    return put(out, {buffer, static_cast<std::size_t>(end - buffer)});
  if (before <= 0) {
    out = put(out, "0.");
    out = std::fill_n(out, -before, '0');
    return std::copy_n(digits, count, out);
  }
  out = std::copy_n(digits, std::min(before, count), out);
  if (count > before) {
    *out++ = '.';
    return std::copy(digits + before, digits + count, out);
  }
  out = std::fill_n(out, before - count, '0');
  return put(out, ".0");
}

JsonWriter& JsonWriter::number(double number) {
  if (!std::isfinite(number)) return null();
  begin_value();
  if (style_.spelling == JsonSpelling::Report) {
    out_ << number;
  } else {
    char text[kMaxWindowNumber];
    out_ << std::string_view(text, static_cast<std::size_t>(write_window_number(text, number) - text));
  }
  return *this;
}

JsonWriter& JsonWriter::value(const Value& tree) {
  switch (tree.kind()) {
    case ValueKind::Null:
      return null();
    case ValueKind::Bool:
      return raw(tree.text());
    case ValueKind::Number:
      if (style_.spelling == JsonSpelling::Report) return raw(tree.text());
      write_number(*this, tree);
      return *this;
    case ValueKind::String:
      return text(tree.text());
    case ValueKind::Array:
      array();
      for (const Value& item : tree.items()) value(item);
      return close();
    case ValueKind::Object:
      object();
      for (std::size_t i = 0; i < tree.keys().size(); ++i) member(tree.keys()[i].name, tree.items()[i]);
      return close();
  }
  return *this;
}

}  // namespace pipeloom::io
