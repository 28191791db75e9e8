// Queues of schedules that say a period: each size is the one before with a block more in every queue.

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/engine/repetition.hpp"
#include "support/catch.hpp"

namespace period_test {

using namespace pipeloom;
using namespace pipeloom::schedules;

namespace {

/// The cuts of the schedule of that number of microbatches; nullopt where it refuses them, or holds no block yet.
std::optional<RepeatingQueues> cuts_of(const Generator& generator, Params params, int microbatches,
                                       int period) {
  params.microbatches = microbatches;
  Params longer = params;
  longer.microbatches += period;
  if (!refusal(generator, params).empty() || !refusal(generator, longer).empty()) return std::nullopt;
  return RepeatingQueues::find(make(generator, params), make(generator, longer));
}

/// Shapes of a schedule: ranks, chunks and a first number of microbatches of every residue of the period.
std::vector<Params> shapes_of(const Generator& generator) {
  std::vector<Params> out;
  for (const int ranks : {2, 3, 4, 6, 8})
    for (const int chunks : {1, 2, 3, 4})
      for (int extra = 0; extra < ranks; ++extra) {
        Params params{.ranks = ranks, .microbatches = 8 * ranks + extra, .chunks = chunks};
        complete(generator, params, chunks);
        if (params.chunks == chunks && refusal(generator, params).empty()) out.push_back(params);
      }
  return out;
}

TEST_CASE("a schedule that says its period has one block more in every queue after each", "[period]") {
  constexpr int kFurther = 5;
  for (const Generator& generator : all()) {
    if (!generator.period) continue;
    INFO(generator.name);
    const std::vector<Params> shapes = shapes_of(generator);
    REQUIRE_FALSE(shapes.empty());
    for (const Params& params : shapes) {
      INFO(fmt::format("{} ranks, {} chunks, {} microbatches", params.ranks, params.chunks,
                       params.microbatches));
      const int period = generator.period(params);
      const auto first = cuts_of(generator, params, params.microbatches, period);
      REQUIRE(first);
      for (int more = 1; more <= kFurther; ++more) {
        const auto next = cuts_of(generator, params, params.microbatches + more * period, period);
        REQUIRE(next);
        CHECK(next->blocks() == first->blocks() + static_cast<std::size_t>(more));
        for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
          CHECK(next->cut(rank, 0) == first->cut(rank, 0));
          CHECK(next->block_ops(rank) == first->block_ops(rank));
        }
      }
    }
  }
}

TEST_CASE("a run repeats from the cut on at which its state comes again", "[period]") {
  // Two stages of 1 and 2 ticks forward and 2 and 4 backward: rank 1 works all the time, 6 ticks for each microbatch, so that its state comes again with every
  // block, and rank 0, which waits for it, is 6 ticks later too.
  const Generator& generator = *find("1f1b").generator;
  const auto schedule = make(generator, {.ranks = 2, .microbatches = 12});
  const auto queues = RepeatingQueues::find(schedule, make(generator, {.ranks = 2, .microbatches = 13}));
  REQUIRE(queues);
  CHECK(queues->period() == 1);
  CHECK(queues->block_ops(Rank(0)) == 2);
  std::vector<Ticks> end(schedule.num_ops());
  for (std::size_t i = 0; i < schedule.num_ops(); ++i) {
    const Op op = schedule.ops()[i];
    const auto k = static_cast<Ticks>(op.microbatch().at());
    const bool forward = op.kind() == OpKind::Forward;
    if (op.stage() == Stage(1)) end[i] = 6 * k + (forward ? 3 : 7);
    if (op.stage() == Stage(0)) end[i] = forward ? (k < 2 ? k + 1 : 6 * (k - 2) + 10) : 6 * k + 9;
  }
  const auto repetition = queues->repetition(schedule, end, 4);
  REQUIRE(repetition);
  CHECK(repetition->blocks == 1);
  CHECK(repetition->delay == 6);
}

TEST_CASE("sizes that differ by no whole block have no cuts", "[period]") {
  const Generator& generator = *find("interleaved-1f1b").generator;
  const Params params{.ranks = 4, .microbatches = 32, .chunks = 2};
  Params longer = params;
  longer.microbatches = 36;
  CHECK(RepeatingQueues::find(make(generator, params), make(generator, longer)));
  const Generator& all_forwards = *find("gpipe").generator;
  CHECK_FALSE(RepeatingQueues::find(make(all_forwards, {.ranks = 4, .microbatches = 32}),
                                    make(all_forwards, {.ranks = 4, .microbatches = 33})));
}

}  // namespace
}  // namespace period_test
