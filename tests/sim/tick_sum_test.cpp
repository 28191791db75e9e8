#include "sim/base/tick_sum.hpp"

#include "support/catch.hpp"

namespace pipeloom::tick_sum_test {

TEST_CASE("a sum of times is exact beyond 64 bits") {
  // 1,024 runs of 5 h: 5120 h = 18,432,000 s = 1.8432e19 ps, more than 2^63 = 9.2e18.
  const Ticks hours = 5 * 3'600 * ticks_per(TimeUnit::Second);
  TickSum sum;
  for (int i = 0; i < 1024; ++i) sum += hours;
  CHECK(sum == TickSum::times(hours, 1024));
  CHECK(format_ticks(sum, TimeUnit::Second) == "18432000.0");
  CHECK(format_ticks(sum + 250'000'000'000, TimeUnit::Second) == "18432000.25");
  CHECK(format_ticks(-sum, TimeUnit::Second) == "-18432000.0");
  CHECK(to_double(sum, TimeUnit::Second) == 18'432'000.0);
  sum -= TickSum::times(hours, 1023);
  CHECK(sum == hours);
}

TEST_CASE("sums are ordered, and a share of nothing is nothing") {
  CHECK(TickSum::times(kMaxTicks, 8) > kMaxTicks);
  CHECK(TickSum::times(-kMaxTicks, 8) < TickSum());
  CHECK(share_of(TickSum::times(kMaxTicks, 3), TickSum::times(kMaxTicks, 4)) == 0.75);
  CHECK(share_of(5, 0) == 0.0);
}

TEST_CASE("a small sum is written as a time is") {
  for (const Ticks ticks : {Ticks{0}, Ticks{1}, Ticks{-1}, Ticks{1'500'000'000}, -kMaxTicks, kMaxTicks})
    for (const TimeUnit unit : {TimeUnit::Unit, TimeUnit::Second, TimeUnit::Nanosecond})
      CHECK(format_ticks(TickSum(ticks), unit) == format_ticks(ticks, unit));
}

}  // namespace pipeloom::tick_sum_test
