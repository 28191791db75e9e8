// What the ops of one rank compute, hold and refuse.

#include "executor/layers/layers.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>
#include "executor/in_order.hpp"
#include "executor/small_layers.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::layers_test {
namespace {

Payload numbers(const LayersConfig& config, int which) {
  return {input_rows(config, Microbatch(which), {0, static_cast<std::size_t>(config.rows)})};
}

/// Stage 1 of three on a rank of its own: input and gradient come from outside.
struct MiddleStage {
  MiddleStage(const LayersConfig& config, const std::string& queue)
      : schedule(parse_schedule("0F0 0B0 | " + queue + " | 2F0 2B0")), rank(config, schedule, Rank(1)) {}

  Payload run(OpKind kind, Payload input = {}) {
    return rank.run(Op(kind, Stage(1), Microbatch(0)), 0, std::move(input));
  }
  [[nodiscard]] std::vector<float> gradient() const {
    return {rank.gradient(0).begin(), rank.gradient(0).end()};
  }

  Schedule schedule;
  LayerRank rank;
};

/// Output, input gradient and weight gradient of one pass.
struct Outcome {
  std::vector<float> y;
  std::vector<float> dx;
  std::vector<float> dw;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome run_middle(const LayersConfig& config, const std::string& queue) {
  MiddleStage stage(config, queue);
  Outcome outcome;
  for (const Op op : stage.schedule.queue(Rank(1))) {
    Payload input;
    if (op.kind() == OpKind::Forward) input = numbers(config, 0);
    if (carries_gradient(op.kind())) input = numbers(config, 1);
    Payload out = stage.rank.run(op, 0, std::move(input));
    if (op.kind() == OpKind::Forward) outcome.y = std::move(out.values);
    if (carries_gradient(op.kind())) outcome.dx = std::move(out.values);
  }
  stage.rank.end_step(0);
  outcome.dw = stage.gradient();
  return outcome;
}

}  // namespace

TEST_CASE("B gives what I and W give, and what R, O and L in between leave as it is") {
  LayersConfig config = tiny();
  config.blocks = 3;
  config.heads = GENERATE(0, 5);
  const Outcome plain = run_middle(config, "1F0 1B0");
  CHECK(plain.y.size() == 20);
  CHECK(plain.dx.size() == 20);
  for (const char* queue :
       {"1F0 1I0 1W0", "1F0 1R0 1B0", "1F0 1R0 1I0 1W0", "1F0 1O0 1L0 1B0", "1F0 1O0 1L0 1R0 1I0 1W0"}) {
    INFO(queue);
    CHECK(run_middle(config, queue) == plain);
  }
}

TEST_CASE("what a pass holds: everything, its input only, what W needs, or nothing") {
  // rows 4, width 5, hidden 7. F keeps per block xhat 20, 1/deviation 4, n 20, h 28, g 28 = 100 numbers; I drops 4 and h 28,
  // and adds e 20, dh 28, dn 20: 136. R keeps what F would have. A float has 4 bytes.
  const LayersConfig config = tiny();
  const auto peak_after = [&](const std::string& queue, std::vector<OpKind> kinds) {
    MiddleStage stage(config, queue);
    for (const OpKind kind : kinds) {
      Payload input;
      if (kind == OpKind::Forward) input = numbers(config, 0);
      if (carries_gradient(kind)) input = numbers(config, 1);
      static_cast<void>(stage.run(kind, std::move(input)));
    }
    return stage.rank.peak_bytes();
  };
  using enum OpKind;
  CHECK(peak_after("1F0 1B0", {Forward}) == 400);
  CHECK(peak_after("1F0 1B0", {Forward, Backward}) == 400);
  CHECK(peak_after("1F0 1I0 1W0", {Forward, BackwardInput}) == 544);
  CHECK(peak_after("1F0 1R0 1B0", {Forward}) == 80);
  CHECK(peak_after("1F0 1R0 1B0", {Forward, Recompute}) == 400);
  // Two passes at once, unless the first one is on the host meanwhile.
  const auto two = [&](bool with_offload) {
    const Schedule schedule = parse_schedule(with_offload ? "0F0 0F1 0B1 0B0 | 1F0 1O0 1F1 1B1 1L0 1B0"
                                                          : "0F0 0F1 0B1 0B0 | 1F0 1F1 1B1 1B0");
    Layers layers(config);
    Ranks ranks = make_ranks(layers, schedule);
    run_step_in_order(schedule, ranks, 0);
    return ranks[1]->peak_bytes();
  };
  CHECK(two(false) == 960);  // the last stage also keeps y - target, 20 numbers
  CHECK(two(true) == 480);
}

TEST_CASE("slices that attend to each other: their backward gives the same with R, O and L in between") {
  LayersConfig config = tiny();
  config.blocks = 2;
  config.heads = 5;
  const auto gradient = [&](const std::string& queue) {
    const Schedule schedule = parse_schedule("0F0.0 0F0.1 0B0.1 0B0.0 | " + queue);
    Layers layers(config);
    Ranks ranks = make_ranks(layers, schedule);
    run_step_in_order(schedule, ranks, 0);
    std::vector<std::vector<float>> all = ranks[0]->gradients().slots;
    all.push_back(ranks[1]->gradients().slots[0]);
    return all;
  };
  const auto plain = gradient("1F0.0 1F0.1 1B0.1 1B0.0");
  for (const char* queue : {"1F0.0 1F0.1 1I0.1 1I0.0 1W0.1 1W0.0", "1F0.0 1F0.1 1R0.1 1B0.1 1R0.0 1B0.0",
                            "1F0.0 1O0.0 1F0.1 1B0.1 1L0.0 1B0.0", "1F0.0 1R0.0 1F0.1 1B0.1 1B0.0",
                            "1F0.0 1O0.0 1F0.1 1R0.1 1I0.1 1L0.0 1R0.0 1I0.0 1W0.1 1W0.0"}) {
    INFO(queue);
    CHECK(gradient(queue) == plain);
  }
}

TEST_CASE("what attention holds: keys and values for as long as a slice attends to them") {
  // rows 4, width 6, hidden 7, 2 heads. Without attention F keeps xhat 24, 1/deviation 4, n 24, h 28, g 28 = 108 numbers. The attention
  // adds xhat 24, 1/deviation 4, n 24, q 24, P 2 x 4 x 4 = 32, o 24 = 132, and k, v 48. I drops 4 and h 28, and 4, q 24, P 32, k, v 48; it
  // adds e 24, dh 28, dn 24, and e 24, [dq dk dv] 72, dn 24: 288 - 140 + 196 = 344.
  LayersConfig config = tiny();
  config.width = 6;
  config.heads = 2;
  const auto peak_after = [&](const std::string& queue, const std::vector<std::string>& ops) {
    const Schedule schedule = parse_schedule(queue);
    LayerRank rank(config, schedule, Rank(1));
    for (const Op op : schedule.queue(Rank(1))) {
      if (std::find(ops.begin(), ops.end(), to_text(op)) == ops.end()) continue;
      const std::size_t rows = rows_of_slice(config, op.slice(), schedule.slices()).size();
      const bool is_given = op.kind() == OpKind::Forward || carries_gradient(op.kind());
      static_cast<void>(
          rank.run(op, 0, is_given ? Payload{input_rows(config, Microbatch(0), {0, rows})} : Payload{}));
    }
    return rank.peak_bytes() / sizeof(float);
  };
  const auto whole = [&](const std::string& ops, const std::vector<std::string>& run) {
    return peak_after("0F0 0B0 | " + ops + " | 2F0 2B0", run);
  };
  CHECK(whole("1F0 1B0", {"1F0"}) == 288);
  CHECK(whole("1F0 1B0", {"1F0", "1B0"}) == 288);
  CHECK(whole("1F0 1I0 1W0", {"1F0", "1I0"}) == 344);
  CHECK(whole("1F0 1R0 1B0", {"1F0"}) == 24);
  CHECK(whole("1F0 1R0 1B0", {"1F0", "1R0"}) == 288);
  // Two slices of 2 rows: half of all but P, which is 2 x 2 x 2 = 8 and 2 x 2 x 4 = 16. So F keeps 54 + 50 + 8 = 112 and 120, and 24 of k
  // and v each. I of slice 1 drops 2, 14, 2, 12, P 16 and its k, v 24, adds 98, and adds 24 of dk, dv to slice 0.
  const auto sliced = [&](const std::string& ops, const std::vector<std::string>& run) {
    return peak_after("0F0.0 0F0.1 0B0.1 0B0.0 | " + ops + " | 2F0.0 2F0.1 2B0.1 2B0.0", run);
  };
  const std::string plain = "1F0.0 1F0.1 1I0.1 1I0.0 1W0.1 1W0.0";
  CHECK(sliced(plain, {"1F0.0"}) == 136);
  CHECK(sliced(plain, {"1F0.0", "1F0.1"}) == 136 + 144);
  CHECK(sliced(plain, {"1F0.0", "1F0.1", "1I0.1"}) == 136 + 144 - 70 + 98 + 24);
  // Keys and values of slice 0 stay where it is to run again, or is on the host.
  const std::string again = "1F0.0 1F0.1 1R0.1 1B0.1 1R0.0 1B0.0";
  CHECK(sliced(again, {"1F0.0", "1F0.1"}) == 2 * (12 + 24));
  CHECK(sliced(again, {"1F0.0", "1F0.1", "1R0.1"}) == 12 + 24 + 144);
  CHECK(sliced("1F0.0 1O0.0 1F0.1 1B0.1 1L0.0 1B0.0", {"1F0.0", "1O0.0", "1F0.1"}) == 24 + 144);
}

TEST_CASE("ops out of order, twice, of another rank or with a wrong size are refused by name") {
  const LayersConfig config = tiny();
  MiddleStage stage(config, "1F0 1I0 1W0");
  CHECK_THROWS_WITH(stage.run(OpKind::BackwardInput, numbers(config, 1)),
                    "rank 1 was given 1I0 before what it needs, or twice");
  CHECK_THROWS_WITH(stage.run(OpKind::Forward), "rank 1 was given 0 numbers for 1F0, which takes 20");
  static_cast<void>(stage.run(OpKind::Forward, numbers(config, 0)));
  CHECK_THROWS_AS(stage.run(OpKind::Forward, numbers(config, 0)), std::runtime_error);
  CHECK_THROWS_AS(stage.run(OpKind::BackwardWeight), std::runtime_error);
  CHECK_THROWS_AS(stage.run(OpKind::Reload), std::runtime_error);
  CHECK_THROWS_AS(stage.run(OpKind::Recompute), std::runtime_error);
  static_cast<void>(stage.run(OpKind::Offload));
  CHECK_THROWS_AS(stage.run(OpKind::BackwardInput, numbers(config, 1)), std::runtime_error);
  static_cast<void>(stage.run(OpKind::Reload));
  static_cast<void>(stage.run(OpKind::BackwardInput, numbers(config, 1)));
  CHECK_THROWS_WITH(stage.rank.end_step(0), "rank 1 ended step 0 with unit 0 of stage 1 not finished");
  static_cast<void>(stage.run(OpKind::BackwardWeight));
  CHECK_NOTHROW(stage.rank.end_step(0));
  CHECK_THROWS_WITH(stage.rank.run(forward(Stage(2), Microbatch(0)), 0, numbers(config, 0)),
                    "rank 1 was given 2F0, whose stage is on another rank");
}

TEST_CASE("slices that attend to each other are refused out of order") {
  LayersConfig config = tiny();
  config.heads = 1;
  const Schedule schedule = parse_schedule("0F0.0 0F0.1 0F0.2 0B0.2 0B0.1 0B0.0");
  LayerRank rank(config, schedule, Rank(0));
  const auto run = [&](OpKind kind, int slice) {
    static_cast<void>(rank.run(Op(kind, Stage(0), Microbatch(0)).with_slice(slice), 0, {}));
  };
  using enum OpKind;
  CHECK_THROWS_WITH(run(Forward, 1), "rank 0 was given 0F0.1 before what it needs, or twice");
  run(Forward, 0);
  CHECK_THROWS_AS(run(Backward, 0), std::runtime_error);
  run(Forward, 1);
  CHECK_THROWS_AS(run(Backward, 0), std::runtime_error);
  run(Forward, 2);
  CHECK_THROWS_AS(run(Backward, 1), std::runtime_error);
  run(Backward, 2);
  CHECK_THROWS_AS(run(Backward, 0), std::runtime_error);
  run(Backward, 1);
  run(Backward, 0);
  CHECK_NOTHROW(rank.end_step(0));
}

TEST_CASE("a message holds the rows of its slice") {
  LayersConfig config = tiny();
  Layers layers(config);
  const Schedule schedule = parse_schedule("0F0 0B0 | 1F0 1B0");
  CHECK(layers.message_elements(schedule, forward(Stage(0), Microbatch(0))) == 20);  // 4 rows of 5
  CHECK(layers.config() == config);
}

}  // namespace pipeloom::executor::layers_test
