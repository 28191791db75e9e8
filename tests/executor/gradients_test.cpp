// Gradients of a pipelined step are those of the same model without a pipeline, for every registered schedule.

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "executor/in_order.hpp"
#include "executor/layers/gradient_check.hpp"
#include "executor/small_layers.hpp"
#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::gradients_test {
namespace {

using schedules::Generator;

/// The two smallest legal m at p = 2, 4 and 8 ranks, v up to 4, with every variant, 1 to 3 slices, 1 and 3 updates.
int for_each_small(const Generator& generator, const std::function<void(const Schedule&)>& fn) {
  int legal = 0;
  for (const int p : {2, 4, 8})
    for (int v = 1; v <= 4; ++v) {
      int found = 0;
      for (int m = 2; m <= 2 * p + 6 && found < 2; ++m) {
        bool any = false;
        for (const Params& params :
             schedules::flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0, 3})) {
          if (!schedules::refusal(generator, params).empty()) continue;
          INFO(schedules::describe(generator, params));
          fn(schedules::make(generator, params));
          any = true;
          ++legal;
        }
        found += any ? 1 : 0;
      }
    }
  return legal;
}

void require_right(const Schedule& schedule, const LayersConfig& config) {
  Layers layers(config);
  Ranks ranks = make_ranks(layers, schedule);
  run_step_in_order(schedule, ranks, 0);
  REQUIRE(first_mismatch(reference_of(config, sizes_of(schedule)),
                         collect_gradients(schedule, gradients_of(ranks))) == "");
}

void require_right_for_every_schedule(const LayersConfig& config,
                                      const std::function<Schedule(const Schedule&)>& change) {
  for (const Generator& generator : schedules::runnable()) {
    const int legal =
        for_each_small(generator, [&](const Schedule& schedule) { require_right(change(schedule), config); });
    INFO(generator.name);
    CHECK(legal >= 6);
  }
}

Schedule as_it_is(const Schedule& schedule) {
  return schedule;
}

Schedule with_both(const Schedule& schedule) {
  return schedules::with_offload(schedules::with_recompute(schedule, {.keep = 1}),
                                 {.chunks = {}, .min_gap = 1});
}

}  // namespace

TEST_CASE("every schedule: gradients of integers are exactly those without a pipeline") {
  require_right_for_every_schedule(small(Arithmetic::Integer), as_it_is);
}

TEST_CASE("every schedule: gradients of floats are those without a pipeline, within the derived tolerance") {
  require_right_for_every_schedule(small(Arithmetic::Float), as_it_is);
}

TEST_CASE("every schedule: recomputation and offload leave the gradients as they are") {
  require_right_for_every_schedule(small(Arithmetic::Integer), with_both);
}

TEST_CASE("every schedule: gradients with attention are those without a pipeline, in slices too") {
  require_right_for_every_schedule(small_with_attention(1), as_it_is);
  require_right_for_every_schedule(small_with_attention(3), with_both);
}

TEST_CASE("every schedule: forward_only gives the losses of the whole step") {
  const int heads = GENERATE(0, 3);
  const LayersConfig config = small_with_attention(heads);
  for (const Generator& generator : schedules::runnable())
    for_each_small(generator, [&](const Schedule& whole) {
      const Schedule schedule = forward_only(whole);
      Layers layers(config);
      Ranks ranks = make_ranks(layers, schedule);
      run_step_in_order(schedule, ranks, 0);
      const Reference& reference = reference_of(config, sizes_of(schedule));
      REQUIRE(collect_gradients(schedule, gradients_of(ranks)).losses == reference.gradients.losses);
      // Between the slices of a microbatch keys and values are held, where there are any.
      const bool holds_keys = heads > 0 && schedule.slices() > 1;
      for (const auto& rank : ranks) REQUIRE((rank->peak_bytes() > 0) == holds_keys);
    });
}

TEST_CASE("several blocks per stage, and a second step that starts from nothing") {
  const auto run = [](LayersConfig config, std::string_view name, int slices) {
    config.blocks = 3;
    const Schedule schedule =
        schedules::make(*schedules::find(name).generator,
                        {.ranks = 3, .microbatches = 4, .options = {.slices = equal_slices(slices)}});
    Layers layers(config);
    Ranks ranks = make_ranks(layers, schedule);
    for (int step = 0; step < 3; ++step) {
      run_step_in_order(schedule, ranks, step);
      CHECK(first_mismatch(reference_of(config, sizes_of(schedule)),
                           collect_gradients(schedule, gradients_of(ranks))) == "");
    }
  };
  run(small(Arithmetic::Integer), "zb-h1", 1);
  run(small(Arithmetic::Float), "zb-h1", 1);
  run(small_with_attention(3), "zb-h1", 1);
  run(small_with_attention(3), "seq1f1b", 3);
}

TEST_CASE("slices of a microbatch add up to the whole of it") {
  const LayersConfig config = small(Arithmetic::Integer);
  const Reference whole = reference_gradients(config, {.stages = 4, .microbatches = 3, .slices = 1});
  // 6 rows in 4 slices: 1, 2, 1 and 2 rows.
  const Reference sliced = reference_gradients(config, {.stages = 4, .microbatches = 3, .slices = 4});
  CHECK(whole.gradients.stages == sliced.gradients.stages);
}

