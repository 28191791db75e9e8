// What kernels compute, without a device: the very functions that they wrap, in loops.

#include "executor/cuda/kernels/kernels.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "executor/cuda/host_engine.hpp"
#include "executor/cuda/host_team.hpp"
#include "executor/cuda/kernels/product.hpp"
#include "executor/layers/model.hpp"
#include "executor/layers/tensor_math.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cuda::kernels_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

float rounded(float value) {
  return widened(narrowed<Bf16>(value));
}

/// Numbers of [-1.5, 1.5).
std::vector<float> numbers(std::size_t count, int which) {
  LayersConfig config;
  config.width = static_cast<int>(count);
  return input_rows(config, Microbatch(which), {0, 1});
}

double gelu(double h) {
  return h * 0.5 * std::erfc(-h / std::sqrt(2.0));
}

}  // namespace

TEST_CASE("bf16 rounds to the nearest of 8 bits, ties to even, and keeps infinities and NaN") {
  CHECK(rounded(1.0F) == 1.0F);
  CHECK(rounded(-0.0F) == 0.0F);
  CHECK(std::signbit(rounded(-0.0F)));
  // Between 1 and 2 the step is 2^-7.
  CHECK(rounded(1.0F + 0.4F / 128) == 1.0F);
  CHECK(rounded(1.0F + 0.6F / 128) == 1.0F + 1.0F / 128);
  CHECK(rounded(1.0F + 0.5F / 128) == 1.0F);
  CHECK(rounded(1.0F + 1.5F / 128) == 1.0F + 2.0F / 128);
  // Integers up to 256 are exact, 257 is not.
  for (int i = -256; i <= 256; ++i) REQUIRE(rounded(static_cast<float>(i)) == static_cast<float>(i));
  CHECK(rounded(257.0F) == 256.0F);
  CHECK(rounded(259.0F) == 260.0F);
  CHECK(rounded(kInfinity) == kInfinity);
  CHECK(rounded(std::numeric_limits<float>::max()) == kInfinity);
  CHECK(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::isnan(rounded(__builtin_bit_cast(float, std::uint32_t{0x7F800001U}))));
  for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const Bf16 value{static_cast<std::uint16_t>(bits)};
    if (!std::isnan(widened(value))) REQUIRE(narrowed<Bf16>(widened(value)).bits == bits);
  }
}

TEST_CASE("GeLU and its derivative are those of double precision") {
  for (int i = -600; i <= 600; ++i) {
    const float h = static_cast<float>(i) / 100;
    const double wide = static_cast<double>(h);
    REQUIRE(std::fabs(static_cast<double>(activation(Arithmetic::Float, h)) - gelu(wide)) < 1e-6);
    const double slope = (gelu(wide + 1e-5) - gelu(wide - 1e-5)) / 2e-5;
    REQUIRE(std::fabs(static_cast<double>(activation_slope(Arithmetic::Float, h)) - slope) < 1e-6);
    REQUIRE(activation(Arithmetic::Integer, h) == std::max(h, 0.0F));
    REQUIRE(activation_slope(Arithmetic::Integer, h) == (h > 0 ? 1.0F : 0.0F));
  }
}

TEST_CASE("a team adds every element once, whatever the length") {
  for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 64U, 1000U}) {
    const std::size_t sum = HostTeam().sum(count, [](std::size_t j) { return j + 1; });
    CHECK(sum == count * (count + 1) / 2);
    std::vector<int> seen(count);
    HostTeam().each(count, [&](std::size_t j) { ++seen[j]; });
    CHECK(seen == std::vector<int>(count, 1));
  }
}

TEST_CASE("a replica's gradient is added to another's, element by element, in float") {
  const std::vector<float> from = {1, -2, 0.5F, 16777216};
  std::vector<float> to = {10, 20, 0.25F, 1};
  for (std::size_t i = 0; i < to.size(); ++i) AddTo{from.data(), to.data()}(0, i);
  CHECK(to == std::vector<float>{11, 18, 0.75F, 16777216});  // 2^24 + 1 rounds to even
}

