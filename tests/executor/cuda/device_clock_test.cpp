// Events of a device on the clock of the host.

#include "executor/cuda/device/device_clock.hpp"

#include "support/catch.hpp"

namespace pipeloom::executor::cuda::device_clock_test {

TEST_CASE("an anchor lies in the middle of its bracket, half a bracket off at most") {
  const Anchor anchor = anchor_of({1000, 1600});
  CHECK(anchor.at == 1300);
  CHECK(anchor.error == 300);
  CHECK(anchor_of({7, 7}).at == 7);
  CHECK(anchor_of({7, 7}).error == 0);
  CHECK(anchor_of({10, 13}).at == 11);
  CHECK(anchor_of({10, 13}).error == 2);  // 13 - 11
}

TEST_CASE("an anchor that is carried on is known less well the longer ago it was") {
  // 2 s behind an anchor at 1000 +- 300 ps: 100 us of drift in each second.
  const Anchor later = carried({1000, 300}, 2000.0F);
  CHECK(later.at == 2'000'000'001'000);
  CHECK(later.error == 300 + 2 * 100'000'000);
}

TEST_CASE("milliseconds behind the anchor become ticks, rounded to a nanosecond") {
  const Anchor anchor{5'000'000, 0};  // 5 us
  CHECK(time_of(anchor, 0.0F) == 5'000'000);
  CHECK(time_of(anchor, 1.5F) == 5'000'000 + 1'500'000'000);
  CHECK(time_of(anchor, 0.0005F) == 5'000'000 + 500'000);  // half a microsecond: 500 ns
  CHECK(time_of(anchor, -0.25F) == 5'000'000 - 250'000'000);
  CHECK(time_of(anchor, 0.0000004F) == 5'000'000);  // less than half a nanosecond
}

}  // namespace pipeloom::executor::cuda::device_clock_test
