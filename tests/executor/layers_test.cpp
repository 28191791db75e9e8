// What the ops of real layers compute, one function at a time: against finite differences of the formulas of executor/block.hpp, written
// once more here in double precision, and against each other.

#include "executor/layers.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "executor/in_order.hpp"
#include "executor/tensor_math.hpp"
#include "sim/text.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor {
namespace {

using Doubles = std::vector<double>;

Doubles widened(std::span<const float> values) {
  return {values.begin(), values.end()};
}

/// y of one block for one row, straight from the formulas.
Doubles row_through_block(const BlockShape& shape, const Doubles& p, const Doubles& x) {
  const std::size_t d = shape.width;
  const std::size_t h = shape.hidden;
  const double* gain = p.data();
  const double* shift = gain + d;
  const double* w1 = shift + d;
  const double* b1 = w1 + d * h;
  const double* w2 = b1 + h;
  const double* b2 = w2 + h * d;
  double mean = 0;
  double square = 0;
  for (const double value : x) mean += value / static_cast<double>(d);
  for (const double value : x) square += (value - mean) * (value - mean) / static_cast<double>(d);
  Doubles y = x;
  for (std::size_t j = 0; j < d; ++j) y[j] += b2[j];
  for (std::size_t k = 0; k < h; ++k) {
    double z = b1[k];
    for (std::size_t j = 0; j < d; ++j)
      z += ((x[j] - mean) / std::sqrt(square + 1e-5) * gain[j] + shift[j]) * w1[j * h + k];
    const double g = z * 0.5 * std::erfc(-z / std::sqrt(2.0));
    for (std::size_t j = 0; j < d; ++j) y[j] += g * w2[k * d + j];
  }
  return y;
}

/// sum e y over all rows: its derivatives are what the backward functions return for the output gradient e.
double weighted_output(const BlockShape& shape, const Doubles& p, const Doubles& x, const Doubles& e) {
  double sum = 0;
  for (std::size_t first = 0; first < x.size(); first += shape.width) {
    const auto row = x.begin() + static_cast<std::ptrdiff_t>(first);
    const Doubles y =
        row_through_block(shape, p, Doubles(row, row + static_cast<std::ptrdiff_t>(shape.width)));
    for (std::size_t j = 0; j < y.size(); ++j) sum += y[j] * e[first + j];
  }
  return sum;
}

/// Central differences: their own error is about 1e-10 (step^2 times the third derivative, and rounding / step), so what remains is the
/// single precision of the functions under test, some 1e-6 of values near 1.
Doubles differences(Doubles at, const std::function<double(const Doubles&)>& fn) {
  constexpr double kStep = 1e-5;
  Doubles slopes;
  for (double& value : at) {
    const double middle = value;
    value = middle + kStep;
    const double above = fn(at);
    value = middle - kStep;
    slopes.push_back((above - fn(at)) / (2 * kStep));
    value = middle;
  }
  return slopes;
}

double largest_gap(std::span<const float> found, const Doubles& wanted) {
  REQUIRE(found.size() == wanted.size());
  double gap = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    gap = std::max(gap, std::fabs(static_cast<double>(found[i]) - wanted[i]));
  return gap;
}

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

TEST_CASE("products of matrices are those of the definition, replaced or added") {
  // 2x3 times 3x2: {1 2 3; 4 5 6} {7 8; 9 10; 11 12} = {58 64; 139 154}.
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<float> a_columns = {1, 4, 2, 5, 3, 6};
  const std::vector<float> b = {7, 8, 9, 10, 11, 12};
  const std::vector<float> b_columns = {7, 9, 11, 8, 10, 12};
  const std::vector<float> once = {58, 64, 139, 154};
  const std::vector<float> twice = {116, 128, 278, 308};
  std::vector<float> c(4, 99.0F);
  multiply({2, 2, 3}, a, b, c, Into::Replace);
  CHECK(c == once);
  multiply({2, 2, 3}, a, b, c, Into::Add);
  CHECK(c == twice);
  multiply_transposed_left({2, 2, 3}, a_columns, b, c, Into::Replace);
  CHECK(c == once);
  multiply_transposed_left({2, 2, 3}, a_columns, b, c, Into::Add);
  CHECK(c == twice);
  multiply_transposed_right({2, 2, 3}, a, b_columns, c, Into::Replace);
  CHECK(c == once);
  multiply_transposed_right({2, 2, 3}, a, b_columns, c, Into::Add);
  CHECK(c == twice);
  CHECK_FALSE(multiplier_name().empty());
}

TEST_CASE("products have the same bits wherever their operands lie") {
  // The proof in floats rests on it (gradient_check.hpp). Sizes that no vector divides; operands moved by 0 to 7 floats.
  const ProductShape shape{19, 53, 37};
  const auto values = [](std::size_t count, std::size_t moved, int which) {
    LayersConfig config;
    config.width = static_cast<int>(count);
    std::vector<float> out(moved, 0.0F);
    for (const float value : input_rows(config, Microbatch(which), {0, 1})) out.push_back(value);
    return out;
  };
  const auto product = [&](std::size_t moved, auto&& function) {
    const std::vector<float> a = values(19 * 37, moved, 0);
    const std::vector<float> b = values(37 * 53, moved, 1);
    std::vector<float> c = values(19 * 53, moved, 2);
    function(shape, std::span(a).subspan(moved), std::span(b).subspan(moved), std::span(c).subspan(moved),
             Into::Add);
    return std::vector<float>(c.begin() + static_cast<std::ptrdiff_t>(moved), c.end());
  };
  for (std::size_t moved = 1; moved < 8; ++moved) {
    CHECK(product(moved, multiply) == product(0, multiply));
    CHECK(product(moved, multiply_transposed_left) == product(0, multiply_transposed_left));
    CHECK(product(moved, multiply_transposed_right) == product(0, multiply_transposed_right));
  }
}

TEST_CASE("a block's output, input gradient and weight gradient are those of its formulas") {
  const LayersConfig config = tiny();
  const BlockShape shape = config.block();
  const std::vector<float> parameters = stage_parameters(config, Stage(0));
  const Tensor x = numbers(config, 0).values;
  const Tensor e = numbers(config, 1).values;
  BlockTape tape;
  const Tensor y = block_forward(shape, parameters, x, tape);
  const Tensor dx = block_input_gradient(shape, parameters, e, tape);
  std::vector<float> dw(shape.parameters());
  block_weight_gradient(shape, tape, dw);

  const Doubles wide_p = widened(parameters);
  const Doubles wide_x = widened(x);
  const Doubles wide_e = widened(e);
  Doubles wide_y;
  for (std::size_t first = 0; first < x.size(); first += shape.width)
    for (const double value :
         row_through_block(shape, wide_p, widened(std::span(x).subspan(first, shape.width))))
      wide_y.push_back(value);
  CHECK(largest_gap(y, wide_y) < 2e-6);
  CHECK(largest_gap(dx, differences(wide_x, [&](const Doubles& at) {
                      return weighted_output(shape, wide_p, at, wide_e);
                    })) < 5e-6);
  CHECK(largest_gap(dw, differences(wide_p, [&](const Doubles& at) {
                      return weighted_output(shape, at, wide_x, wide_e);
                    })) < 5e-6);
}

TEST_CASE(
    "a stack of blocks and its loss: finite differences of the loss agree with every weight's gradient") {
  LayersConfig config = tiny();
  config.blocks = 2;
  const BlockShape shape = config.block();
  const RowRange rows{0, static_cast<std::size_t>(config.rows)};
  const std::vector<float> parameters = stage_parameters(config, Stage(0));
  const Tensor x = input_rows(config, Microbatch(2), rows);
  const Tensor target = target_rows(config, Microbatch(2), rows);
  const auto loss = [&](const Doubles& p) {
    const auto half = static_cast<std::ptrdiff_t>(shape.parameters());
    double sum = 0;
    for (std::size_t first = 0; first < x.size(); first += shape.width) {
      Doubles row = widened(std::span(x).subspan(first, shape.width));
      row = row_through_block(shape, Doubles(p.begin(), p.begin() + half), row);
      row = row_through_block(shape, Doubles(p.begin() + half, p.end()), row);
      for (std::size_t j = 0; j < row.size(); ++j)
        sum += 0.5 * std::pow(row[j] - static_cast<double>(target[first + j]), 2);
    }
    return sum;
  };

  std::vector<BlockTape> tapes;
  Tensor e = stage_forward(config, parameters, x, tapes);
  CHECK(squared_error(e, target) == Approx(loss(widened(parameters))).epsilon(1e-6));
  std::vector<float> gradient(parameters.size());
  static_cast<void>(stage_backward(config, parameters, e, tapes, gradient));
  CHECK(largest_gap(gradient, differences(widened(parameters), loss)) < 3e-5);
}

TEST_CASE("integer layers are a signed permutation and a bias, through one block or many") {
  LayersConfig config = tiny();
  config.arithmetic = Arithmetic::Integer;
  config.hidden = 23;  // 4 x 5, and 3 that do nothing
  config.blocks = 9;
  std::vector<BlockTape> tapes;
  const std::vector<float> parameters = stage_parameters(config, Stage(2));
  const Tensor zero = stage_forward(config, parameters, Tensor(5, 0.0F), tapes);
  for (std::size_t i = 0; i < 5; ++i) {
    // A large number somewhere comes out somewhere, with one sign or the other, on top of what the biases alone give.
    Tensor x(5, 0.0F);
    x[i] = 1000.0F;
    const Tensor y = stage_forward(config, parameters, x, tapes);
    int moved = 0;
    for (std::size_t j = 0; j < 5; ++j) {
      CHECK((y[j] == zero[j] || std::fabs(y[j]) >= 1000.0F - 9));
      moved += y[j] != zero[j] ? 1 : 0;
    }
    CHECK(moved == 1);
  }
}

TEST_CASE("weights differ between stages, blocks and seeds, and are the same each time") {
  LayersConfig config = tiny();
  config.blocks = 2;
  const std::vector<float> first = stage_parameters(config, Stage(0));
  CHECK(first == stage_parameters(config, Stage(0)));
  CHECK(first != stage_parameters(config, Stage(1)));
  const std::size_t half = first.size() / 2;
  CHECK_FALSE(std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(half),
                         first.begin() + static_cast<std::ptrdiff_t>(half)));
  // Blocks are numbered through the model: two stages of one block hold what one stage of two blocks holds.
  config.blocks = 1;
  const std::vector<float> second = stage_parameters(config, Stage(1));
  CHECK(std::equal(second.begin(), second.end(), first.begin() + static_cast<std::ptrdiff_t>(half)));
  ++config.seed;
  CHECK(second != stage_parameters(config, Stage(1)));
}

TEST_CASE("rows of a microbatch are the rows of its slices") {
  const LayersConfig config = tiny();
  CHECK(rows_of_slice(config, 0, 3).last == 1);  // floor(4 / 3)
  CHECK(rows_of_slice(config, 1, 3).last == 2);  // floor(8 / 3)
  CHECK(rows_of_slice(config, 2, 3).last == 4);
  Tensor joined;
  for (int slice = 0; slice < 3; ++slice)
    for (const float value : target_rows(config, Microbatch(5), rows_of_slice(config, slice, 3)))
      joined.push_back(value);
  CHECK(joined == target_rows(config, Microbatch(5), {0, 4}));
}

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
