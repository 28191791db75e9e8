#pragma once

// Collectives that were timed alone in one node, by operation, number of ranks and size.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "sim/hardware/shape_table.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::hardware {

inline constexpr std::size_t kCollectiveKinds = 4;

/// Share of its buffer that each rank sends: 2 (n - 1) / n in an all-reduce, (n - 1) / n in the others. Bus bandwidth is bytes x this / time.
[[nodiscard]] double sent_share(model::CollectiveKind kind, int ranks);

class CollectiveTable {
 public:
  /// `bytes` and `seconds` above 0, `ranks` at least 2. Of a size added twice the measured value counts, else the first.
  void add(model::CollectiveKind kind, int ranks, double bytes, double seconds, bool measured = false);
  [[nodiscard]] bool empty() const { return empty_; }
  /// Seconds. In the size: a straight line between logarithms; below the first size as long as the first, above the last at the bandwidth of the
  /// last. In the ranks: between the two numbers around it by their bus time; beyond the largest number nothing. A hit: ranks and size are in
  /// the table, or the size lies between two that are.
  [[nodiscard]] std::optional<Found> find(model::CollectiveKind kind, double bytes, int ranks) const;

 private:
  struct Time {
    double seconds = 0;
    bool measured = false;
  };
  using Sizes = std::map<double, Time>;
  [[nodiscard]] static Found of_sizes(const Sizes& sizes, double bytes);

  std::array<std::map<int, Sizes>, kCollectiveKinds> tables_;
  bool empty_ = true;
};

}  // namespace pipeloom::hardware