TEST_CASE("slices of a microbatch with attention add up to the whole of it, but for rounding") {
  // The same sums in another order, and products of other shapes: some 1e-7 of the values, times what 4 blocks make of it.
  const LayersConfig config = small_with_attention(3);
  const Reference whole = reference_gradients(config, {.stages = 4, .microbatches = 3, .slices = 1});
  const Reference sliced = reference_gradients(config, {.stages = 4, .microbatches = 3, .slices = 3});
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t i = 0; i < whole.gradients.stages[s].size(); ++i)
      CHECK(std::fabs(whole.gradients.stages[s][i] - sliced.gradients.stages[s][i]) <=
            1e-4F * whole.magnitudes[s][i]);
}

TEST_CASE("a gradient that lost a microbatch is found and named") {
  const LayersConfig config = small(Arithmetic::Integer);
  const Reference reference = reference_gradients(config, {.stages = 2, .microbatches = 2});
  Gradients wrong = reference.gradients;
  CHECK(first_mismatch(reference, wrong) == "");
  // Behind gain[3], shift[3]: W1 is [3][12].
  wrong.stages[1][6 + 12 + 2] += 1.0F;
  const float right = reference.gradients.stages[1][20];
  CHECK(first_mismatch(reference, wrong) ==
        fmt::format(
            "gradient of W1[1][2], block 0 of stage 1: {}; without a pipeline {} (they may differ by 0)",
            right + 1.0F, right));
  // Behind those of the linear layers, 2 x 3 x 12 + 12 + 9 = 93, come gain[3], shift[3], Wqkv[3][9], bqkv[9], Wo[3][3] and bo[3].
  const Reference attending = reference_gradients(small_with_attention(3), {.stages = 1, .microbatches = 1});
  for (const auto& [element, name] :
       {std::pair(93 + 2, "attention gain[2]"), std::pair(93 + 6 + 11, "Wqkv[1][2]"),
        std::pair(93 + 6 + 27 + 8, "bqkv[8]"), std::pair(93 + 42 + 3, "Wo[1][0]"),
        std::pair(93 + 42 + 9 + 2, "bo[2]")}) {
    Gradients off = attending.gradients;
    off.stages[0].at(static_cast<std::size_t>(element)) += 1.0F;
    CHECK_THAT(first_mismatch(attending, off),
               Catch::StartsWith(fmt::format("gradient of {}, block 0 ", name)));
  }
  wrong.losses[1] += 0.5;
  CHECK_THAT(first_mismatch(reference, wrong), Catch::StartsWith("loss of unit 1: "));
}

TEST_CASE("the tolerance is small beside a gradient that lacks one of its microbatches") {
  // Otherwise the comparison in floats would prove nothing: the gradients of one microbatch alone are far outside.
  const LayersConfig config = small_with_attention(GENERATE(0, 3));
  const Reference all = reference_gradients(config, {.stages = 4, .microbatches = 8});
  const Reference fewer = reference_gradients(config, {.stages = 4, .microbatches = 7});
  // The bias of keys moves all scores of a row alike, by q bk, which a softmax does not see: its gradient is 0 but for rounding.
  const std::size_t key_bias = 93 + 6 + 27 + 3;
  std::size_t outside = 0;
  std::size_t elements = 0;
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t i = 0; i < all.gradients.stages[s].size(); ++i) {
      if (i >= key_bias && i < key_bias + 3) continue;
      const double lost =
          static_cast<double>(all.gradients.stages[s][i]) - static_cast<double>(fewer.gradients.stages[s][i]);
      if (std::fabs(lost) > 10 * all.tolerance(s, i)) ++outside;
      ++elements;
    }
  CHECK(outside * 100 >= elements * 99);
}

TEST_CASE("sizes are refused where a sum might not be exact, or not be compared") {
  LayersConfig config = small(Arithmetic::Integer);
  // 6 rows, m microbatches, L = 4 blocks: 6 m 7 10 <= 2^24 = 16777216 up to m = 39945.
  CHECK_NOTHROW(require_possible(config, {.stages = 4, .microbatches = 39945}));
  CHECK_THROWS_WITH(
      require_possible(config, {.stages = 4, .microbatches = 39946}),
      "integer layers: sums of 239676 rows behind 4 blocks may reach 16777320, more than 16777216 is "
      "not exact in single precision; take fewer rows, microbatches, stages or blocks");
  // N = 6 x 174763 + 1 = 2^20 + 3.
  CHECK_THROWS_WITH(
      reference_gradients(small(Arithmetic::Float), {.stages = 1, .microbatches = 174763}),
      "layers: 6 rows in each of 174763 microbatches are too many to compare sums over them; give fewer");
  config.hidden = 11;
  CHECK_THROWS_WITH(require_possible(config, {}),
                    "integer layers: hidden is 11, width 3; hidden must be at least 4 width, 12");
  config.rows = 2;
  CHECK_THROWS_WITH(require_possible(config, {.stages = 1, .microbatches = 1, .slices = 3}),
                    "layers: a microbatch of 2 rows cannot be cut into 3 slices; give it more rows");
  config.blocks = 0;
  CHECK_THROWS_WITH(require_possible(config, {}), "layers: blocks is 0; it must be at least 1");
}

}  // namespace pipeloom::executor::gradients_test
