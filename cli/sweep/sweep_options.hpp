#pragma once

// Shared parts of programs that run sweeps: options, the grid that they describe, and the texts during and after a run.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/options.hpp"
#include "cli/pages/scenario_options.hpp"
#include "study/sweep/grid/grid.hpp"
#include "study/sweep/run/runner.hpp"

namespace pipeloom::cli {

/// A sweep as the command line gives it: texts, checked by the functions below.
struct SweepArguments {
  /// `input.file` is the grid's file or, with axes, the configuration that they vary.
  InputOptions input;
  std::vector<std::string> axes;
  std::vector<std::string> metrics;
  ScenarioOptions scenarios;
  std::optional<std::string> max_points;
  std::string out = "-";
  std::optional<std::string> format;
  std::optional<std::string> threads;
  std::optional<std::string> shard;
  std::string progress = "auto";
  bool resume = false;
  bool force = false;
  bool dry_run = false;
  OutputOptions output;
};

/// Options that say what is computed: GRID, --axis, the shape of a run, --set, --metrics, --scenarios, --seed, --max-points, --max-memory.
void add_grid_options(OptionList& list, SweepArguments& arguments);
/// Options that say how: -o, --format, -j, --resume, --force, --shard, --progress, -q, -v, --color.
void add_run_options(OptionList& list, SweepArguments& arguments);

/// The grid of the file, or of --axis on top of a configuration. Throws InputError.
[[nodiscard]] sweep::Grid read_grid(const SweepArguments& arguments);
/// The rest, without progress and stop. Throws InputError.
[[nodiscard]] sweep::SweepOptions read_sweep_options(const SweepArguments& arguments);

/// Text for standard error when a sweep has ended: counts per status, seconds, rate, and how to go on if it was stopped.
[[nodiscard]] std::string summary_text(const sweep::SweepSummary& summary, const SweepArguments& arguments);

// How far a sweep is, on standard error.

/// Shows progress while it lives.
class SweepProgress {
 public:
  /// `mode`: "auto" (a line that is kept up to date, if standard error is a terminal), "plain" (a line every ten seconds) or "none".
  explicit SweepProgress(const std::string& mode);
  /// For SweepOptions::progress; empty if nothing is shown.
  [[nodiscard]] std::function<void(const sweep::Progress&)> callback();

 private:
  void show(const sweep::Progress& progress);

  ProgressLine line_;
  bool plain_ = false;
  double next_plain_ = 10;
};

/// "45 %  52,000 of 115,536 points, 12,345/s, 5 s left".
[[nodiscard]] std::string progress_text(const sweep::Progress& progress);

}  // namespace pipeloom::cli
