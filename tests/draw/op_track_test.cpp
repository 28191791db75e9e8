#include "sim/tracks/op_track.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/engine/simulator.hpp"
#include "sim/kinds.hpp"
#include "sim/memory.hpp"
#include "sim/tracks/memory_track.hpp"
#include "sim/tracks/message_track.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/scenes.hpp"

namespace op_track_test {

using namespace pipeloom;
using namespace pipeloom::tracks;
using test::Random;

namespace {

constexpr Ticks kOne = 1'000'000'000;

/// A bin's share of each kind, [index_of(kind)].
struct BusyShares {
  std::array<float, kOpKinds> of{};
  [[nodiscard]] float total() const { return std::accumulate(of.begin(), of.end(), 0.0F); }
};

std::vector<BusyShares> shares_of(const OpTrack& track, Rank rank, TimeRange range, int bins,
                                  Lane lane = Lane::Work) {
  std::vector<BusyShares> shares(static_cast<std::size_t>(bins));
  if (track.has(rank, lane))
    track.shares(track.row_of(rank, lane), range, bins, {shares.front().of.data(), shares.size() * kOpKinds});
  return shares;
}

struct Piece {
  Ticks start = 0;
  Ticks end = 0;
  OpKind kind = OpKind::Forward;
  double weight = 1;
};

/// What a rank did in a lane, op by op; parts of a group share its time unless they ran one after another.
std::vector<Piece> pieces_of(const Timeline& timeline, Rank rank, Lane lane) {
  const Schedule& schedule = *timeline.schedule;
  std::vector<Piece> pieces;
  for (int step = 0; step < timeline.steps; ++step)
    for_each_entry(
        schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
        [&](std::size_t first, std::size_t last) {
          if (is_copy(schedule.ops()[first].kind()) != (lane == Lane::Copies)) return;
          const bool together = timeline.start_of(first, step) == timeline.start_of(last - 1, step) &&
                                timeline.end_of(first, step) == timeline.end_of(last - 1, step);
          for (std::size_t i = first; i < last; ++i)
            pieces.push_back({timeline.start_of(i, step), timeline.end_of(i, step), schedule.ops()[i].kind(),
                              together ? 1.0 / static_cast<double>(last - first) : 1.0});
        });
  return pieces;
}

double overlap(const Piece& piece, double from, double to) {
  return std::max(
      0.0, std::min(to, static_cast<double>(piece.end)) - std::max(from, static_cast<double>(piece.start)));
}

/// Is any moment of [from, to) without a piece?
bool has_gap(const std::vector<Piece>& pieces, double from, double to) {
  double until = from;
  for (const Piece& piece : pieces) {
    if (static_cast<double>(piece.end) <= from || piece.end == piece.start) continue;
    if (static_cast<double>(piece.start) > until) break;
    until = std::max(until, static_cast<double>(piece.end));
  }
  return until < to;
}

Timeline random_timeline(Random& random, const test::ProblemSize& size) {
  const Placement placement = test::random_placement(random, size);
  Schedule schedule = test::random_schedule(random, placement, size.most_microbatches, size.group_percent);
  if (random.chance(50)) schedule = test::random_extras(random, schedule);
  const Costs costs = test::random_costs(random, schedule);
  return simulate(std::make_shared<const Schedule>(std::move(schedule)), costs,
                  Steps{random.chance(50) ? StepRule::PostValidation : StepRule::Barrier,
                        random.between(0, 9), static_cast<int>(random.between(1, 3))});
}

/// Compares one query with sums over all ops; `slack` is what a share may be off.
void check_shares(const Timeline& timeline, const OpTrack& index, Rank rank, Lane lane, TimeRange range,
                  int bins, double slack) {
  const std::vector<BusyShares> shares = shares_of(index, rank, range, bins, lane);
  REQUIRE(shares.size() == static_cast<std::size_t>(bins));
  const auto pieces = pieces_of(timeline, rank, lane);
  const double width = range.length() / bins;
  for (int bin = 0; bin < bins; ++bin) {
    const double from = range.start + bin * width;
    const double to = range.start + (bin + 1) * width;
    std::array<double, kOpKinds> busy{};
    double touched = 0;
    for (const Piece& piece : pieces) {
      busy[index_of(piece.kind)] += piece.weight * overlap(piece, from, to) / width;
      touched = std::max(touched, overlap(piece, from, to));
    }
    const BusyShares& found = shares[static_cast<std::size_t>(bin)];
    for (std::size_t kind = 0; kind < kOpKinds; ++kind)
      REQUIRE(std::abs(static_cast<double>(found.of[kind]) - busy[kind]) <= slack);
    if (touched > 1e-6 * width) REQUIRE(found.total() > 0.99F * kLeastShare);
    if (has_gap(pieces, from + 1e-6 * width, to - 1e-6 * width))
      REQUIRE(found.total() < 1 - 0.99F * kLeastShare);
  }
}

TimeRange random_range(Random& random, Span span) {
  const Ticks margin = span.length() / 4 + 1;
  const Ticks a = random.between(span.start - margin, span.end + margin);
  const Ticks b = random.between(span.start - margin, span.end + margin);
  return {static_cast<double>(std::min(a, b)), static_cast<double>(std::max(a, b) + 1)};
}

}  // namespace

TEST_CASE("shares of few ops are their exact sums, for any range, lane and number of steps", "[tracks]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const Timeline timeline = random_timeline(random, {});
    const OpTrack index(timeline);
    for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank)
      for (const Lane lane : {Lane::Work, Lane::Copies}) {
        // A bin that is touched a little shows kLeastShare instead.
        const int bins = static_cast<int>(random.between(100, 200));
        check_shares(timeline, index, rank, lane, random_range(random, index.span()), bins,
                     2 * static_cast<double>(kLeastShare));
      }
  }
}

