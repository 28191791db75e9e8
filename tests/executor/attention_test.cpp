// What a block with attention computes: against finite differences of its formulas in double precision, for a microbatch in one piece
// and cut into slices; and which rows see which.

#include "executor/layers/attention.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "executor/in_doubles.hpp"
#include "executor/layers/model.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::attention_test {
namespace {

LayersConfig tiny(int heads, int blocks = 1) {
  LayersConfig config;
  config.width = 6;
  config.hidden = 7;
  config.rows = 5;
  config.blocks = blocks;
  config.seed = 3;
  config.heads = heads;
  return config;
}

/// What a stage makes of one microbatch, all slices together.
struct Outcome {
  Tensor y;
  Tensor dx;
  std::vector<float> dw;
};

void put_rows(const LayersConfig& config, std::span<const float> part, RowRange rows, Tensor& whole) {
  whole.resize(static_cast<std::size_t>(config.rows * config.width));
  std::copy(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(rows.first) * config.width);
}

/// Input and output gradient are those of microbatches 0 and 1.
Outcome run_in_slices(const LayersConfig& config, int slices) {
  const std::vector<float> parameters = stage_parameters(config, Stage(0));
  Outcome out;
  out.dw.resize(parameters.size());
  StageKeys keys = no_keys_yet(config, slices);
  std::vector<std::vector<BlockTape>> tapes(static_cast<std::size_t>(slices));
  for (int slice = 0; slice < slices; ++slice) {
    const RowRange rows = rows_of_slice(config, slice, slices);
    put_rows(config,
             stage_forward(config, parameters, input_rows(config, Microbatch(0), rows),
                           tapes[static_cast<std::size_t>(slice)], {&keys, slice}),
             rows, out.y);
  }
  for (int slice = slices; slice-- > 0;) {
    const RowRange rows = rows_of_slice(config, slice, slices);
    auto& tape = tapes[static_cast<std::size_t>(slice)];
    put_rows(config,
             stage_input_gradient(config, parameters, input_rows(config, Microbatch(1), rows), tape,
                                  {&keys, slice}),
             rows, out.dx);
    stage_weight_gradient(config, tape, out.dw);
  }
  for (const auto& block : keys)
    for (const SliceKeys& slice : block)
      for_each_key_tensor(slice, [](const Tensor& tensor) { CHECK(tensor.capacity() == 0); });
  return out;
}

Doubles whole_input(const LayersConfig& config, int which) {
  return widened(input_rows(config, Microbatch(which), {0, static_cast<std::size_t>(config.rows)}));
}

}  // namespace

TEST_CASE("a block with attention: output and gradients are those of its formulas, whole or in slices") {
  const int heads = GENERATE(1, 2, 6);
  const LayersConfig config = tiny(heads);
  const BlockShape shape = config.block();
  const Doubles p = widened(stage_parameters(config, Stage(0)));
  const Doubles x = whole_input(config, 0);
  const Doubles e = whole_input(config, 1);
  const Doubles y = through_block(shape, p, x);
  const Doubles dx = differences(x, [&](const Doubles& at) { return weighted_output(shape, p, at, e); });
  const Doubles dw = differences(p, [&](const Doubles& at) { return weighted_output(shape, at, x, e); });
  CHECK(dw.size() == 2 * 6 * 7 + 7 + 3 * 6 + 4 * 36 + 6 * 6);
  for (const int slices : {1, 2, 5}) {  // 5 rows; 2 and 3; one each
    INFO(heads << " heads, " << slices << " slices");
    const Outcome out = run_in_slices(config, slices);
    CHECK(largest_gap(out.y, y) < 3e-6);
    CHECK(largest_gap(out.dx, dx) < 1e-5);
    CHECK(largest_gap(out.dw, dw) < 1e-5);
  }
}

TEST_CASE("a stack of blocks with attention: finite differences agree, whole or in slices") {
  const LayersConfig config = tiny(3, 2);
  const BlockShape shape = config.block();
  const Doubles p = widened(stage_parameters(config, Stage(0)));
  const auto half = static_cast<std::ptrdiff_t>(shape.parameters());
  const Doubles e = whole_input(config, 1);
  const auto through_both = [&](const Doubles& all, const Doubles& x) {
    const Doubles middle = through_block(shape, Doubles(all.begin(), all.begin() + half), x);
    return weighted_output(shape, Doubles(all.begin() + half, all.end()), middle, e);
  };
  const Doubles x = whole_input(config, 0);
  const Doubles dx = differences(x, [&](const Doubles& at) { return through_both(p, at); });
  const Doubles dw = differences(p, [&](const Doubles& at) { return through_both(at, x); });
  for (const int slices : {1, 3}) {
    INFO(slices << " slices");
    const Outcome out = run_in_slices(config, slices);
    CHECK(largest_gap(out.dx, dx) < 3e-5);
    CHECK(largest_gap(out.dw, dw) < 3e-5);
  }
}