TEST_CASE("layer norm of a row, forward and backward, is that of double precision") {
  constexpr std::size_t kWidth = 37;
  const std::vector<float> x = numbers(kWidth, 0);
  const std::vector<float> gain = numbers(kWidth, 1);
  const std::vector<float> shift = numbers(kWidth, 2);
  const std::vector<float> dn = numbers(kWidth, 3);
  const std::vector<float> e = numbers(kWidth, 4);
  std::vector<float> xhat(kWidth);
  std::vector<float> n(kWidth);
  std::vector<float> dx(kWidth);
  float inverse = 0;
  NormForward<float>{kWidth, x.data(), gain.data(), shift.data(), xhat.data(), &inverse, n.data()}(HostTeam(),
                                                                                                   0);
  NormBackward<float>{kWidth, dn.data(), gain.data(), xhat.data(), &inverse, e.data(), dx.data()}(HostTeam(),
                                                                                                  0);

  const auto normed = [&](const std::vector<double>& at, std::size_t j) {
    double mean = 0;
    double variance = 0;
    for (const double value : at) mean += value / kWidth;
    for (const double value : at) variance += (value - mean) * (value - mean) / kWidth;
    return (at[j] - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gain[j]) +
           static_cast<double>(shift[j]);
  };
  std::vector<double> wide(x.begin(), x.end());
  const auto weighted = [&] {
    double sum = 0;
    for (std::size_t j = 0; j < kWidth; ++j) sum += normed(wide, j) * static_cast<double>(dn[j]);
    return sum;
  };
  for (std::size_t j = 0; j < kWidth; ++j) {
    REQUIRE(std::fabs(static_cast<double>(n[j]) - normed(wide, j)) < 2e-6);
    const double middle = wide[j];
    wide[j] = middle + 1e-5;
    const double above = weighted();
    wide[j] = middle - 1e-5;
    const double slope = (above - weighted()) / 2e-5;
    wide[j] = middle;
    REQUIRE(std::fabs(static_cast<double>(dx[j]) - (static_cast<double>(e[j]) + slope)) < 5e-6);
  }
}

TEST_CASE("sums over rows add every row once, in parts of 64") {
  for (const std::size_t rows : {1U, 63U, 64U, 65U, 200U}) {
    std::vector<float> a;
    for (std::size_t i = 0; i < rows * 3; ++i) a.push_back(static_cast<float>(i % 3 + 1));
    CHECK(parts_of(rows) == (rows + 63) / 64);
    std::vector<float> part(parts_of(rows) * 3, kInfinity);
    std::vector<float> sum = {100, 200, 300};
    const auto add = [&](const float* b) {
      for (std::size_t which = 0; which < parts_of(rows); ++which)
        for (std::size_t column = 0; column < 3; ++column)
          ColumnPart<float>{rows, 3, a.data(), b, part.data()}(which, column);
      for (std::size_t column = 0; column < 3; ++column)
        ColumnTotal{parts_of(rows), 3, part.data(), sum.data()}(0, column);
    };
    add(nullptr);  // column c holds c + 1
    const auto n = static_cast<float>(rows);
    CHECK(sum == std::vector<float>{100 + n, 200 + 2 * n, 300 + 3 * n});
    add(a.data());  // times itself
    CHECK(sum == std::vector<float>{100 + 2 * n, 200 + 6 * n, 300 + 12 * n});
  }
}

TEST_CASE("the loss of rows is half their squared distance, and the distance takes their place") {
  std::vector<float> y = {1, 2, 3, 4};
  const std::vector<float> target = {0, 0, 3, 6};
  std::vector<double> by_row(2);
  double loss = 0;
  const SquaredError<float> error{2, target.data(), y.data(), by_row.data()};
  error(HostTeam(), 0);
  error(HostTeam(), 1);
  Total{2, by_row.data(), &loss}(HostTeam(), 0);
  CHECK(y == std::vector<float>{1, 2, 0, -2});
  CHECK(by_row == std::vector<double>{2.5, 2});
  CHECK(loss == 4.5);
  SquaredError<float>{2, target.data(), y.data(), nullptr}(HostTeam(), 1);
  CHECK(y == std::vector<float>{1, 2, -3, -8});
}

TEST_CASE("products asked for column by column are those of row-by-row matrices") {
  // Small integers: exact in any order. 5 x 3 from 4 products each, so that no two sizes are the same.
  const ProductShape shape{5, 3, 4};
  const auto integers = [](std::size_t count, std::size_t factor) {
    std::vector<float> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<float>(i * factor % 11) - 5);
    return out;
  };
  const std::vector<float> a = integers(20, 3);
  const std::vector<float> b = integers(12, 7);
  const auto compare = [&](Sides sides, auto&& expected) {
    for (const Into into : {Into::Replace, Into::Add}) {
      std::vector<float> right(15, 1.0F);
      std::vector<float> found(15, 1.0F);
      expected(shape, a, b, right, into);
      HostEngine engine;
      engine.multiply(column_product(shape, sides), b.data(), a.data(), found.data(), into, Arithmetic::Float,
                      0);
      engine.run_all();
      CHECK(found == right);
    }
  };
  compare(Sides::Plain, multiply);
  compare(Sides::TransposedLeft, multiply_transposed_left);
  compare(Sides::TransposedRight, multiply_transposed_right);
}

}  // namespace pipeloom::executor::cuda::kernels_test
