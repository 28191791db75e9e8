#pragma once

// Sizes of tables by stage, microbatch, rank or step. Each count fits 31 bits, their product does not: where std::size_t has 32 bits (WebAssembly) it
// would come out small, and the table with it.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <pipeloom/error.hpp>

namespace pipeloom {

/// The product of counts, which are not negative; the largest std::int64_t where it passes that. For guards, which compare it with a limit.
template <std::integral... Counts>
[[nodiscard]] constexpr std::int64_t count_of_cells(Counts... counts) {
  std::int64_t product = 1;
  const auto take = [&product](std::int64_t count) {
    if (__builtin_mul_overflow(product, count, &product)) product = std::numeric_limits<std::int64_t>::max();
  };
  (take(static_cast<std::int64_t>(counts)), ...);
  return product;
}

/// Throws TooLargeError of a table with that number of cells.
[[noreturn]] void throw_table_too_large(std::int64_t cells, std::uint64_t most);

/// The product of counts as the size of a table. Throws TooLargeError where `Size` cannot hold it, or an index of such a table would be no
/// difference of two of its addresses.
template <std::unsigned_integral Size = std::size_t, std::integral... Counts>
[[nodiscard]] constexpr Size table_size(Counts... counts) {
  constexpr auto kMost = std::uint64_t{std::numeric_limits<Size>::max() / 2};
  const std::int64_t cells = count_of_cells(counts...);
  if (static_cast<std::uint64_t>(cells) > kMost) throw_table_too_large(cells, kMost);
  return static_cast<Size>(cells);
}

}  // namespace pipeloom
