#pragma once

// RunModels: everything the window needs of a run, made off the frame thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/run/jobs.hpp"
#include "gui/model/run/run_model.hpp"
#include "sim/io/traces/trace_messages.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::gui {

/// A number that no other RunModel of this process has. Safe from any thread.
[[nodiscard]] std::uint64_t next_run_id();

/// Level of detail of a finished model, whose timeline, idle spans and message bars stay where they are: the last step of making one.
/// Sets span_ and the tracks.
void index_run(RunModel& run);

/// More is not shown: every rank is a row that each frame looks at, and ops take some 100 bytes each.
inline constexpr int kMostShownRanks = 1 << 17;
inline constexpr double kMostShownOps = 1.6e7;

/// Throws InputError for a run that is larger than the window shows.
void require_shown(int ranks, double ops, const std::string& what);
/// The same for a configuration, counted from its shape before anything is made. Throws as study::plan_schedule() does, too.
void require_shown(const io::Config& config);

/// Limits of runs of the window: no lower bound and no critical path beyond 2^21 entries, as the graph on which these are found takes
/// 128 bytes per entry. With this, evaluating and building 1e7 ops stay below a gigabyte.
/// The search for an order reports to `cancelled`. The search and an evaluation, between its passes, ask it: both end with
/// Stopped.
[[nodiscard]] Limits window_limits(const Cancelled& cancelled = {});

/// "1f1b p=4 m=8", with "v=2" where a rank has more than one stage.
[[nodiscard]] std::string title_of(const io::EffectiveConfig& effective);

/// Runs with more ops than these are shown before their bound and critical path are known, which can take longer than all else.
inline constexpr std::size_t kShownFirst = 20'000;

/// A simulated run, as it is shown first, and the inputs of its later analysis.
struct ShownRun {
  RunPtr run;
  std::shared_ptr<const Program> program;
  std::shared_ptr<const ProgramRun> program_run;
};
/// As build_run(). Bound and critical path are found at once where the run is small; else run->analysed is false, and they are still to come.
/// `made` is as study::Depth::Metrics makes it. Throws Stopped where the limits say so.
[[nodiscard]] ShownRun build_shown(Run made, std::string title, RunSource source, std::string file,
                                   const Limits& limits);
/// The run with its bound and critical path; another object with the same id. Throws Stopped where the limits say so.
[[nodiscard]] RunPtr analysed(const ShownRun& shown, const Limits& limits);

/// A simulated run. `file` is the schedule file or configuration it came from, "" if none.
[[nodiscard]] RunPtr build_run(Run made, std::string title, RunSource source, std::string file);

/// The gaps of a recording: RunModel::partial and cut.
struct Recorded {
  std::string partial = {};
  bool cut = false;
};
/// A run whose times were measured or read. Gaps are warm-up, cool-down or imbalance: nothing more is known.
/// `messages` are those that were recorded; the bars are those of the first step.
[[nodiscard]] RunPtr build_timed_run(Timeline timeline, std::string title, std::string file,
                                     std::vector<std::string> warnings = {},
                                     const std::vector<io::TracedMessage>& messages = {},
                                     const Recorded& recorded = {});

/// slack[i] of op index i: how much later it could start with the makespan unchanged. Empty where it is not known: measured runs, runs
/// that hang, runs whose messages block or queue, more than kMaxSlackEntries entries. O(ops), about 0.3 us each: a job's work.
[[nodiscard]] std::vector<Ticks> run_slack(const RunModel& run);
inline constexpr std::size_t kMaxSlackEntries = std::size_t{1} << 22;

/// The part of a schedule that runs before it hangs, and why it hangs: the timeline holds the ops that ended, its schedule the same prefix
/// of every queue. REQUIRES: find_hang(*schedule) finds one; no structural errors.
[[nodiscard]] RunPtr build_hanging_run(const std::shared_ptr<const Schedule>& schedule, const Costs& costs,
                                       std::string title, RunSource source, std::string file);

}  // namespace pipeloom::gui
