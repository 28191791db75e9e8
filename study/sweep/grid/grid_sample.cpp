#include "study/sweep/grid/grid_sample.hpp"

#include <bit>

#include "study/text/mix.hpp"

namespace pipeloom::sweep {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kRounds = 4;

/// floor(a * b / c). REQUIRES: c >= 1, and the result fits.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): c counts points, and there is one
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

}  // namespace

std::uint64_t splitmix64(std::uint64_t seed, std::uint64_t n) {
  return mixed(seed + (n + 1) * kMixStep);
}

Permutation::Permutation(std::uint64_t seed, std::uint64_t size) : seed_(seed), size_(size) {
  const int bits = size <= 1 ? 1 : static_cast<int>(std::bit_width(size - 1));
  half_ = (bits + 1) / 2;
}

std::uint64_t Permutation::once(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
  std::uint64_t left = value >> half_;
  std::uint64_t right = value & mask;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t key = splitmix64(seed_, static_cast<std::uint64_t>(round));
    const std::uint64_t next = left ^ (mixed(right ^ key) & mask);
    left = right;
    right = next;
  }
  return (left << half_) | right;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  do i = once(i);
  while (i >= size_);
  return i;
}

std::uint64_t latin_value(std::uint64_t seed, std::uint64_t i, std::uint64_t points, std::uint64_t values) {
  const std::uint64_t stratum = Permutation(seed, points).at(i);
  if (values <= points) return scaled(stratum, values, points);
  const std::uint64_t first = scaled(stratum, values, points);
  const std::uint64_t last = stratum + 1 == points ? values : scaled(stratum + 1, values, points);
  const std::uint64_t drawn = splitmix64(~seed, i);
  return first + static_cast<std::uint64_t>((static_cast<Wide>(drawn) * (last - first)) >> 64);
}

}  // namespace pipeloom::sweep
