#pragma once

// The runs on screen against one of them: metrics, causes of idle time, ops that differ, clocks that are apart.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"
#include "study/compare/compare.hpp"

namespace pipeloom::gui {

/// One run against the baseline.
struct PairComparison {
  std::uint64_t run = 0;
  study::OpComparison ops;
  /// The other way round: op of the baseline -> op of this run, or kNotInRun.
  std::vector<std::uint32_t> in_run;
  static constexpr std::uint32_t kNotInRun = ~std::uint32_t{0};
  /// Differences of idle time by cause, and of total work; lines.
  std::vector<std::string> lines;
  /// The offset of each rank's clock; only of runs whose times were read.
  std::vector<Ticks> offsets;
  /// By position in timeline.start, every step against the same step of the baseline (or its last). Null where times cannot be compared.
  std::shared_ptr<const std::vector<std::int8_t>> tints;
};

struct ComparisonResult {
  std::vector<std::uint64_t> runs;  ///< RunModel::id, the baseline first
  std::vector<std::string> titles;
  std::vector<study::MetricRow> metrics;
  std::vector<study::CauseTotals> causes;  ///< [run]
  std::vector<PairComparison> pairs;       ///< [run - 1]
  std::vector<std::vector<Ticks>> steps;   ///< [run]: makespan of each step
  TimeUnit unit = TimeUnit::Unit;
};

/// O(ops) of all runs. Ops are compared in step `step`, or a run's last. For jobs. REQUIRES: at least two runs.
[[nodiscard]] ComparisonResult compare_runs(const std::vector<RunPtr>& runs, int step = 0);

class CompareModel : public Part {
 public:
  explicit CompareModel(Session&) {}

  /// The comparison of the runs on screen, or while a job makes it that of the earlier ones; null with fewer than two.
  [[nodiscard]] const ComparisonResult* result() const { return result_.get(); }
  /// The run of the stack that others are compared with.
  void set_baseline(Session& session, std::size_t index);
  /// Turns on or off the colouring of ops by their difference.
  void show_difference(Session& session, bool on);
  [[nodiscard]] bool shows_difference() const { return difference_; }
  /// Compares ops of this step, and shows it in `run`.
  void choose_step(Session& session, std::uint64_t run, int step);
  [[nodiscard]] int step() const { return step_; }
  /// Corrects the clocks of every measured run by its offsets, in a job; the corrected run replaces the one that was read. A second call
  /// restores the one that was read.
  void align_clocks(Session& session);
  [[nodiscard]] bool aligned() const { return !as_read_.empty(); }
  /// The op that does the same in each of the other runs compared; those that have none are left out.
  [[nodiscard]] std::vector<OpRef> counterparts(const Session& session, const OpRef& op) const;
  /// Selects the i-th largest difference of a pair, and its counterpart comes into view with it.
  void select(Session& session, std::size_t pair, std::size_t i) const;

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "compare"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  [[nodiscard]] std::vector<RunPtr> ordered_runs(const Session& session) const;
  void apply_tints(Session& session) const;
  void keep_baseline(Session& session);
  void restore_clocks(Session& session);

  std::shared_ptr<const ComparisonResult> result_;
  std::vector<std::uint64_t> asked_;
  std::size_t baseline_index_ = 0;
  int step_ = 0;
  /// Run with clocks set right -> the run as it was read.
  std::map<std::uint64_t, RunPtr> as_read_;
  bool difference_ = false;
};

}  // namespace pipeloom::gui
