#pragma once

// From a configuration to everything that is known about its run.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/resolve.hpp"
#include "sim/critical_path.hpp"
#include "sim/io/report.hpp"
#include "sim/io/run_config.hpp"
#include "sim/memory.hpp"
#include "sim/metrics.hpp"
#include "sim/timeline.hpp"

namespace pipeloom::study {

/// What a run may cost.
struct Limits {
  /// Bytes; no value takes three quarters of the machine's memory.
  std::optional<double> max_memory;
  /// The critical path is left out of runs with more entries than this.
  std::size_t critical_path_entries = std::size_t{1} << 22;
  /// False leaves `metrics` and `critical_path` empty: for whoever wants the timeline only.
  bool with_metrics = true;
};

/// Three quarters of physical memory, in bytes.
[[nodiscard]] double default_max_memory();

/// One evaluated run. Movable; report() points into it.
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
  std::optional<io::MessageSummary> messages;
  RunFacts facts;  ///< of program_run
  /// Set if a rank needs more than memory.limit_bytes: the program reports, and exits with 1.
  std::optional<OverLimit> over_limit;
  io::EffectiveConfig effective;
  /// Lines for stderr, without "warning:".
  std::vector<std::string> warnings;

  [[nodiscard]] io::Report report() const;
};

/// The schedule that a configuration names, checked for size before anything is allocated. `effective` receives the
/// canonical name, the chunks and options that hold, and where they came from. Throws InputError for unknown names and runs
/// that are too large (both figures named), ScheduleError for parameters that the schedule refuses.
[[nodiscard]] std::shared_ptr<const Schedule> make_schedule(const io::RunConfig& config, const Limits& limits,
                                                            io::EffectiveConfig& effective);

/// The blanks that the framework of the configured schedule draws into `schedule`, which make_schedule() made of it; empty if it draws
/// none, or if options have changed the queues since.
[[nodiscard]] IdleCells drawn_blanks(const io::RunConfig& config, const Schedule& schedule);

/// Makes, simulates and measures. Throws as make_schedule() and cost::resolve() do.
[[nodiscard]] Evaluation evaluate(const io::RunConfig& config, const Limits& limits = {});

/// The same for a schedule from a file: `config` gives costs, memory, step and forward_only. Throws ScheduleError if the
/// schedule is illegal or hangs. `name` stands for the schedule in the report.
[[nodiscard]] Evaluation evaluate_schedule(std::shared_ptr<const Schedule> schedule, const std::string& name,
                                           const io::RunConfig& config, const Limits& limits = {});

}  // namespace pipeloom::study
