#include <algorithm>
#include <vector>

#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace pipeloom::max_plus_test {
namespace {

/// The largest mean over all closed walks of 1 .. n edges, by walking all of them: heaviest[k][v] from each start in turn.
Ticks brute_force_mean(const MaxPlusMatrix& matrix) {
  const std::size_t n = matrix.size();
  Ticks weight = 0;
  Ticks edges = 1;
  for (std::size_t start = 0; start < n; ++start) {
    std::vector<Ticks> walk(n, MaxPlusMatrix::kAbsent);
    walk[start] = 0;
    for (std::size_t k = 1; k <= n; ++k) {
      std::vector<Ticks> next(n, MaxPlusMatrix::kAbsent);
      for (std::size_t row = 0; row < n; ++row)
        for (std::size_t column = 0; column < n; ++column)
          if (matrix.at(row, column) != MaxPlusMatrix::kAbsent && walk[column] != MaxPlusMatrix::kAbsent)
            next[row] = std::max(next[row], walk[column] + matrix.at(row, column));
      walk = next;
      const auto length = static_cast<Ticks>(k);
      if (walk[start] != MaxPlusMatrix::kAbsent && walk[start] * edges > weight * length) {
        weight = walk[start];
        edges = length;
      }
    }
  }
  return multiply_divide(weight, 1, edges);
}

}  // namespace

TEST_CASE("a loop at one vertex is its own mean") {
  MaxPlusMatrix matrix(1);
  matrix.set(0, 0, 42);
  CHECK(max_cycle_mean(matrix) == 42);
}

TEST_CASE("without a cycle the mean is 0") {
  MaxPlusMatrix matrix(3);
  matrix.set(1, 0, 5);
  matrix.set(2, 1, 7);
  CHECK(max_cycle_mean(matrix) == 0);
  CHECK(max_cycle_mean(MaxPlusMatrix(4)) == 0);
}

TEST_CASE("a cycle of two beats a shorter loop if its mean is larger") {
  MaxPlusMatrix matrix(2);
  matrix.set(0, 0, 10);
  matrix.set(1, 0, 3);
  matrix.set(0, 1, 20);  // (3 + 20) / 2 = 11.5, rounded to 12
  CHECK(max_cycle_mean(matrix) == 12);
  matrix.set(0, 1, 16);  // (3 + 16) / 2 = 9.5 < 10
  CHECK(max_cycle_mean(matrix) == 10);
}

TEST_CASE("the largest mean of several components counts") {
  MaxPlusMatrix matrix(3);
  matrix.set(0, 0, 4);
  matrix.set(1, 1, 9);
  matrix.set(2, 2, 6);
  matrix.set(2, 1, 1000);  // on no cycle
  CHECK(max_cycle_mean(matrix) == 9);
}

TEST_CASE("Karp's means agree with walking every cycle") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    test::Random random(seed);
    MaxPlusMatrix matrix(static_cast<std::size_t>(1 + random.below(6)));
    for (std::size_t row = 0; row < matrix.size(); ++row)
      for (std::size_t column = 0; column < matrix.size(); ++column)
        if (random.chance(50)) matrix.set(row, column, random.between(0, 1000));
    INFO("seed " << seed);
    REQUIRE(max_cycle_mean(matrix) == brute_force_mean(matrix));
  }
}

TEST_CASE("walks may pass 63 bits where their mean does not") {
  // A ring of 8: every walk of 8 edges weighs 8 * 2^61 = 2^64.
  MaxPlusMatrix matrix(8);
  for (std::size_t v = 0; v < 8; ++v) matrix.set((v + 1) % 8, v, kMaxTicks / 2);
  CHECK(max_cycle_mean(matrix) == kMaxTicks / 2);
}

}  // namespace pipeloom::max_plus_test
