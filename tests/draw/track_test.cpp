// What every track promises, asked of all of them and of one that is written here: a counter of a trace.

#include "sim/tracks/track.hpp"

#include <numeric>
#include <random>
#include <vector>

#include "sim/analysis/idle_causes.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/tracks/block_sums.hpp"
#include "sim/tracks/cause_track.hpp"
#include "sim/tracks/message_track.hpp"
#include "sim/tracks/op_track.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace track_test {

using namespace pipeloom;
using namespace pipeloom::tracks;

namespace {

/// Samples of a counter, in time order, each until the next: how long it stood above 0. This is all that a new track takes.
class CounterTrack final : public Track {
 public:
  struct Sample {
    Ticks time = 0;
    int value = 0;
  };
  explicit CounterTrack(std::vector<Sample> samples) : samples_(std::move(samples)) {}

  [[nodiscard]] std::size_t rows() const override { return 1; }
  [[nodiscard]] std::size_t channels() const override { return 1; }
  [[nodiscard]] Slice visible(std::size_t /*row*/, TimeRange range) const override {
    const std::size_t steps = samples_.size() - 1;
    const auto time_of = [&](std::size_t i) { return static_cast<double>(samples_[i].time); };
    const std::size_t first =
        first_that(0, steps, [&](std::size_t i) { return time_of(i + 1) > range.start; });
    return {first, first_that(first, steps, [&](std::size_t i) { return time_of(i) >= range.end; })};
  }
  void shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const override {
    BinAdder adder(range, bins, out.data(), 1);
    const Slice seen = visible(row, range);
    adder.gap(range.start, static_cast<double>(samples_.front().time));
    for (std::size_t i = seen.first; i < seen.last; ++i) {
      const auto from = static_cast<double>(samples_[i].time);
      const auto to = static_cast<double>(samples_[i + 1].time);
      if (samples_[i].value > 0)
        adder.add(from, to, 0);
      else
        adder.gap(from, to);
    }
    adder.gap(static_cast<double>(samples_.back().time), range.end);
    constexpr std::uint8_t kPlace[] = {0};
    adder.finish(kPlace);
  }
  void exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const override {
    const Slice seen = visible(row, {static_cast<double>(from), static_cast<double>(to)});
    for (std::size_t i = seen.first; i < seen.last; ++i)
      if (samples_[i].value > 0) out[0] += overlap(samples_[i].time, samples_[i + 1].time, from, to);
  }

 private:
  std::vector<Sample> samples_;
};

Ticks busy_of(const Track& track, std::size_t row, Ticks from, Ticks to) {
  std::vector<Ticks> sums(track.channels());
  track.exact(row, from, to, sums);
  for (const Ticks sum : sums) REQUIRE(sum >= 0);
  return std::accumulate(sums.begin(), sums.end(), Ticks{0});
}

/// `side_by_side`: channels may run at the same time, so that their sum says nothing of gaps.
void check(const Track& track, Span span, std::mt19937& random, bool side_by_side = false) {
  for (std::size_t row = 0; row < track.rows(); ++row)
    for (int round = 0; round < 8; ++round) {
      const auto width = static_cast<Ticks>(1 + random() % 200);
      const auto bins = static_cast<int>(1 + random() % 40);
      const Ticks start =
          span.start - 100 + static_cast<Ticks>(random() % static_cast<unsigned>(span.length() + 100));
      const TimeRange range{static_cast<double>(start), static_cast<double>(start + bins * width)};
      std::vector<float> shares(static_cast<std::size_t>(bins) * track.channels());
      track.shares(row, range, bins, shares);
      Ticks sum = 0;
      for (int bin = 0; bin < bins; ++bin) {
        const Ticks from = start + bin * width;
        const Ticks busy = busy_of(track, row, from, from + width);
        sum += busy;
        const auto first =
            shares.begin() + static_cast<std::ptrdiff_t>(bin) * static_cast<std::ptrdiff_t>(track.channels());
        const float share =
            std::accumulate(first, first + static_cast<std::ptrdiff_t>(track.channels()), 0.0F);
        if (busy > 0) REQUIRE(share >= 0.99F * kLeastShare);
        if (busy < width && !side_by_side) REQUIRE(share <= 1 - 0.99F * kLeastShare);
      }
      REQUIRE(sum == busy_of(track, row, start, start + bins * width));
      if (sum > 0) REQUIRE_FALSE(track.visible(row, range).empty());
    }
}

}  // namespace

TEST_CASE("what is there shows in every bin, what is not there leaves a gap, and sums are exact",
          "[tracks]") {
  std::mt19937 random(3);
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    test::Random problem(seed);
    const Placement placement = test::random_placement(problem, {3, 2, 20, 30});
    const auto schedule = std::make_shared<const Schedule>(test::random_schedule(problem, placement, 20, 30));
    const Costs costs = test::random_costs(problem, *schedule);
    const Timeline timeline = simulate(schedule, costs, Steps{StepRule::Barrier, 2, 2});
    const OpTrack ops(timeline);
    check(ops, ops.span(), random);
    const auto idle = all_idle_spans(timeline, costs);
    check(CauseTrack(idle), ops.span(), random);
    std::vector<MessageBar> bars;
    for (Ticks time = 0; time < 2000; time += static_cast<Ticks>(random() % 60))
      bars.push_back(
          {time, time + 1 + static_cast<Ticks>(random() % 90), Rank(0), Rank(1), 0, 0, random() % 2 == 0});
    check(MessageTrack(bars, 2), {0, 2000}, random, true);
  }
}

TEST_CASE("a counter is a track of one file", "[tracks]") {
  std::mt19937 random(4);
  const CounterTrack track({{0, 0}, {10, 3}, {20, 1}, {25, 0}, {40, 2}, {41, 0}});
  // Above 0 in [10, 25) and [40, 41).
  CHECK(busy_of(track, 0, 0, 100) == 16);
  CHECK(busy_of(track, 0, 12, 21) == 9);
  CHECK(track.visible(0, {12, 21}).size() == 2);
  check(track, {0, 50}, random);
}

}  // namespace track_test
