#include "study/sweep/result/column.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include <pipeloom/units.hpp>
#include "sim/io/json/json_value.hpp"

namespace pipeloom::sweep {
namespace {

constexpr std::int64_t kNoFixed = std::numeric_limits<std::int64_t>::min();
constexpr std::uint32_t kNoText = ~std::uint32_t{0};
constexpr int kMaxDecimals = 15;
constexpr int kNanoDecimals = 9;
constexpr std::int64_t kMaxFixed = std::int64_t{1} << 62;

constexpr std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

bool is_number_text(std::string_view json) {
  return !json.empty() && (json.front() == '-' || (json.front() >= '0' && json.front() <= '9'));
}

/// An integer and how many of its digits come after the point.
struct Decimal {
  std::int64_t value = 0;
  int decimals = 0;
};

/// Nullopt for exponents and for more digits than Fixed holds.
std::optional<Decimal> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  Decimal out;
  bool in_decimals = false;
  for (const char c : text) {
    if (c == '.' && !in_decimals) {
      in_decimals = true;
      continue;
    }
    if (c < '0' || c > '9' || out.value > kMaxFixed / 10 - 1) return std::nullopt;
    out.value = out.value * 10 + (c - '0');
    if (in_decimals) ++out.decimals;
  }
  while (out.decimals > 0 && out.value % 10 == 0) {
    out.value /= 10;
    --out.decimals;
  }
  if (out.decimals > kMaxDecimals) return std::nullopt;
  if (negative) out.value = -out.value;
  return out;
}

double parse_real(std::string_view text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value == 0 ? 0 : value;  // one zero only, so that equal values have equal bits
}

std::string real_text(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

std::string fixed_text(std::int64_t value, int decimals, bool pointed) {
  std::string digits = std::to_string(value < 0 ? -value : value);
  if (digits.size() <= static_cast<std::size_t>(decimals))
    digits.insert(0, static_cast<std::size_t>(decimals) + 1 - digits.size(), '0');
  std::string out = value < 0 ? "-" : "";
  const std::size_t whole = digits.size() - static_cast<std::size_t>(decimals);
  out.append(digits, 0, whole);
  std::size_t last = digits.size();
  while (last > whole && digits[last - 1] == '0') --last;
  if (last > whole) return out + '.' + digits.substr(whole, last - whole);
  return pointed ? out + ".0" : out;
}

/// Content of a JSON string, anything else unchanged.
std::string plain(const std::string& json) {
  if (!json.starts_with('"')) return json;
  if (json.find('\\') == std::string::npos) return json.substr(1, json.size() - 2);
  return io::Document::parse(json, "").root().text();
}

/// Rounded to the nine places of expressions.
Operand number_operand(std::string_view text) {
  if (const auto nano = parse_nano(text)) return Operand::number(*nano);
  if (const auto rounded = parse_fixed(text, static_cast<std::int64_t>(kOne)))
    return Operand::number(rounded->value);
  throw InputError(
      fmt::format("{} is beyond the numbers of expressions, 9.2e18; ask for points without it", text));
}

}  // namespace

void Column::reserve(std::size_t rows) {
  kind_ == Kind::Text ? codes_.reserve(rows) : bits_.reserve(rows);
}

void Column::shrink() {
  bits_.shrink_to_fit();
  codes_.shrink_to_fit();
}

void Column::add(std::string_view json) {
  if (kind_ == Kind::Text || !is_number_text(json)) {
    if (kind_ != Kind::Text) to_text();
    return add_text(json);
  }
  all_pointed_ = all_pointed_ && json.find('.') != std::string_view::npos;
  if (kind_ == Kind::Fixed && add_fixed(json)) return;
  if (kind_ == Kind::Fixed) to_real();
  bits_.push_back(std::bit_cast<std::int64_t>(parse_real(json)));
}

void Column::add_missing() {
  if (kind_ == Kind::Text) return codes_.push_back(kNoText);
  bits_.push_back(kind_ == Kind::Fixed
                      ? kNoFixed
                      : std::bit_cast<std::int64_t>(std::numeric_limits<double>::quiet_NaN()));
}

bool Column::add_fixed(std::string_view number) {
  const auto decimal = parse_decimal(number);
  if (!decimal || (decimal->decimals > decimals_ && !rescale(decimal->decimals))) return false;
  const std::int64_t factor = power_of_ten(decimals_ - decimal->decimals);
  if (std::abs(decimal->value) > kMaxFixed / factor) return false;
  bits_.push_back(decimal->value * factor);
  return true;
}

bool Column::rescale(int decimals) {
  const std::int64_t factor = power_of_ten(decimals - decimals_);
  for (const std::int64_t value : bits_)
    if (value != kNoFixed && std::abs(value) > kMaxFixed / factor) return false;
  for (std::int64_t& value : bits_)
    if (value != kNoFixed) value *= factor;
  decimals_ = decimals;
  return true;
}

void Column::to_real() {
  for (std::int64_t& value : bits_) {
    const double real = value == kNoFixed ? std::numeric_limits<double>::quiet_NaN()
                                          : parse_real(fixed_text(value, decimals_, false));
    value = std::bit_cast<std::int64_t>(real);
  }
  kind_ = Kind::Real;
}

void Column::to_text() {
  std::vector<std::string> texts;
  for (Row row = 0; row < bits_.size(); ++row) texts.push_back(has(row) ? json(row) : "");
  codes_.reserve(bits_.capacity());
  bits_ = {};
  kind_ = Kind::Text;
  for (const std::string& text : texts) text.empty() ? add_missing() : add_text(text);
}

void Column::add_text(std::string_view json) {
  const auto [at, added] = code_of_.try_emplace(std::string(json), static_cast<std::uint32_t>(texts_.size()));
  if (added) texts_.emplace_back(json);
  codes_.push_back(at->second);
}

bool Column::has(Row row) const {
  if (kind_ == Kind::Text) return codes_[row] != kNoText;
  if (kind_ == Kind::Fixed) return bits_[row] != kNoFixed;
  return !std::isnan(std::bit_cast<double>(bits_[row]));
}

double Column::number(Row row) const {
  if (!has(row)) return std::numeric_limits<double>::quiet_NaN();
  if (kind_ == Kind::Real) return std::bit_cast<double>(bits_[row]);
  // Both are exact up to 2^53, and so is then their quotient, correctly rounded.
  return static_cast<double>(bits_[row]) / static_cast<double>(power_of_ten(decimals_));
}

std::string Column::json(Row row) const {
  if (!has(row)) return "null";
  if (kind_ == Kind::Text) return texts_[codes_[row]];
  return kind_ == Kind::Real ? real_text(std::bit_cast<double>(bits_[row]))
                             : fixed_text(bits_[row], decimals_, all_pointed_);
}

std::string Column::text(Row row) const {
  if (!has(row)) return "-";
  return kind_ == Kind::Text ? plain(texts_[codes_[row]]) : json(row);
}

Operand Column::operand(Row row) const {
  if (kind_ == Kind::Fixed && decimals_ <= kNanoDecimals)
    return Operand::number(Nano{bits_[row]} * power_of_ten(kNanoDecimals - decimals_));
  if (kind_ != Kind::Text) return number_operand(json(row));
  const std::string& json = texts_[codes_[row]];
  if (is_number_text(json)) return number_operand(json);
  if (json == "true" || json == "false") return Operand::number(json == "true" ? kOne : 0);
  return Operand::of_text(plain(json));
}

std::int64_t Column::rank(Row row) const {
  if (!has(row)) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t bits = bits_[row];
  // Doubles are ordered as their bits are; negative ones the other way round.
  return kind_ == Kind::Fixed || bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}

std::strong_ordering Column::compare(Row a, Row b) const {
  if (kind_ != Kind::Text) return rank(a) <=> rank(b);
  if (codes_[a] == codes_[b]) return std::strong_ordering::equal;
  if (const bool has_b = has(b); !has(a) || !has_b) return has_b <=> has(a);
  const std::string& x = texts_[codes_[a]];
  const std::string& y = texts_[codes_[b]];
  if (is_number_text(x) && is_number_text(y))
    if (const double u = parse_real(x), v = parse_real(y); u != v)
      return u < v ? std::strong_ordering::less : std::strong_ordering::greater;
  return x.compare(y) < 0 ? std::strong_ordering::less : std::strong_ordering::greater;
}

std::size_t Column::bytes() const {
  std::size_t total = bits_.capacity() * sizeof(bits_[0]) + codes_.capacity() * sizeof(codes_[0]);
  for (const std::string& text : texts_) total += 2 * (sizeof(std::string) + text.capacity());
  return total;
}

namespace {

/// Positions of `rows` by value. A text column has few distinct values: their order is found once.
std::vector<std::uint32_t> by_value(const Column& column, const std::vector<Row>& rows) {
  std::vector<std::uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  if (column.is_number()) {
    std::vector<std::pair<std::int64_t, std::uint32_t>> ranked;
    ranked.reserve(rows.size());
    for (const std::uint32_t i : order) ranked.emplace_back(column.rank(rows[i]), i);
    std::sort(ranked.begin(), ranked.end());
    std::transform(ranked.begin(), ranked.end(), order.begin(), [](const auto& pair) { return pair.second; });
    return order;
  }
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> places;
  for (const std::uint32_t i : order) places[column.bits(rows[i])].push_back(i);
  std::vector<const std::vector<std::uint32_t>*> sorted;
  for (const auto& [bits, of_value] : places) sorted.push_back(&of_value);
  std::sort(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) {
    return column.compare(rows[a->front()], rows[b->front()]) < 0;
  });
  order.clear();
  for (const auto* of_value : sorted) order.insert(order.end(), of_value->begin(), of_value->end());
  return order;
}

}  // namespace

Levels levels_of(const Column& column, const std::vector<Row>& rows) {
  Levels out;
  out.level_of.assign(rows.size(), Levels::kNone);
  for (const std::uint32_t i : by_value(column, rows)) {
    if (!column.has(rows[i])) break;
    if (out.example.empty() || column.bits(out.example.back()) != column.bits(rows[i]))
      out.example.push_back(rows[i]);
    out.level_of[i] = static_cast<std::uint32_t>(out.example.size() - 1);
  }
  return out;
}

}  // namespace pipeloom::sweep
