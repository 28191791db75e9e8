#pragma once

// From a configuration to everything that is known about its run.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/config/run_config.hpp"
#include "sim/memory.hpp"
#include "sim/timeline.hpp"
#include "study/run/make_schedule.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::study {

/// One evaluated run.
struct Evaluation {
  std::shared_ptr<const Schedule> schedule;
  Costs costs;
  MemoryModel memory;
  Steps steps;
  Timeline timeline;
  Metrics metrics;
  std::optional<CriticalPath> critical_path;
  /// Under any transfer model but `latency`: the program that ran, its run, and what its messages cost.
  std::optional<Program> program;
  std::optional<ProgramRun> program_run;
  std::optional<MessageSummary> messages;
  RunFacts facts;  ///< of program_run
  /// Set if a rank needs more than memory.limit_bytes: the program reports, and exits with 1.
  std::optional<OverLimit> over_limit;
  io::EffectiveConfig effective;
  /// Lines for stderr, without "warning:".
  std::vector<std::string> warnings;
};

/// Makes, simulates and measures. Throws as make_schedule() and cost::resolve() do, and schedules::Stopped where the limits say so.
[[nodiscard]] Evaluation evaluate(const io::RunConfig& config, const Limits& limits = {});

/// The same with a schedule that make_schedule() made for this configuration. `effective` is what it said about it: what is not
/// there, the report's configuration lacks.
[[nodiscard]] Evaluation evaluate_made(std::shared_ptr<const Schedule> schedule, const io::RunConfig& config,
                                       const Limits& limits, io::EffectiveConfig effective = {});

/// The same for a schedule from a file: `config` gives costs, memory, step and forward_only. Throws ScheduleError if the
/// schedule is illegal or hangs. `name` stands for the schedule in the report.
[[nodiscard]] Evaluation evaluate_schedule(std::shared_ptr<const Schedule> schedule, const std::string& name,
                                           const io::RunConfig& config, const Limits& limits = {});

/// Costs::slice_end and MemoryModel::slice_end of these options: cumulative weights, from 0 to their sum; empty for whole sequences.
[[nodiscard]] std::vector<std::int64_t> slice_ends(const io::RunOptions& options, int slices);

}  // namespace pipeloom::study
