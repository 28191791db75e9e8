#include "gui/model/session/thin_spaces.hpp"

#include <algorithm>

namespace pipeloom::gui {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// True if a number may begin after this text: it is no part of a name.
bool may_begin(std::string_view before) {
  if (before.empty()) return true;
  const char last = before.back();
  if (last == '-' || last == '+') return before.size() == 1 || before[before.size() - 2] == ' ';
  return last == ' ' || last == '(' || last == '\n' || last == '\t';
}

/// True if a number may end before this text.
bool may_end(std::string_view after) {
  if (after.empty()) return true;
  constexpr std::string_view kEnds = " ,.;)%?\n\t";
  if (kEnds.find(after.front()) == std::string_view::npos) return false;
  return after.size() == 1 || after.front() == ' ' || after[1] == ' ' || after[1] == '\n' || after[1] == ')';
}

/// The length of the number at the beginning of a text, with its digits before the point: "13,821.05" has 9, and 13821.
std::size_t read_number(std::string_view text, std::string& digits) {
  std::size_t end = 0;
  const auto group_follows = [&] {
    return end + 3 < text.size() && text[end] == ',' && is_digit(text[end + 1]) && is_digit(text[end + 2]) &&
           is_digit(text[end + 3]) && (end + 4 == text.size() || !is_digit(text[end + 4]));
  };
  while (end < text.size() && (is_digit(text[end]) || group_follows())) {
    if (text[end] != ',') digits += text[end];
    ++end;
  }
  if (end + 1 < text.size() && text[end] == '.' && is_digit(text[end + 1]))
    for (++end; end < text.size() && is_digit(text[end]);) ++end;
  return end;
}

}  // namespace

std::string with_thin_spaces(std::string_view text) {
  constexpr std::string_view kThin = "\xe2\x80\x89";
  constexpr std::size_t kDigits = 4;  // that count
  std::string out;
  std::string digits;
  for (std::size_t i = 0; i < text.size();) {
    digits.clear();
    const std::size_t length =
        is_digit(text[i]) && may_begin(text.substr(0, i)) ? read_number(text.substr(i), digits) : 0;
    if (digits.size() < kDigits || digits.front() == '0' || !may_end(text.substr(i + length))) {
      const std::size_t taken = std::max<std::size_t>(length, 1);
      out += text.substr(i, taken);
      i += taken;
      continue;
    }
    for (std::size_t n = 0; n < digits.size(); ++n) {
      if (n > 0 && (digits.size() - n) % 3 == 0) out += kThin;
      out += digits[n];
    }
    i += length;
  }
  return out;
}

}  // namespace pipeloom::gui
