// Quantities with their unit.

#include "sim/base/number_text.hpp"
#include "support/catch.hpp"

namespace pipeloom::literals_test {
namespace {

/// Of a text that is a time and says no more than is kept.
Ticks ticks_of(const char* text) {
  const auto time = parse_time_literal(text);
  REQUIRE(time);
  CHECK_FALSE(time->rounded);
  return time->value;
}

}  // namespace

TEST_CASE("times with a unit are ticks of a picosecond") {
  CHECK(ticks_of("23.6ms") == 23'600'000'000);
  CHECK(ticks_of("1.5 s") == 1'500'000'000'000);
  CHECK(ticks_of("40us") == 40'000'000);
  CHECK(ticks_of("7ns") == 7'000);
  // A tick is a picosecond: the seventh digit of a nanosecond is none.
  const auto fine = parse_time_literal("1.2345678ns");
  REQUIRE(fine);
  CHECK(fine->value == 1'235);
  CHECK(fine->rounded);
  for (const char* text : {"", "23.6", "ms", "-1ms", "1unit", "1 minute", "1f1b", "1..5s", "80GB"})
    CHECK_FALSE(parse_time_literal(text));
}

TEST_CASE("sizes with a unit are bytes") {
  CHECK(parse_bytes_literal("715MB") == 715'000'000);
  CHECK(parse_bytes_literal("80GB") == 80'000'000'000);
  CHECK(parse_bytes_literal("80GiB") == Bytes{80} << 30);
  CHECK(parse_bytes_literal("1.43 gb") == 1'430'000'000);
  CHECK(parse_bytes_literal("512B") == 512);
  CHECK(parse_bytes_literal("0.5KiB") == 512);
  for (const char* text : {"", "80", "GB", "80G", "-1GB", "80Gbit", "9e9GB", "5000000TB"})
    CHECK_FALSE(parse_bytes_literal(text));
}

TEST_CASE("rates with a unit are bits per second") {
  CHECK(parse_rate_literal("400Gbit/s") == 400'000'000'000);
  CHECK(parse_rate_literal("50GB/s") == 400'000'000'000);
  CHECK(parse_rate_literal("800 Mbit/s") == 800'000'000);
  for (const char* text : {"400", "400Gbit", "400Gb/s", "400GiB/s", "400s"})
    CHECK_FALSE(parse_rate_literal(text));
}

TEST_CASE("shares and changes for people") {
  CHECK(percent_text(0.2727) == "27.3 %");
  CHECK(percent_text(1) == "100.0 %");
  CHECK(percent_text(0) == "0.0 %");
  CHECK(percent_text(0.001) == "0.1 %");
  CHECK(percent_text(0.00042) == "0.04 %");
  CHECK(change_text(0.0123) == "+1.2 %");
  CHECK(change_text(-0.0123) == "-1.2 %");
  CHECK(change_text(0) == "0.0 %");
  CHECK(change_text(0.0003) == "+0.03 %");
}

}  // namespace pipeloom::literals_test
