#pragma once

// Every registered schedule at one shape and one set of costs: its results, or why it cannot run.

#include <optional>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include <pipeloom/units.hpp>
#include "study/run/workload.hpp"

namespace pipeloom::study {

struct ScheduleRow {
  std::string name;  ///< of the registry
  int chunks = 1;    ///< v of this row
  /// Why there are no numbers, "" if there are: the schedule refuses the shape, or the run is too large for a table.
  std::string refusal;
  TimeUnit unit = TimeUnit::Unit;  ///< that times are shown in
  Ticks makespan = 0;
  Ticks step_time = 0;
  /// Optimizer updates in the makespan: more than one only for schedules that run without a flush.
  int updates = 1;
  double bubble_ratio = 0;
  /// The most activation bytes of any rank, as if stages were as large as those of the given run: v chunks share a rank's layers.
  double peak_bytes = 0;
  /// "12.9 GB"; "5.5" where sizes are relative.
  std::string peak_text;
  /// "12.9 GB (12.0 GiB) of activations"; "5.5 activations of a stage", one of those of the given run.
  std::string peak_note;
  /// Everything that the fullest rank holds, in bytes, or as peak_bytes where sizes are relative; and what the limit leaves to the rank that
  /// has least left, below 0 over it.
  double held = 0;
  std::optional<double> headroom;
  std::string held_text;
  std::string headroom_text;
  /// Set for runs of a model.
  std::optional<double> tokens_per_s;
  std::optional<double> mfu;
  /// makespan / lower bound - 1.
  double gap = 0;

  [[nodiscard]] bool fits() const { return headroom.value_or(0) >= 0; }
  /// Ticks of one update: rows are compared by it.
  [[nodiscard]] double update_time() const { return static_cast<double>(makespan) / updates; }
};

/// One row. Runs of more than 2e6 ops or 16,384 ranks are left out. Throws nothing.
[[nodiscard]] ScheduleRow evaluate_row(const Workload& workload, const std::string& schedule,
                                       const Limits& limits);

/// All of the registry: those that fit by their step time per update, then those over the limit, then those that cannot run.
[[nodiscard]] std::vector<ScheduleRow> schedule_rows(const Workload& workload, const Limits& limits);

}  // namespace pipeloom::study