TEST_CASE("shares of many ops in a bin come from the pyramid and hide neither op nor gap", "[tracks]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const Timeline timeline = random_timeline(random, {3, 2, 60, 30});
    const OpTrack index(timeline);
    for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank)
      for (const int bins : {1, 2, 3, 7, 16, 40})
        // Cells are no longer than bins, so what is spread wrongly at each end is at most a quarter of a bin.
        check_shares(timeline, index, rank, Lane::Work, random_range(random, index.span()), bins, 0.51);
  }
}

TEST_CASE("the pyramid's shares of a whole run add up to the rank's busy time", "[tracks]") {
  // Four ranks, one after another: F 1, B 2 each, 500 times. Of the 1500 units of work of rank 0 a third is F.
  std::string text;
  for (int k = 0; k < 500; ++k) text += "0F" + std::to_string(k) + " 0B" + std::to_string(k) + " ";
  const auto schedule = test::scene(text);
  const Costs costs = uniform_costs(schedule->placement(), {kOne, 2 * kOne, kOne, kOne, kOne, 0, {}});
  const Timeline timeline = simulate(schedule, costs);
  const OpTrack index(timeline);
  CHECK(index.span() == Span{0, 1500 * kOne});
  std::vector<BusyShares> shares = shares_of(index, Rank(0), {0, 1500.0 * kOne}, 10);
  for (const BusyShares& bin : shares) {
    CHECK(bin.total() == Approx(1));
    // 150 units: 50 pairs. Cells are spread evenly, an end is off by less than one op.
    CHECK(bin.of[index_of(OpKind::Forward)] == Approx(1.0 / 3).margin(2.0 / 150));
  }
  // Twice as much as there is: the second half is empty.
  shares = shares_of(index, Rank(0), {0, 3000.0 * kOne}, 10);
  CHECK(shares[4].total() == Approx(1));
  CHECK(shares[5].total() == 0);
}

TEST_CASE("a short op in a long idle stretch is seen at every scale, and a short gap in busy time too",
          "[tracks]") {
  // Rank 0: F of one tick, then rank 1 works for a long time, then B on rank 0. The first op of rank 0 is a 1e-9th of the time.
  const auto schedule = test::scene("0F0 0B0 | 1F0 1B0");
  Costs costs = uniform_costs(schedule->placement(), {kOne, kOne, kOne, kOne, kOne, 0, {}});
  costs.duration[index_of(OpKind::Forward)] = {1, 400 * kOne};
  costs.duration[index_of(OpKind::Backward)] = {400 * kOne, 400 * kOne};
  const Timeline timeline = simulate(schedule, costs);
  const OpTrack index(timeline);
  std::vector<BusyShares> shares;
  for (int bins = 1; bins < 2000; bins = bins * 3 / 2 + 1) {
    shares = shares_of(index, Rank(0), {0, 1200.0 * kOne + 1}, bins);
    CHECK(shares.front().total() >= 0.99F * kLeastShare);
  }
  // Rank 1 waits one tick for rank 0.
  shares = shares_of(index, Rank(1), {0, 800.0 * kOne}, 1);
  CHECK(shares.front().total() <= 1 - 0.99F * kLeastShare);
  CHECK(shares.front().total() > 0.99F);
}

TEST_CASE("ops that overlap a stretch of time are found in every step and lane", "[tracks]") {
  for (std::uint64_t seed = 100; seed <= 160; ++seed) {
    Random random(seed);
    const Timeline timeline = random_timeline(random, {4, 2, 12, 30});
    const Schedule& schedule = *timeline.schedule;
    const OpTrack index(timeline);
    for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
      for (const Lane lane : {Lane::Work, Lane::Copies}) {
        const TimeRange range = random_range(random, index.span());
        std::set<std::size_t> expected;
        for (int step = 0; step < timeline.steps; ++step)
          for (std::size_t op = schedule.queue_begin(rank); op < schedule.queue_end(rank); ++op) {
            const auto start = static_cast<double>(timeline.start_of(op, step));
            const auto end = static_cast<double>(timeline.end_of(op, step));
            if (is_copy(schedule.ops()[op].kind()) == (lane == Lane::Copies) && start < range.end &&
                (end > range.start || start >= range.start))
              expected.insert(timeline.index(step, op));
          }
        std::set<std::size_t> found;
        index.for_each_visible(rank, range.start, range.end, lane, [&](std::size_t i) { found.insert(i); });
        REQUIRE(found == expected);
      }
  }
}

