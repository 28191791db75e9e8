// What messages did with their time, and the link that follows from it.

#include "executor/measure/measured_transfers.hpp"

#include <memory>

#include <pipeloom/schedule.hpp>
#include "support/catch.hpp"

namespace pipeloom::executor::measured_transfers_test {

using cost::fit_link;
using cost::LinkFit;
using cost::MeasuredTransfers;
using cost::TransferPoint;

namespace {

constexpr Ticks kUs = 1'000'000;

/// Messages 0, 1 go from rank 0 to 1, messages 2, 3 back.
RunResult four_messages() {
  RunResult run;
  run.timeline.schedule =
      std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1F1 1B0 1B1"));
  run.message_bytes = {100, 100, 100, 100};
  run.messages = {
      {.sent = 10,
       .received = 4,
       .started = 11,
       .done = 15,
       .waited = true},  // waits 7, of which 1 after both
      {.sent = 20, .received = 25, .started = 27, .done = 28, .waited = false},  // 7, 2
      {.sent = 30, .received = 28, .started = 30, .done = 36, .waited = true},   // 2, 0
      {.sent = 40, .received = 41, .done = 43, .waited = true},                  // nobody knows when it left
  };
  return run;
}

}  // namespace

TEST_CASE("bytes of a link are those of a microbatch: what the messages of its slices have together") {
  RunResult run;
  run.timeline.schedule =
      std::make_shared<const Schedule>(parse_schedule("0F0.0 0F0.1 0B0.1 0B0.0 | 1F0.0 1F0.1 1B0.1 1B0.0"));
  run.message_bytes = {60, 140, 140, 60};
  for (const Ticks time : {10, 20, 30, 40})
    run.messages.push_back(
        {.sent = time, .received = time, .started = time, .done = time + 5, .waited = true});
  const MeasuredTransfers transfers = measured_transfers(run);
  REQUIRE(transfers.link);
  CHECK(transfers.link->bytes == 200);  // 60 + 140
}

TEST_CASE("transfers: waiting, overhead and transfer, over all and by pair of ranks") {
  const MeasuredTransfers transfers = measured_transfers(four_messages());
  CHECK(transfers.all.waiting.count == 3);
  CHECK(transfers.all.waiting.median == 7);  // 2 7 7
  CHECK(transfers.all.waiting.spread == 5);
  CHECK(transfers.all.overhead.median == 1);  // 0 1 2
  CHECK(transfers.all.transfer.median == 4);  // 1 4 6
  CHECK(transfers.all.transfer.spread == 3);
  REQUIRE(transfers.pairs.size() == 2);
  CHECK(transfers.pairs[0].from == Rank(0));
  CHECK(transfers.pairs[0].to == Rank(1));
  CHECK(transfers.pairs[0].samples.transfer.count == 2);
  CHECK(transfers.pairs[0].samples.transfer.median == 2);  // half-way from 1 to 4, in whole ticks
  CHECK(transfers.pairs[1].from == Rank(1));
  CHECK(transfers.pairs[1].samples.transfer.count == 1);
  CHECK(transfers.pairs[1].samples.transfer.median == 6);
  // The links by themselves, of messages that were waited for.
  REQUIRE(transfers.pairs[0].link);
  CHECK(transfers.pairs[0].link->latency() == 5);  // 4, and 1 after both were posted
  REQUIRE(transfers.pairs[1].link);
  CHECK(transfers.pairs[1].link->latency() == 6);
}

TEST_CASE("transfers: the link is what a waiting rank sees, or if none waits what there is") {
  RunResult run = four_messages();
  const auto waited = measured_transfers(run).link;
  REQUIRE(waited);
  CHECK(waited->fit.latency == 4);  // of 4 and 6
  CHECK(waited->overhead == 0);     // of 1 and 0
  CHECK(waited->latency() == 4);
  CHECK(waited->bytes == 100);
  CHECK_FALSE(waited->fit.bits_per_second);
  for (MeasuredMessage& message : run.messages) message.waited = false;
  const auto all = measured_transfers(run).link;
  REQUIRE(all);
  CHECK(all->latency() == 5);  // 4 of 1 4 6, and 1 of 0 1 2
  run.messages.clear();
  CHECK_FALSE(measured_transfers(run).link);
}

TEST_CASE("transfers: a line through sizes, which one wild size does not move") {
  // 3 us and 2 us per 1000 bytes: 8 bits in 2 ns, 4 Gbit/s.
  std::vector<TransferPoint> points = {{1000, 5 * kUs}, {2000, 7 * kUs}, {3000, 9 * kUs}, {4000, 11 * kUs}};
  SECTION("as it is") {}
  SECTION("messages that are late") {
    points.insert(points.end(), {{2000, 90 * kUs}, {2000, 7 * kUs}});
  }
  SECTION("a size that is late") {
    points.push_back({5000, 100 * kUs});
  }
  const LinkFit fit = fit_link(points);
  CHECK(fit.latency == 3 * kUs);
  REQUIRE(fit.bits_per_second);
  CHECK(*fit.bits_per_second == Approx(4e9));
}

TEST_CASE("transfers: without a slope all is latency, and none is below 0") {
  SECTION("one size") {
    const LinkFit fit =
        fit_link(std::vector<TransferPoint>{{1000, 9 * kUs}, {1000, 5 * kUs}, {1000, 6 * kUs}});
    CHECK(fit.latency == 6 * kUs);
    CHECK_FALSE(fit.bits_per_second);
  }
  SECTION("larger ones that are as fast") {
    const LinkFit fit = fit_link(std::vector<TransferPoint>{{1000, 5 * kUs}, {2000, 5 * kUs}});
    CHECK(fit.latency == 5 * kUs);
    CHECK_FALSE(fit.bits_per_second);
  }
  SECTION("a line from below: 1 us and 5/3 us per 1000 bytes, the lower is 8 Gbit/s") {
    const LinkFit fit = fit_link(std::vector<TransferPoint>{{1000, 1 * kUs}, {3000, 5 * kUs}});
    CHECK(fit.latency == 0);
    REQUIRE(fit.bits_per_second);
    CHECK(*fit.bits_per_second == Approx(8e9));
  }
  SECTION("clocks that are apart") {
    CHECK(fit_link(std::vector<TransferPoint>{{1000, -2 * kUs}}).latency == 0);
  }
}

}  // namespace pipeloom::executor::measured_transfers_test