TEST_CASE("a row attends to itself and the rows before it, equally where all keys are equal") {
  // A gain of 0 makes every row of n the shift, so all keys are equal and P[i][j] = 1 / (i + 1) for j <= i, exactly: e^0 = 1, and sums of
  // ones are exact.
  const LayersConfig config = tiny(2);
  const AttentionShape shape = config.block().attention();
  std::vector<float> parameters = stage_parameters(config, Stage(0));
  const std::span<float> own = std::span(parameters).subspan(config.block().linear_parameters());
  const AttentionParameters<float> p(shape.width, own);
  std::fill(p.gain.begin(), p.gain.end(), 0.0F);

  std::vector<SliceKeys> slices(2);
  AttentionTape first;
  AttentionTape second;
  static_cast<void>(attention_forward(shape, own, input_rows(config, Microbatch(0), {0, 2}), first,
                                      std::span(slices).first(1)));
  static_cast<void>(attention_forward(shape, own, input_rows(config, Microbatch(0), {2, 5}), second, slices));
  // [head][row][context]: two rows of two, then three rows of five.
  const Tensor triangle = {1, 0, 0.5F, 0.5F};
  const float third = 1.0F / 3.0F;
  const Tensor trapezoid = {third, third, third, 0,    0,    0.25F, 0.25F, 0.25F,
                            0.25F, 0,     0.2F,  0.2F, 0.2F, 0.2F,  0.2F};
  Tensor both = triangle;
  both.insert(both.end(), triangle.begin(), triangle.end());
  CHECK(first.probabilities == both);
  both = trapezoid;
  both.insert(both.end(), trapezoid.begin(), trapezoid.end());
  CHECK(second.probabilities == both);
}

TEST_CASE("large scores do not overflow: a row that outweighs all others gets everything") {
  const AttentionShape shape{1, 1};
  // gain 1, shift 1, Wq = Wk = 0, Wv = 0, bq = 1000, bk = 1000, bv = 2, Wo = 1, bo = 0: a row of width 1 is its own mean, so n = shift = 1.
  // Scores are 10^6 in each row: half of v, twice, is v.
  const std::vector<float> parameters = {1, 1, 0, 0, 0, 1000, 1000, 2, 1, 0};
  REQUIRE(parameters.size() == shape.parameters());
  std::vector<SliceKeys> slices(1);
  AttentionTape tape;
  CHECK(attention_forward(shape, parameters, {5, 7}, tape, slices) == Tensor{7, 9});
}

TEST_CASE("a pass that finds its keys there leaves them, and gives the same bits") {
  const LayersConfig config = tiny(2, 2);
  const std::vector<float> parameters = stage_parameters(config, Stage(0));
  StageKeys keys = no_keys_yet(config, 2);
  std::vector<BlockTape> once;
  std::vector<BlockTape> again;
  const Tensor y =
      stage_forward(config, parameters, input_rows(config, Microbatch(0), {0, 2}), once, {&keys, 0});
  const float* place = keys[0][0].keys.data();
  CHECK(stage_forward(config, parameters, input_rows(config, Microbatch(0), {0, 2}), again, {&keys, 0}) == y);
  CHECK(keys[0][0].keys.data() == place);
  for (std::size_t block = 0; block < 2; ++block) {
    CHECK(once[block].attention.probabilities == again[block].attention.probabilities);
    CHECK(once[block].attention.mixed == again[block].attention.mixed);
  }
}

TEST_CASE("weights of the attention lie behind the others, which are those of a block without it") {
  const LayersConfig with = tiny(2);
  const LayersConfig without = tiny(0);
  const std::vector<float> all = stage_parameters(with, Stage(0));
  const std::vector<float> linear = stage_parameters(without, Stage(0));
  CHECK(linear.size() == with.block().linear_parameters());
  CHECK(std::equal(linear.begin(), linear.end(), all.begin()));
  CHECK(no_keys_yet(without, 3).empty());
}

TEST_CASE("heads that do not divide the width, or with integers, are refused") {
  LayersConfig config = tiny(4);
  CHECK_THROWS_WITH(require_possible(config, {}),
                    "layers: heads is 4; allowed is a divisor of width, 6, or 0");
  config.heads = -1;
  CHECK_THROWS_WITH(require_possible(config, {}), "layers: heads is -1; it must be at least 0");
  config.heads = 3;
  CHECK_NOTHROW(require_possible(config, {}));
  config.arithmetic = Arithmetic::Integer;
  config.hidden = 24;
  CHECK_THROWS_WITH(
      require_possible(config, {}),
      "integer layers: heads is 3, but a softmax is not exact on integers; give 0 heads, or take "
      "floats");
}

}  // namespace pipeloom::executor::attention_test
