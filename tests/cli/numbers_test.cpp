#include "cli/numbers.hpp"

#include "sim/error.hpp"
#include "support/catch.hpp"

using namespace pipeloom;
using namespace pipeloom::cli;

TEST_CASE("bytes in units of 1024, one decimal") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text((Bytes{1} << 20) - 1) == "1.0 MiB");
  CHECK(bytes_text(Bytes{3} << 40) == "3.0 TiB");
}

TEST_CASE("counts with thousands apart and the right noun") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(65536) == "65,536");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(1, "rank") == "1 rank");
  CHECK(count_text(4, "rank") == "4 ranks");
  CHECK(count_text(2, "microbatch") == "2 microbatches");
}

TEST_CASE("sizes as people write them") {
  CHECK(parse_size("512", "--max-memory") == 512);
  CHECK(parse_size("8G", "--max-memory") == 8.0 * 1024 * 1024 * 1024);
  CHECK(parse_size("8GiB", "--max-memory") == parse_size("8G", "--max-memory"));
  CHECK(parse_size("8 gib", "--max-memory") == parse_size("8G", "--max-memory"));
  CHECK(parse_size("800MB", "--max-memory") == 800e6);
  CHECK(parse_size("1.5K", "--max-memory") == 1536);
}

TEST_CASE("texts that are no sizes name the option") {
  for (const char* text : {"", "lots", "0", "-1", "8X", "8GG", "8GiBs", "nan", "inf", "G"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_size(text, "--max-memory"), InputError);
  }
  try {
    (void)parse_size("lots", "--max-memory");
  } catch (const InputError& error) {
    CHECK(error.line() ==
          "--max-memory: error: found 'lots'; allowed is a size above zero such as 800MB, 8G or 8GiB");
  }
}

namespace {

constexpr Ticks kMillisecond = 1'000'000'000;  // ticks are picoseconds

TimeFormat format_of(TimeUnit unit, std::initializer_list<Ticks> values) {
  TimeFormat format(unit);
  for (const Ticks value : values) format.include(value);
  return format;
}

}  // namespace

TEST_CASE("times of a table share as many decimals as they need, at least one") {
  const TimeFormat whole = format_of(TimeUnit::Millisecond, {33 * kMillisecond, 0});
  CHECK(whole.text(33 * kMillisecond) == "33.0");

  const TimeFormat mixed = format_of(TimeUnit::Millisecond, {33 * kMillisecond, kMillisecond / 4});
  CHECK(mixed.text(33 * kMillisecond) == "33.00");
  CHECK(mixed.text(kMillisecond / 4) == "0.25");
}

TEST_CASE("four decimals at most, rounded half up") {
  const Ticks third = kMillisecond + 333'350'000;  // 1.33335 ms
  const TimeFormat format = format_of(TimeUnit::Millisecond, {third, 33 * kMillisecond});
  CHECK(format.text(third) == "1.3334");
  CHECK(format.text(33 * kMillisecond) == "33.0000");
  CHECK(format.text(2 * kMillisecond - 1) == "2.0000");
}

TEST_CASE("times that are all below one keep their leading digits") {
  const Ticks small = 1'234'567;  // 0.001234567 ms
  const TimeFormat format = format_of(TimeUnit::Millisecond, {small});
  CHECK(format.text(small) == "0.0012346");
}

TEST_CASE("a nanosecond holds three decimals only") {
  const TimeFormat format = format_of(TimeUnit::Nanosecond, {1});
  CHECK(format.text(1) == "0.001");
  CHECK(format.text(1500) == "1.500");
}

TEST_CASE("long runs keep their last digits") {
  const Ticks long_run = 4'000'000'000 * kMillisecond + kMillisecond / 2;
  const TimeFormat format = format_of(TimeUnit::Millisecond, {long_run});
  CHECK(format.text(long_run) == "4000000000.5");
}