TEST_CASE("ops that were measured out of order are found all the same", "[tracks]") {
  // Clocks that jump: 0B0 is said to begin before 0F1 ended, and 0F1 before 0F0.
  Timeline timeline;
  timeline.schedule = test::scene("0F0 0F1 0B0 0B1");
  timeline.start = {5, 2, 3, 9};
  timeline.end = {7, 4, 8, 10};
  const OpTrack index(timeline);
  const auto seen = [&](double from, double to) {
    std::vector<std::size_t> found;
    index.for_each_visible(Rank(0), from, to, Lane::Work, [&](std::size_t i) { found.push_back(i); });
    return found;
  };
  CHECK(seen(0, 3) == std::vector<std::size_t>{1});
  CHECK(seen(4, 5) == std::vector<std::size_t>{2});
  CHECK(seen(6, 9) == std::vector<std::size_t>{0, 2});
  CHECK(seen(8, 9).empty());
  const std::vector<BusyShares> shares = shares_of(index, Rank(0), {0, 10}, 10);
  CHECK(shares[0].total() == 0);
  CHECK(shares[8].total() == 0);
  for (const std::size_t bin : {2U, 3U, 5U, 6U, 7U, 9U}) CHECK(shares[bin].total() > 0.9F);
}

TEST_CASE("bytes held: the least and the most of every bin", "[tracks]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    const Timeline timeline = random_timeline(random, {4, 2, 20, 30});
    const MemoryModel model = test::random_memory(random, timeline.schedule->placement());
    const OpTrack index(timeline);
    std::vector<std::vector<MemoryStep>> curves;
    each_memory_curve(timeline, model,
                      [&](Rank, const std::vector<MemoryStep>& curve) { curves.push_back(curve); });
    for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank) {
      const auto& curve = curves[rank.at()];
      if (timeline.steps == 1) REQUIRE(curve == memory_curve(timeline, model, rank));
      const TimeRange range = random_range(random, index.span());
      const int bins = static_cast<int>(random.between(1, 50));
      const MemoryPyramid coarse(curve, index.span(), curve.size(), false);
      std::vector<Extent> exact(static_cast<std::size_t>(bins));
      std::vector<Extent> cells = exact;
      MemoryPyramid(curve, index.span(), 1, true).extents(range, exact);
      coarse.extents(range, cells);
      for (int bin = 0; bin < bins; ++bin) {
        const double from =
            std::max(range.start + bin * range.length() / bins, static_cast<double>(index.span().start));
        const double to =
            std::min(range.start + (bin + 1) * range.length() / bins, static_cast<double>(index.span().end));
        Extent expected{kMaxTicks, 0};
        for (std::size_t i = 0; i < curve.size(); ++i) {
          const double start = static_cast<double>(curve[i].time);
          const double end = i + 1 < curve.size() ? static_cast<double>(curve[i + 1].time)
                                                  : static_cast<double>(index.span().end);
          if (start >= to || end <= from) continue;
          expected.least = std::min(expected.least, curve[i].bytes);
          expected.most = std::max(expected.most, curve[i].bytes);
        }
        if (from >= to) expected = {};
        const auto at = static_cast<std::size_t>(bin);
        CHECK(exact[at] == expected);
        // Cells reach beyond the bin and round outwards, never inwards.
        const Bytes rounding = coarse.peak() / 65535 + 1;
        CHECK(cells[at].least <= expected.least);
        CHECK(cells[at].most + rounding >= expected.most);
        CHECK(cells[at].most <= coarse.peak());
      }
    }
  }
}

TEST_CASE("rows of messages: what is under way, and for how much of the time", "[tracks]") {
  // Two activations from rank 0 to rank 1 that overlap in [2, 3), one gradient back in [6, 8).
  const std::vector<MessageBar> bars = {{1, 3, Rank(0), Rank(1), 0, 0, false},
                                        {2, 4, Rank(0), Rank(1), 0, 0, false},
                                        {6, 8, Rank(1), Rank(0), 0, 0, true}};
  const MessageTrack track(bars, 3);
  const std::size_t sent = MessageTrack::row_of(Rank(0), MessageLane::Send);
  CHECK(track.bars(sent).size() == 2);
  CHECK(track.bars(MessageTrack::row_of(Rank(2), MessageLane::Receive)).empty());
  const std::size_t received = MessageTrack::row_of(Rank(1), MessageLane::Receive);
  const Slice seen = track.visible(received, {3, 10});
  REQUIRE(seen.size() == 1);
  CHECK(track.bars(received)[seen.first] == 1);
  std::vector<float> shares(4 * 2);
  track.shares(sent, {0, 8}, 4, shares);
  CHECK(shares[0] == Approx(0.5));  // [1, 2) of [0, 2)
  CHECK(shares[2] == Approx(1));
  CHECK(shares[4] + shares[5] == 0);
  shares.assign(2 * 2, 0);
  track.shares(MessageTrack::row_of(Rank(0), MessageLane::Receive), {0, 8}, 2, shares);
  CHECK(shares[3] == Approx(0.5));
}

}  // namespace op_track_test
