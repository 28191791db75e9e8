#pragma once

// The rows of a timeline's picture: which ranks share one, and the places within one. Lengths are pixels.

#include <cstddef>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/tracks/marks.hpp"

namespace pipeloom::draw {

/// Ranks [first, last), one unless there are more ranks than rows fit.
struct Row {
  Rank first;
  Rank last;
  double y = 0;
  double height = 0;
  /// The memory strip below it; height 0 without one.
  double memory_y = 0;
  double memory_height = 0;

  [[nodiscard]] int ranks() const { return (last - first.value()).value(); }
  [[nodiscard]] bool is_shared() const { return ranks() > 1; }
};

/// The ranks of [first, last) that share a row.
class RankRows {
 public:
  RankRows() = default;
  /// At most `most` rows, which may be a height over the least height of a row. REQUIRES: most >= 1.
  /// `ranks` are those of [first, last) that have a row, from the top; empty, more than there are rows, or all of them by
  /// number: these share rows where needed.
  RankRows(Rank first, Rank last, double most, const std::vector<int>& ranks = {});

  [[nodiscard]] int count() const;
  [[nodiscard]] Row row(int i, double y, double height) const;
  /// One past the last row for a rank that has none. REQUIRES: first <= rank < last.
  [[nodiscard]] std::size_t row_of(Rank rank) const;
  /// True if a row shows its rank's number: each where there is room, else those with round numbers. `pitch` is from one row's top
  /// to the next, `text` the size of the numbers.
  [[nodiscard]] bool is_named(const Row& row, double pitch, double text) const;

 private:
  Rank first_;
  Rank last_;
  int ranks_per_row_ = 1;
  std::vector<int> ranks_;          // [row], empty where rows are ranks by number
  std::vector<std::size_t> place_;  // [rank - first_] of them
};

/// A row with copies below the work.
struct RowLanes {
  Row work;
  Row copies;
};
[[nodiscard]] RowLanes lanes_of(const Row& row);

/// Height of a bar in a row of height `full`: a short op stays visible in an idle bin, and a short gap in a busy one.
[[nodiscard]] double bar_height(double busy_share, double full);

/// Busy ticks of all ranks of a row, [bin].
[[nodiscard]] std::vector<tracks::BusyByKind> busy_of_row(const tracks::TimelineIndex& index, const Row& row,
                                                          const tracks::Bins& bins);

/// Positions in the timeline of an entry's ops from top to bottom: forwards above backwards.
[[nodiscard]] std::vector<std::size_t> stacked_ops(const Schedule& schedule, const tracks::DrawnEntry& entry);

}  // namespace pipeloom::draw
