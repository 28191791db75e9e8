#pragma once

// Single ops that take another time than their kind on their stage, and how far the others spread.
//
// The test: r = ln(duration / median of the cell), a cell being the ops of one kind and stage (and slice). sigma of a cell is the larger of
// 1.4826 times its own median absolute deviation and the median of that over all cells. Over the steps of a run the r of one microbatch
// have a median, whose standard error is 1.25 sigma / sqrt(steps). It counts where it is larger than z standard errors and kLeast, and where
// three quarters of the steps lie on its side by half of it or more. z is that of all microbatches of all cells (study/calibrate/statistics.hpp).
// A microbatch that is as much longer in three quarters of all cells is one exception, not one a cell.

#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/cost/cost_spec.hpp"

namespace pipeloom::study::calibrate {

/// A smaller part of an op's time is not looked at.
inline constexpr double kLeastException = 0.005;
/// More rows say nothing that anybody reads: the largest are kept.
inline constexpr std::size_t kMostExceptions = 1000;

struct SingleOps {
  /// Rows of costs.exceptions: first slices that have medians of their own, then microbatches, then ops. Of several that name an op the
  /// last counts.
  std::vector<cost::CostRow> rows;
  /// [row] or empty: what of its time passes before the op begins (study/calibrate/lost_time.hpp).
  std::vector<Ticks> before = {};
  std::size_t left_out = 0;  ///< rows beyond kMostExceptions
  /// Spread of ops around what their cell and these rows say, as the sigma of a lognormal distribution: 1.4826 times the median absolute
  /// deviation of r, which wild ones do not move.
  double sigma = 0;
};

/// Of ops that ran alone and of overlapped groups, by their forward, over all steps, without ops that `held`, [op] or empty, says may hold a wait. O(n log n).
[[nodiscard]] SingleOps find_single_ops(const Timeline& timeline, const std::vector<bool>& held = {});

}  // namespace pipeloom::study::calibrate
