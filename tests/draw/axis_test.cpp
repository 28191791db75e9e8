#include "sim/draw/axis.hpp"

#include "sim/draw/words.hpp"
#include "support/catch.hpp"

namespace axis_test {

using namespace pipeloom;
using namespace pipeloom::draw;

namespace {

std::string labels(const TimeAxis& axis) {
  std::string all;
  for (const AxisTick& tick : axis.ticks) all += tick.label + " ";
  return all;
}

}  // namespace

TEST_CASE("steps are 1, 2 or 5 times a power of ten", "[draw]") {
  CHECK(nice_step(1) == 1);
  CHECK(nice_step(3) == 5);
  CHECK(nice_step(6) == 10);
  CHECK(nice_step(10) == 10);
  CHECK(nice_step(11) == 20);
  CHECK(nice_step(499) == 500);
}

TEST_CASE("the axis of 33 units has marks at multiples of 5 or 10", "[draw]") {
  const Ticks unit = ticks_per(TimeUnit::Unit);
  const TimeAxis eight = time_axis({0, 33 * unit}, TimeUnit::Unit, 8);
  CHECK(eight.step == 5 * unit);
  CHECK(labels(eight) == "0 5 10 15 20 25 30 ");
  CHECK(labels(time_axis({0, 33 * unit}, TimeUnit::Unit, 5)) == "0 10 20 30 ");
  CHECK(axis_title(eight.unit) == "Time (units)");
}

TEST_CASE("marks are multiples of the step also where the range starts elsewhere", "[draw]") {
  const Ticks unit = ticks_per(TimeUnit::Unit);
  CHECK(labels(time_axis({7 * unit, 33 * unit}, TimeUnit::Unit, 7)) == "10 15 20 25 30 ");
  CHECK(labels(time_axis({0, unit}, TimeUnit::Unit, 6)) == "0 0.2 0.4 0.6 0.8 1 ");
}

TEST_CASE("the axis picks the unit that keeps numbers short", "[draw]") {
  const Ticks ms = ticks_per(TimeUnit::Millisecond);
  const TimeAxis seconds = time_axis({0, 2500 * ms}, TimeUnit::Millisecond, 7);
  CHECK(seconds.unit == TimeUnit::Second);
  CHECK(labels(seconds) == "0 0.5 1 1.5 2 2.5 ");
  CHECK(axis_title(seconds.unit) == "Time (s)");
  CHECK(time_axis({0, ms / 2}, TimeUnit::Second, 7).unit == TimeUnit::Microsecond);
}

TEST_CASE("never more marks than asked for", "[draw]") {
  for (Ticks length = 1; length < 3'000; length += 7) {
    for (int most = 2; most < 12; ++most) {
      CHECK(time_axis({0, length}, TimeUnit::Nanosecond, most).ticks.size() <=
            static_cast<std::size_t>(most));
    }
  }
}

TEST_CASE("limits are written as the command line writes sizes", "[draw]") {
  CHECK(limit_text({Bytes{80} << 30}) == "85.9 GB (80.0 GiB)");  // 80 * 1.0737
  CHECK(limit_text({512, 1536}) == "512 B to 1.5 kB (1.5 KiB)");
}

}  // namespace axis_test
