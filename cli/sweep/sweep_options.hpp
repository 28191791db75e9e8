#pragma once

// What programs that run sweeps share: options, the grid they describe, and what is said while and after it runs.

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "study/sweep/grid/grid.hpp"
#include "study/sweep/run/runner.hpp"

namespace pipeloom::cli {

/// A sweep as the command line gives it: texts, checked by the functions below.
struct SweepArguments {
  /// `input.file` is the grid's file or, with axes, the configuration that they vary.
  InputOptions input;
  std::vector<std::string> axes;
  std::vector<std::string> metrics;
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

/// What is computed: GRID, --axis, the shape of a run, --set, --metrics, --max-points, --max-memory.
void add_grid_options(OptionList& list, SweepArguments& arguments);
/// How: -o, --format, -j, --resume, --force, --shard, --progress, -q, -v, --color.
void add_run_options(OptionList& list, SweepArguments& arguments);

/// The grid of the file, or of --axis on top of a configuration. Throws InputError.
[[nodiscard]] sweep::Grid read_grid(const SweepArguments& arguments);
/// The rest, without progress and stop. Throws InputError.
[[nodiscard]] sweep::SweepOptions read_sweep_options(const SweepArguments& arguments);

/// What standard error says when a sweep has ended: counts per status, seconds, rate, and how to go on if it was stopped.
[[nodiscard]] std::string summary_text(const sweep::SweepSummary& summary, const SweepArguments& arguments);

}  // namespace pipeloom::cli
