#pragma once

// The runs on screen against one of them: metrics, causes of idle time, ops that differ, clocks that are apart.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/part.hpp"
#include "gui/model/session.hpp"
#include "study/compare.hpp"

namespace pipeloom::gui {

/// One run against the baseline.
struct PairComparison {
  std::uint64_t run = 0;
  study::OpComparison ops;
  /// Why idle time differs, and that total work differs; lines.
  std::vector<std::string> lines;
  /// How far each rank's clock is ahead; only of runs whose times were read.
  std::vector<Ticks> offsets;
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

/// O(ops) of all runs. For jobs. REQUIRES: at least two runs.
[[nodiscard]] ComparisonResult compare_runs(const std::vector<RunPtr>& runs);

class CompareModel : public Part {
 public:
  explicit CompareModel(Session&) {}

  /// Of the runs on screen, or while a job makes it those of before; null with fewer than two.
  [[nodiscard]] const ComparisonResult* result() const { return result_.get(); }
  /// The run of the stack that others are compared with.
  void set_baseline(Session& session, std::size_t index);
  /// Whether ops are coloured by how they differ.
  void show_difference(Session& session, bool on);
  [[nodiscard]] bool shows_difference() const { return difference_; }
  /// Sets the clocks of every measured run right by its offsets; the run takes the place of what was read.
  void align_clocks(Session& session);
  /// Selects the i-th largest difference of a pair, and its counterpart comes into view with it.
  void select(Session& session, std::size_t pair, std::size_t i) const;

  bool update(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "compare"; }
  [[nodiscard]] std::string state_json(const Session& session) const override;

 private:
  [[nodiscard]] std::vector<RunPtr> ordered_runs(const Session& session) const;
  void apply_tints(Session& session) const;

  std::shared_ptr<const ComparisonResult> result_;
  std::vector<std::uint64_t> asked_;
  std::uint64_t baseline_ = 0;
  bool difference_ = false;
};

}  // namespace pipeloom::gui
