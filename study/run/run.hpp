#pragma once

// A run: what was simulated, measured or read, and everything that is known of it. Made once, then only read; what shows, compares or writes
// a run takes one of these.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/costs.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/memory.hpp"
#include "sim/messages/program_engine.hpp"
#include "sim/timeline.hpp"
#include "sim/wait_graph.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::study {

/// Where a run's times come from.
enum class RunSource : std::uint8_t {
  Configuration,  ///< simulated: a configuration made the schedule
  ScheduleFile,   ///< simulated: a file holds the queues
  TimelineFile,   ///< measured, or written by an earlier simulation: the file holds the times
};

/// Why a run did not get to its end. The timeline then holds what did run.
struct Hang {
  /// Who waits for whom, by ops of the whole schedule, not of the part that ran.
  WaitGraph<Op> graph;
  /// One line per rank that stands still, the cycle first: "rank 2 stands at 2B0 and waits for 3B0 of rank 3, which".
  std::vector<std::string> lines;
  /// What would let it run: "on rank 1, move 1F3 from position 7 to 5, in front of 1B1"; may be empty.
  std::vector<std::string> remedies;
};

/// Movable, and cheap to copy but for its timeline. What a run does not know is null or empty: measured runs have times alone.
struct Run {
  std::string title;  ///< what pages and the window call it; may be ""
  std::string file;   ///< it was read from, "" if none
  RunSource source = RunSource::Configuration;
  std::shared_ptr<const Schedule> schedule;
  Timeline timeline;
  /// With every default spelt out, of runs from configurations and schedule files.
  std::shared_ptr<const io::EffectiveConfig> effective;
  /// What its ops cost and hold, in one Terms where a configuration said it; null for measured runs.
  std::shared_ptr<const Costs> costs;
  std::shared_ptr<const MemoryModel> memory;
  std::optional<Metrics> metrics;
  std::optional<CriticalPath> critical_path;
  /// Under any transfer model but `latency`: the program that ran, its run, and what its messages cost.
  std::optional<Program> program;
  std::optional<ProgramRun> program_run;
  std::optional<MessageSummary> messages;
  /// Set if a rank needs more than memory.limit_bytes: the program reports, and exits with 1.
  std::optional<OverLimit> over_limit;
  std::optional<Hang> hang;
  /// Idle spans of the first step, [rank], in time order; empty where nobody asked for them. Of measured runs all are the phase's.
  std::vector<std::vector<IdleSpan>> idle;
  /// Lines for stderr, without "warning:".
  std::vector<std::string> warnings;

  /// Its costs and rules are known, and it got to its end.
  [[nodiscard]] bool simulated() const { return effective != nullptr; }
};

}  // namespace pipeloom::study
