#pragma once

// From a configuration, schedule file or file of times to everything that is known of its run, for programs: what the command line does.
//
//   const Run run = pipeloom::run({.schedule = "zbv", .ranks = "8", .microbatches = "32"});
//   std::cout << report_json(run);

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/op.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom {

class Program;
struct ProgramRun;
namespace io {
class Value;
struct EffectiveConfig;
}  // namespace io
namespace study {
struct MessageSummary;
struct ModelRun;
struct Repeated;
}  // namespace study

/// A run as a user gives it: a file, and values that override it. All are texts: the reader of configurations checks them
/// and its errors name the option that is wrong.
struct Request {
  std::optional<std::string> file;  ///< configuration or schedule file, a link, "-" for standard input
  std::optional<std::string> text;  ///< the file's text, if it was read already
  std::vector<std::string> other_files = {};  ///< of a trace: those of the other ranks, beside `file`
  std::optional<std::string> from;     ///< format of the file; without it content decides, then the extension
  std::optional<std::string> mapping;  ///< of a trace: the file with the meanings of its ranges' names
  std::optional<std::string> schedule;
  std::optional<std::string> ranks;
  std::optional<std::string> microbatches;
  std::optional<std::string> chunks;
  std::vector<std::string> set;  ///< PATH=VALUE
};

/// Limits of a run's memory and time.
struct Limits {
  /// Bytes; nullopt: three quarters of the machine's memory.
  std::optional<double> max_memory;
  /// The critical path is left out of runs with more entries than this.
  std::size_t critical_path_entries = std::size_t{1} << 22;
  /// The lower bound is left out (its name is then "") of runs with more entries than this.
  std::size_t bound_entries = std::numeric_limits<std::size_t>::max();
  /// Called now and then with the progress of the search for an order, 0 to 1; false ends it with Stopped. May be empty.
  std::function<bool(double)> progress = {};
  /// Asked between the passes of an evaluation (making, simulating, measuring, the bound, the critical path): true ends it with
  /// Stopped. May be empty.
  std::function<bool()> stop = {};
  /// False leaves `metrics` and `critical_path` empty: for callers that want the timeline only.
  bool with_metrics = true;
  /// False simulates the first step only, which metrics are of: for callers that show no times of the others.
  bool with_all_steps = true;
  /// True: the caller reads numbers and not schedule, orders or timeline, so that Run::repeated may be set.
  bool totals_only = false;
  /// Bytes that the caller holds for every op of every step, in addition to the run.
  double bytes_per_time = 0;
  /// Bytes of text, about, that the caller writes for each op: a text longer than any reader takes is refused.
  double text_per_time = 0;
};

/// Source of a run's times.
enum class RunSource : std::uint8_t {
  Configuration,  ///< simulated: a configuration made the schedule
  ScheduleFile,   ///< simulated: a file holds the queues
  TimelineFile,   ///< measured, or written by an earlier simulation: the file holds the times
};

/// Why a run did not get to its end. The timeline then holds the ops that ran.
struct Hang {
  /// Waits of the ranks, by ops of the whole schedule, not of the part that ran.
  WaitGraph<Op> graph;
  /// One line per rank that waits for ever, the cycle first: "rank 2 stands at 2B0 and waits for 3B0 of rank 3, which".
  std::vector<std::string> lines;
  /// Changes after which it would run: "on rank 1, move 1F3 from position 7 to 5, in front of 1B1"; may be empty.
  std::vector<std::string> remedies;
};

/// Movable, and cheap to copy but for its timeline. Parts that a run does not know are null or empty: measured runs have times alone.
struct Run {
  std::string title;  ///< its name on pages and in the window; may be ""
  std::string file;   ///< the file that it was read from, "" if none
  RunSource source = RunSource::Configuration;
  std::shared_ptr<const Schedule> schedule;
  Timeline timeline;
  /// With every default spelt out, of runs from configurations and schedule files.
  std::shared_ptr<const io::EffectiveConfig> effective;
  /// The configuration as it was given, of runs that were read from one: what links hold (<pipeloom/link.hpp>). Else null.
  std::shared_ptr<const io::Value> given;
  /// Times and sizes of its ops, in one Terms where a configuration gave them; null for measured runs.
  std::shared_ptr<const Costs> costs;
  std::shared_ptr<const MemoryModel> memory;
  /// Of runs of a model: costs.model's times and bytes, and the terms of its training figures.
  std::shared_ptr<const study::ModelRun> model;
  std::optional<Metrics> metrics;
  std::optional<CriticalPath> critical_path;
  /// Under any transfer model but `latency`: the program that ran, its run, and the totals of its messages.
  std::shared_ptr<const Program> program;
  std::shared_ptr<const ProgramRun> program_run;
  std::shared_ptr<const study::MessageSummary> messages;
  /// Set if a rank needs more than memory.limit_bytes: the program reports, and exits with 1.
  std::optional<OverLimit> over_limit;
  std::optional<Hang> hang;
  /// Set where `schedule` and `timeline` are of a shorter run with the same beginning and end, of which a part repeats; everything else is of the
  /// whole run. Null unless Limits::totals_only.
  std::shared_ptr<const study::Repeated> repeated;
  /// Idle spans of the first step, [rank], in time order; empty unless asked for. Of measured runs
  /// under the costs of a simulated run that they are compared with, else all are the phase's.
  std::vector<std::vector<IdleSpan>> idle;
  /// Lines for stderr, without "warning:".
  std::vector<std::string> warnings;

  /// True if its costs and rules are known, and it got to its end.
  [[nodiscard]] bool simulated() const { return effective != nullptr; }
};

/// Reads, makes, simulates and measures; a file of times is read. Throws InputError if the request is wrong (file, line and column
/// named), ScheduleError if the schedule refuses, HangError if it hangs, Stopped if a callback of the limits ends it.
[[nodiscard]] Run run(const Request& request, const Limits& limits = {});

/// The JSON text that `pipeloom simulate --json` prints. REQUIRES: run.simulated().
[[nodiscard]] std::string report_json(const Run& run);

/// The looks of a picture. A size of 0 follows from its content.
struct Picture {
  std::string title = {};
  double width = 0;  ///< pixels, 1/96 inch
  double height = 0;
  bool memory = false;         ///< the memory of each rank below its row
  bool idle_causes = false;    ///< gaps tinted by cause
  bool critical_path = false;  ///< outlined
  bool dark = false;
};

/// "#0072b2": the colour that pictures give ops of this kind.
[[nodiscard]] std::string kind_colour(OpKind kind, bool dark = false);

/// Writes the output of `pipeloom convert`: "svg", "png", "pdf", "chrome", "timeline", "json", ... Throws InputError for names of no format,
/// and if the run lacks parts that the format needs. Check `out` afterwards, as with any stream.
void write(const Run& run, std::string_view format, std::ostream& out, const Picture& picture = {});
/// The same for times that simulate() made under these terms.
void write(const Timeline& timeline, const Terms& terms, std::string_view format, std::ostream& out,
           const Picture& picture = {});

/// A metric of every run.
struct ComparedMetric {
  std::string name;
  std::string unit;  ///< "time_unit", "bytes", "ratio", "count" or "per_second"; times in ticks
  /// -1 where less is better, 1 where more is, 0 where neither.
  int better = 0;
  std::vector<std::optional<double>> values;  ///< [run]; nullopt if a run does not know it
};
struct Comparison {
  std::vector<ComparedMetric> metrics;
  /// Limits of the comparison of each run with the first, which its numbers do not show: [run - 1], a line each.
  std::vector<std::vector<std::string>> remarks;
};
/// runs[0] is the baseline. REQUIRES: runs is not empty, and no pointer is null.
[[nodiscard]] Comparison compare(std::span<const Run* const> runs);

}  // namespace pipeloom
