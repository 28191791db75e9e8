#pragma once

// The ops of a problem as rows: what all ops of one pass of a stage have in common.

#include <cstdint>
#include <vector>

#include "sim/orders/order.hpp"

namespace pipeloom::orders {

inline constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

/// Op k of row i has id i * m + k.
struct Row {
  Ticks duration = 0;
  Ticks delay = 0;     ///< after the end of the op that it waits for
  Bytes at_start = 0;  ///< taken
  Bytes at_end = 0;    ///< taken after it, usually negative
  std::uint32_t rank = 0;
  std::uint32_t producer = kNoRow;  ///< row whose op k it waits for
  std::uint32_t consumer = kNoRow;  ///< row on another stage that waits for it
};

/// [3 * stage + pass].
[[nodiscard]] std::vector<Row> rows_of(const Problem& problem);

/// The row of a letter of a rank's word.
[[nodiscard]] inline std::size_t row_of(const Problem& problem, std::size_t rank, Letter letter) {
  return 3 * problem.stages_of[rank][chunk_of(letter)] + pass_of(letter);
}

}  // namespace pipeloom::orders
