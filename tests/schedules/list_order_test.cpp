// Chimera and Hanayo against the figures of their papers, and what their orders promise; sliced and endless 1F1B.

#include <algorithm>
#include <cmath>
#include <string>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/recorded.hpp"
#include "support/catch.hpp"

namespace pipeloom::list_order_test {
namespace {

constexpr UniformCosts kEqual = {.forward = 1, .backward = 1, .backward_input = 1, .backward_weight = 0};
constexpr UniformCosts kTwice = {.forward = 1, .backward = 2, .backward_input = 1, .backward_weight = 1};

Totals totals_of(const std::string& name, const Params& params, const UniformCosts& costs) {
  const Schedule schedule = recorded::make_named(name, params);
  return recorded::evaluate(schedule, uniform_costs(schedule.placement(), costs));
}

/// Idle over all time: 1 - (what one rank does) / makespan, for equal stages.
double bubble_ratio(const Totals& totals) {
  return 1 - static_cast<double>(totals.busy[0]) / static_cast<double>(totals.makespan);
}

/// Two decimals, as figures are quoted.
double percent(double ratio) {
  return std::round(ratio * 100);
}

}  // namespace

TEST_CASE("chimera: the order of p = 4, m = 4") {
  // Microbatches 0 and 1 go down, 2 and 3 up.
  const Schedule schedule = recorded::make_named("chimera", {.ranks = 4, .microbatches = 4});
  CHECK(queue_text(schedule, Rank(0)) == "0F0 0F1 3F2 3B2 3F3 3B3 0B0 0B1");
  CHECK(queue_text(schedule, Rank(1)) == "1F0 2F2 1F1 2F3 2B2 1B0 2B3 1B1");
  CHECK(queue_text(schedule, Rank(2)) == "1F2 2F0 1F3 2F1 2B0 1B2 2B1 1B3");
  CHECK(queue_text(schedule, Rank(3)) == "0F2 0F3 3F0 3B0 3F1 3B1 0B2 0B3");
}

TEST_CASE("chimera: bubble ratios of the paper at m = p") {
  for (int p = 2; p <= 16; p += 2) {
    const Params params{.ranks = p, .microbatches = p};
    INFO("p = " << p);
    CHECK(bubble_ratio(totals_of("chimera", params, kEqual)) == Approx((p - 2.0) / (2.0 * p + p - 2)));
    CHECK(bubble_ratio(totals_of("chimera", params, kTwice)) == Approx((p - 2.0) / (1.5 * p + p - 2)));
  }
}

TEST_CASE("chimera: units one after another keep the idle time of one, F = B") {
  for (int units = 1; units <= 6; ++units)
    CHECK(totals_of("chimera", {.ranks = 8, .microbatches = 8 * units}, kEqual).makespan == 16 * units + 6);
}

TEST_CASE("chimera: forward doubling pays off where B = 2F, and costs activations") {
  for (int units = 2; units <= 6; units += 2) {
    const int m = 8 * units;
    const Totals direct = totals_of("chimera", {.ranks = 8, .microbatches = m}, kTwice);
    const Totals doubling =
        totals_of("chimera", {.ranks = 8, .microbatches = m, .options = {.variant = "doubling"}}, kTwice);
    CHECK(direct.makespan == 3 * m + 6 * (units + 1));
    CHECK(doubling.makespan == 3 * m + 9);
    CHECK(*std::max_element(direct.peak_live.begin(), direct.peak_live.end()) == 8);
    CHECK(*std::max_element(doubling.peak_live.begin(), doubling.peak_live.end()) == 16);
  }
}

TEST_CASE("chimera: doubled forwards stand next to each other") {
  for (const char* variant : {"doubling", "halving"}) {
    const Schedule schedule =
        recorded::make_named("chimera", {.ranks = 6, .microbatches = 16, .options = {.variant = variant}});
    for (Rank rank{0}; rank < Rank(6); ++rank) {
      const auto queue = schedule.queue(rank);
      for (std::size_t i = 0; i < queue.size(); ++i) {
        const Op op = queue[i];
        if (op.kind() != OpKind::Forward || op.microbatch().value() % 2 != 0) continue;
        CHECK(queue[i + 1] == forward(op.stage(), op.microbatch() + 1));
      }
    }
  }
}

TEST_CASE("hanayo: 37, 29 and 25 percent idle for 8 ranks, 8 microbatches and 1, 2, 4 waves") {
  const auto idle = [](int waves, const std::string& variant) {
    return percent(bubble_ratio(totals_of(
        "hanayo",
        {.ranks = 8, .microbatches = 8, .chunks = 2 * waves, .options = {.waves = waves, .variant = variant}},
        kTwice)));
  };
  CHECK(idle(1, "") == 37);
  CHECK(idle(2, "") == 29);
  CHECK(idle(4, "") == 25);
  CHECK(idle(1, "oldest") == 37);
  CHECK(idle(2, "oldest") == 24);
  CHECK(idle(4, "oldest") == 14);
}

TEST_CASE("hanayo: chunks follow waves") {
  const auto& hanayo = *schedules::find("hanayo").generator;
  CHECK(refusal(hanayo, {.chunks = 3}) ==
        "hanayo with ranks = 4, chunks = 3, microbatches = 8 has two chunks per wave, that is 2 for waves = "
        "1; it "
        "needs any ranks, any microbatches, chunks = 2 waves");
  CHECK(refusal(hanayo, {.chunks = 4, .options = {.waves = 2}}).empty());
  CHECK(refusal(hanayo, {.chunks = 2, .options = {.waves = 0}}) ==
        "hanayo needs waves from 1 to 524288, not 0");
}

TEST_CASE(
    "played orders of long runs, whose middle is not played, are complete and as fast as they should be") {
  for (const int waves : {1, 2, 3})
    for (const char* variant : {"last-stage", "oldest"}) {
      const Params params{.ranks = 4,
                          .microbatches = 301,
                          .chunks = 2 * waves,
                          .options = {.waves = waves, .variant = variant}};
      CHECK(validate(recorded::make_named("hanayo", params)).empty());
    }
  for (const char* variant : {"direct", "doubling"})
    CHECK(validate(recorded::make_named("chimera",
                                        {.ranks = 6, .microbatches = 302, .options = {.variant = variant}}))
              .empty());
  CHECK(totals_of("chimera", {.ranks = 8, .microbatches = 800}, kEqual).makespan == 2 * 800 + 6);
  CHECK(totals_of("chimera", {.ranks = 8, .microbatches = 800, .options = {.variant = "doubling"}}, kTwice)
            .makespan == 3 * 800 + 9);
}

TEST_CASE("seq-1f1b: forwards of slices in order, backwards in reverse") {
  const Schedule schedule = recorded::make_named(
      "seq-1f1b", {.ranks = 2, .microbatches = 2, .options = {.slices = equal_slices(3)}});
  CHECK(queue_text(schedule, Rank(0)) ==
        "0F0.0 0F0.1 0F0.2 0F1.0 0B0.2 0F1.1 0B0.1 0F1.2 0B0.0 0B1.2 0B1.1 0B1.0");
  CHECK(queue_text(schedule, Rank(1)) ==
        "1F0.0 1F0.1 1F0.2 1B0.2 1F1.0 1B0.1 1F1.1 1B0.0 1F1.2 1B1.2 1B1.1 1B1.0");
}

TEST_CASE(
    "seq-1f1b: 18 percent idle with 4 slices where 1f1b has 47, and 11 slices live instead of 8 "
    "microbatches") {
  const Params sliced{.ranks = 8, .microbatches = 8, .options = {.slices = equal_slices(4)}};
  const Totals totals = totals_of("seq-1f1b", sliced, kTwice);
  CHECK(percent(bubble_ratio(totals)) == 18);
  CHECK(percent(bubble_ratio(totals_of("1f1b", {.ranks = 8, .microbatches = 8}, kTwice))) == 47);
  CHECK(totals.peak_live[0] == 11);
  CHECK(refusal(*schedules::find("1f1b").generator, sliced) == "1f1b has no slices: remove slices");
}

TEST_CASE("seq-1f1b with one slice and pipedream-2bw with one update are 1f1b") {
  for (const int m : {4, 7, 12}) {
    const Params params{.ranks = 4, .microbatches = m};
    const Schedule plain = recorded::make_named("1f1b", params);
    CHECK(recorded::make_named("seq-1f1b", params) == plain);
    CHECK(recorded::make_named("pipedream-2bw", params) == plain);
  }
}

TEST_CASE("pipedream-2bw: two versions of the weights are enough") {
  const int p = 5;
  const int m = 6;
  const int updates = 4;
  const Schedule schedule =
      recorded::make_named("1f1b-async", {.ranks = p, .microbatches = m, .options = {.updates = updates}});
  REQUIRE(schedule.microbatches() == m * updates);
  for (Rank rank{0}; rank < Rank(p); ++rank) {
    int done = 0;
    // A forward of update i may need the weights after update i - 2: all their backwards have run.
    for (const Op op : schedule.queue(rank)) {
      if (op.kind() == OpKind::Backward) ++done;
      if (op.kind() == OpKind::Forward) CHECK(done >= (op.microbatch().value() / m - 1) * m);
    }
  }
  CHECK(refusal(*schedules::find("pipedream-2bw").generator, {.ranks = 8, .microbatches = 4}) ==
        "pipedream-2bw needs at least 8 microbatches with ranks = 8, not 4; try 8");
}

}  // namespace pipeloom::list_order_test
