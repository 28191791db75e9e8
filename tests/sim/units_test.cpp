#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <pipeloom/units.hpp>
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::units_test {
namespace {

constexpr std::array kAllUnits = {TimeUnit::Unit, TimeUnit::Second, TimeUnit::Millisecond,
                                  TimeUnit::Microsecond, TimeUnit::Nanosecond};

/// The value of text that must parse without rounding.
std::int64_t exact(const std::string& text, std::int64_t scale) {
  const auto number = parse_fixed(text, scale);
  INFO("'" << text << "' at scale " << scale);
  REQUIRE(number.has_value());
  CHECK_FALSE(number->rounded);
  return number->value;
}

/// The value of text whose digits do not all fit.
std::int64_t rounded(const std::string& text, std::int64_t scale) {
  const auto number = parse_fixed(text, scale);
  INFO("'" << text << "' at scale " << scale);
  REQUIRE(number.has_value());
  CHECK(number->rounded);
  return number->value;
}

}  // namespace

TEST_CASE("a tick is a picosecond, or 1e-9 of the abstract unit") {
  CHECK(ticks_per(TimeUnit::Unit) == 1'000'000'000);
  CHECK(ticks_per(TimeUnit::Second) == 1'000'000'000'000);
  CHECK(ticks_per(TimeUnit::Millisecond) == 1'000'000'000);
  CHECK(ticks_per(TimeUnit::Microsecond) == 1'000'000);
  CHECK(ticks_per(TimeUnit::Nanosecond) == 1'000);
}

TEST_CASE("units are found by their names and by nothing else") {
  for (const TimeUnit unit : kAllUnits) CHECK(time_unit_named(name_of(unit)) == unit);
  for (const char* name : {"", "S", "sec", "ps", "m", "units", " s"}) CHECK_FALSE(time_unit_named(name));
}

TEST_CASE("decimals within the resolution are exact") {
  CHECK(exact("3", 1) == 3);
  CHECK(exact("0", 1000) == 0);
  CHECK(exact("-0", 1000) == 0);
  CHECK(exact("1.25", 1000) == 1250);
  CHECK(exact("0.001", 1000) == 1);
  CHECK(exact("-1.5", 10) == -15);
  // 0.1 + 0.2 is no 0.3 in binary; here it is.
  CHECK(exact("0.1", 1'000'000'000) + exact("0.2", 1'000'000'000) == exact("0.3", 1'000'000'000));
  // Zeros beyond the resolution drop nothing.
  CHECK(exact("1.250000000000000000000", 100) == 125);
}

TEST_CASE("exponents shift the decimal point") {
  CHECK(exact("2.5e3", 1) == 2500);
  CHECK(exact("2.5E+3", 1) == 2500);
  CHECK(exact("2.5e-3", 10'000) == 25);
  CHECK(exact("1200e-2", 1) == 12);
  CHECK(exact("0.00000000000001e20", 1) == 1'000'000);
  CHECK(exact("0e999999999999", 1) == 0);
}

TEST_CASE("digits beyond the resolution round to nearest, halves away from zero") {
  CHECK(rounded("1.24", 10) == 12);
  CHECK(rounded("1.25", 10) == 13);
  CHECK(rounded("1.2499999999999999999999", 10) == 12);
  CHECK(rounded("-1.25", 10) == -13);
  CHECK(rounded("0.04", 10) == 0);
  CHECK(rounded("0.5", 1) == 1);
  CHECK(rounded("9.99", 10) == 100);
  CHECK(rounded("1e-999999", 1'000'000'000) == 0);
  CHECK(rounded("7e-2", 1) == 0);
}

TEST_CASE("what is no JSON number does not parse") {
  for (const char* text :
       {"",    "-",   "+1",  ".5",  "1.",       "1e",        "1e+",   "01",    "0x10", "1 ", " 1",
        "1,5", "NaN", "nan", "inf", "Infinity", "-Infinity", "1.5.2", "1e5.0", "--1",  "1-"}) {
    INFO("'" << text << "'");
    CHECK_FALSE(parse_fixed(text, 1000));
  }
}

TEST_CASE("a magnitude of 2^62 is too large, one less is not") {
  CHECK(exact("4611686018427387903", 1) == kMaxTicks - 1);
  CHECK(exact("-4611686018427387903", 1) == -(kMaxTicks - 1));
  CHECK_FALSE(parse_fixed("4611686018427387904", 1));
  CHECK_FALSE(parse_fixed("-4611686018427387904", 1));
  // Rounding up may reach it as well.
  CHECK_FALSE(parse_fixed("4611686018427387903.5", 1));
  CHECK_FALSE(parse_fixed("1e19", 1));
  CHECK_FALSE(parse_fixed("1e999999999", 1));
  CHECK_FALSE(parse_fixed("5000000", 1'000'000'000'000));  // 5e18 ticks
  CHECK_FALSE(parse_fixed(std::string(400, '9'), 1));
}

TEST_CASE("every unit reads at its own resolution") {
  CHECK(parse_ticks("1.5", TimeUnit::Unit)->value == 1'500'000'000);
  CHECK(parse_ticks("1.5", TimeUnit::Second)->value == 1'500'000'000'000);
  CHECK(parse_ticks("1.5", TimeUnit::Millisecond)->value == 1'500'000'000);
  CHECK(parse_ticks("1.5", TimeUnit::Microsecond)->value == 1'500'000);
  CHECK(parse_ticks("1.5", TimeUnit::Nanosecond)->value == 1'500);
  CHECK(parse_ticks("0.001", TimeUnit::Nanosecond)->value == 1);
  CHECK(parse_ticks("0.0001", TimeUnit::Nanosecond)->rounded);
}

TEST_CASE("ticks are written exactly and always with a decimal point") {
  CHECK(format_ticks(33'000'000'000, TimeUnit::Unit) == "33.0");
  CHECK(format_ticks(0, TimeUnit::Second) == "0.0");
  CHECK(format_ticks(125, TimeUnit::Nanosecond) == "0.125");
  CHECK(format_ticks(1, TimeUnit::Second) == "0.000000000001");
  CHECK(format_ticks(1'200'000'000, TimeUnit::Millisecond) == "1.2");
  CHECK(format_ticks(-1'500, TimeUnit::Nanosecond) == "-1.5");
  CHECK(format_ticks(kMaxTicks, TimeUnit::Nanosecond) == "4611686018427387.904");
}

TEST_CASE("written ticks read back as the same ticks") {
  test::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const TimeUnit unit = kAllUnits[static_cast<std::size_t>(random.below(5))];
    const Ticks ticks = static_cast<Ticks>(random.bits() >> (2 + random.below(62)));
    const auto back = parse_ticks(format_ticks(ticks, unit), unit);
    REQUIRE(back.has_value());
    REQUIRE(back->value == ticks);
    REQUIRE_FALSE(back->rounded);
  }
}

TEST_CASE("write_ticks stays within kMaxTicksText characters and ends where it says") {
  std::array<char, kMaxTicksText + 1> buffer{};
  buffer.fill('#');
  for (const TimeUnit unit : kAllUnits) {
    const char* end = write_ticks(buffer.data(), -(kMaxTicks - 1), unit);
    CHECK(end <= buffer.data() + kMaxTicksText);
    CHECK(std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data())) ==
          format_ticks(-(kMaxTicks - 1), unit));
  }
  CHECK(buffer.back() == '#');
}

TEST_CASE("to_double is for pictures") {
  CHECK(to_double(1'500'000'000, TimeUnit::Unit) == 1.5);
  CHECK(to_double(250, TimeUnit::Nanosecond) == 0.25);
}

TEST_CASE("multiply_divide rounds to nearest and does not overflow in between") {
  CHECK(multiply_divide(7, 1, 2) == 4);    // 3.5
  CHECK(multiply_divide(-7, 1, 2) == -4);  // -3.5
  CHECK(multiply_divide(10, 1, 3) == 3);
  CHECK(multiply_divide(11, 1, 3) == 4);
  CHECK(multiply_divide(-10, 1, 3) == -3);
  CHECK(multiply_divide(kMaxTicks, 1'000'000'000, 1'000'000'000) == kMaxTicks);
  CHECK(multiply_divide(0, 5, 7) == 0);
}

}  // namespace pipeloom::units_test
