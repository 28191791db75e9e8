#include "cli/numbers.hpp"

#include <pipeloom/error.hpp>
#include "sim/base/number_text.hpp"
#include "sim/memory.hpp"
#include "study/text/numbers.hpp"
#include "support/catch.hpp"

namespace numbers_test {

using namespace pipeloom;
using namespace pipeloom::cli;
using study::headroom_text;

TEST_CASE("bytes in units of 1000, and of 1024 in parentheses") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1024) == "1.0 kB (1.0 KiB)");
  CHECK(bytes_text(81'100'000'000) == "81.1 GB (75.5 GiB)");  // 81.1e9 / 2^30 = 75.53
  CHECK(bytes_text(999'960'000) == "1.0 GB (953.6 MiB)");     // never 1000.0 MB
  CHECK(short_bytes_text(81'100'000'000) == "81.1 GB");
  CHECK(binary_bytes_text(512.0 * (1 << 20)) == "512 MiB");
  CHECK(binary_bytes_text(1.25 * (1 << 30)) == "1.25 GiB");
  CHECK(binary_bytes_text(1000) == "1000 B");
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

TEST_CASE("a time with its unit has four digits that count") {
  CHECK(time_text(4734 * kMillisecond, TimeUnit::Millisecond) == "4.734 s");
  CHECK(time_text(33 * kMillisecond + kMillisecond / 2, TimeUnit::Second) == "33.5 ms");
  CHECK(time_text(-18 * kMillisecond, TimeUnit::Millisecond) == "-18.0 ms");
  CHECK(time_text(kMillisecond - 1, TimeUnit::Nanosecond) == "1.0 ms");  // not 1000.0 us
  CHECK(time_text(0, TimeUnit::Millisecond) == "0.0 ms");
  CHECK(time_text(33 * kMillisecond, TimeUnit::Unit) == "33.0");  // of 1e9 ticks
}

TEST_CASE("memory without sizes is told in activations") {
  MemoryModel model;
  model.activation = {1, 1};
  model.static_bytes = model.receive = model.logits = {0, 0};
  CHECK(memory_text(model, 32) == "32 activations of a stage");
  model.passes = model.parts = 2;  // nobody gave a size, and costs are for all of a rank's two stages
  CHECK(memory_text(model, 11) == "5.5 activations of a stage");
  CHECK(bytes_number(model, 11) == "5.5");
  CHECK(bytes_number(model, 10) == "5");
  CHECK(memory_text_of_bytes(model, 5.5) == "5.5 activations of a stage");  // as metrics give it
  model.static_bytes = {2'000'000'000, 0};                                  // in halves of a byte
  CHECK(memory_text(model, 2'000'000'011) == "1.0 GB (953.7 MiB)");
  CHECK(memory_cell(model, 2'000'000'011) == "1.0 GB");
  model.static_bytes = {0, 0};
  model.passes = model.parts = 1;
  CHECK(memory_text(model, 1) == "1 activation of a stage");
  model.activation = {37, 37};  // relative, as in the papers' tables
  CHECK(memory_text(model, 32 * 37) == "32 activations of a stage");
  CHECK(memory_cell(model, 1163) == "31.4");  // 1163 / 37 = 31.43
  model.static_bytes = {80'000'000'000, 0};
  CHECK(memory_text(model, 81'100'000'000) == "81.1 GB (75.5 GiB)");
  Metrics metrics;
  metrics.ranks.resize(2);
  metrics.ranks[0].memory.peak_bytes = 81'100'000'000;
  model.limit = {85'900'000'000, 85'900'000'000};
  CHECK(headroom_text(model, metrics) == "limit 85.9 GB (80.0 GiB), headroom 4.8 GB (4.5 GiB)");
  metrics.ranks[1].memory.peak_bytes = 85'900'000'001;
  CHECK(headroom_text(model, metrics) == "limit 85.9 GB (80.0 GiB), over by 1 B");
  model.limit[1] = 90'000'000'000;  // the rank that has least left counts
  CHECK(headroom_text(model, metrics) ==
        "limit 85.9 GB (80.0 GiB) to 90.0 GB (83.8 GiB), headroom 4.1 GB (3.8 GiB)");
}

}  // namespace numbers_test
