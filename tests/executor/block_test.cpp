// What one block and a stack of them compute: against finite differences of the formulas of executor/layers/block.hpp in double precision; and
// what the model is made of.

#include "executor/layers/block.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "executor/in_doubles.hpp"
#include "executor/layers/model.hpp"
#include "executor/layers/tensor_math.hpp"
#include "executor/small_layers.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::block_test {
namespace {

Tensor numbers(const LayersConfig& config, int which) {
  return input_rows(config, Microbatch(which), {0, static_cast<std::size_t>(config.rows)});
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

TEST_CASE("products of columns of wider matrices are those of the columns alone") {
  // The matrices above, each with a column more that is not to be touched or read.
  const std::vector<float> a = {1, 2, 3, -9, 4, 5, 6, -9};
  const std::vector<float> a_columns = {1, 4, -9, 2, 5, -9, 3, 6, -9};
  const std::vector<float> b = {7, 8, -9, 9, 10, -9, 11, 12, -9};
  const std::vector<float> b_columns = {7, 9, 11, -9, 8, 10, 12, -9};
  const std::vector<float> once = {58, 64, -5, 139, 154, -5};
  const std::vector<float> twice = {116, 128, -5, 278, 308, -5};
  const auto sizes = [](std::size_t stride_a, std::size_t stride_b) {
    return ProductShape{
        .rows = 2, .columns = 2, .depth = 3, .stride_a = stride_a, .stride_b = stride_b, .stride_c = 3};
  };
  std::vector<float> c = {99, 99, -5, 99, 99, -5};
  multiply(sizes(4, 3), a, b, c, Into::Replace);
  CHECK(c == once);
  multiply(sizes(4, 3), a, b, c, Into::Add);
  CHECK(c == twice);
  multiply_transposed_left(sizes(3, 3), a_columns, b, c, Into::Replace);
  CHECK(c == once);
  multiply_transposed_left(sizes(3, 3), a_columns, b, c, Into::Add);
  CHECK(c == twice);
  multiply_transposed_right(sizes(4, 4), a, b_columns, c, Into::Replace);
  CHECK(c == once);
  multiply_transposed_right(sizes(4, 4), a, b_columns, c, Into::Add);
  CHECK(c == twice);
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
  const Tensor x = numbers(config, 0);
  const Tensor e = numbers(config, 1);
  BlockTape tape;
  const Tensor y = block_forward(shape, parameters, x, tape);
  const Tensor dx = block_input_gradient(shape, parameters, e, tape);
  std::vector<float> dw(shape.parameters());
  block_weight_gradient(shape, tape, dw);

  const Doubles wide_p = widened(parameters);
  const Doubles wide_x = widened(x);
  const Doubles wide_e = widened(e);
  CHECK(largest_gap(y, through_block(shape, wide_p, wide_x)) < 2e-6);
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
    const Doubles middle = through_block(shape, Doubles(p.begin(), p.begin() + half), widened(x));
    const Doubles y = through_block(shape, Doubles(p.begin() + half, p.end()), middle);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      sum += 0.5 * std::pow(y[i] - static_cast<double>(target[i]), 2);
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

}  // namespace pipeloom::executor::block_test
