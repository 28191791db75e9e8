// What the ops of one rank compute, hold and refuse.

#include "executor/layers.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "executor/in_order.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor {
namespace {

LayersConfig tiny() {
  LayersConfig config;
  config.width = 5;
  config.hidden = 7;
  config.rows = 4;
  config.seed = 3;
  return config;
}

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

TEST_CASE("a message holds the rows of its slice") {
  LayersConfig config = tiny();
  Layers layers(config);
  const Schedule schedule = parse_schedule("0F0 0B0 | 1F0 1B0");
  CHECK(layers.message_elements(schedule, forward(Stage(0), Microbatch(0))) == 20);  // 4 rows of 5
  CHECK(layers.config() == config);
}

}  // namespace pipeloom::executor
