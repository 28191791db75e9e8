#pragma once

// Reads a run from a file and values on top of it: one reader for the command line, suites and the window.

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/actions.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/formats/formats.hpp"
#include "sim/io/formats/timeline_reader.hpp"
#include "sim/io/traces/assemble.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::study {

/// A run that has been read but not evaluated.
struct Input {
  io::Config config;
  /// The configuration as it was given, with the options on top; null if the file holds a schedule.
  std::shared_ptr<const io::Value> given;
  /// Set if the file holds a schedule; `config` then says costs, memory and step only.
  std::shared_ptr<const Schedule> schedule;
  /// Set for a schedule file: the blanks it draws, its actions if they are more than computations, and its format.
  std::shared_ptr<const IdleCells> idle_cells;
  std::shared_ptr<const ActionLists> actions;
  std::string format;
  /// The text of the schedule file, for the places of errors in it.
  std::string text;
  /// The file's name, or "" if there is none.
  std::string name;
  /// Warnings about the parts that the schedule file's reader ignored.
  std::vector<std::string> warnings;
};

/// Returns `request`; if no file of its name exists, a link becomes the text that it holds, and a schedule's name the schedule if no other is
/// given. Throws InputError for a link that cannot be read, as io::linked_configs() does.
[[nodiscard]] Request settled(Request request);

/// Reads the file, if any, and puts the options on top. A link or a schedule's name may take the place of the file. Throws InputError.
[[nodiscard]] Input read_input(const Request& given);
/// The whole run; warnings of the input come first. Throws as study::evaluate() does.
[[nodiscard]] Run evaluate(const Input& input, const Limits& limits);

/// The format that --from names. Throws InputError listing all that can be read, traces too.
[[nodiscard]] const io::Format& format_from(const std::string& name);

/// True if the file is a trace of a real run, or a folder of such files: --from says so, or its content.
[[nodiscard]] bool is_trace_input(const Request& input);
/// Reads a trace with its other files. REQUIRES: is_trace_input(). Throws as io::read_trace() and io::assemble() do.
[[nodiscard]] io::TraceRun read_trace_input(const Request& input);

// Runs of files: simulated from a configuration or schedule file, or read from a file of times.

/// Idle spans of the first step of a simulated run, [rank]: by its messages where these block or queue, else by its costs.
[[nodiscard]] std::vector<std::vector<IdleSpan>> idle_spans_of(const Run& run);

/// Idle spans of measured times, [rank]: from these and the times of messages in `predicted`. Empty if it has no such times for this
/// placement and clock.
[[nodiscard]] std::vector<std::vector<IdleSpan>> idle_spans_under(const Timeline& measured,
                                                                  const Run& predicted);

/// The times of a file: io::read_timeline(), and a warning where `unit` is a real one and the file does not say its own.
[[nodiscard]] io::TimelineFile read_times(std::string_view text, const std::string& file, TimeUnit unit,
                                          io::Partial partial = io::Partial::Refuse);

/// `input` names a file, a trace's folder among them, or holds its text. Values on top of it count for simulated runs; `unit` is that of a timeline that does not say
/// its own, as read_times() has it. The title is the file's name; idle spans are there where causes are known. Throws as read_input(), evaluate(),
/// io::read_timeline(), io::read_trace() and io::assemble() do.
[[nodiscard]] Run load_run(Request input, const Limits& limits, TimeUnit unit);

/// The files of each run, in the order of the first of each: files of one folder that hold a rank each of a trace are one run, any other is its own. `from` is the
/// format of those files, found by content if left out.
[[nodiscard]] std::vector<std::vector<std::string>> files_by_run(const std::vector<std::string>& files,
                                                                 const std::optional<std::string>& from);

/// The runs of `files`, grouped as by files_by_run(), each with the values of `input` on top. A schedule's name in place of a file is the first
/// file's configuration under that schedule; if the first file is a schedule file or times, its ranks and microbatches under that schedule.
/// A link with a second configuration is two runs.
/// A timeline without a unit has the unit of the first run that states one, and the idle spans of the first simulated run with the same placement.
/// Addresses of runs stay valid: comparisons point to them.
[[nodiscard]] std::list<Run> load_runs(const std::vector<std::string>& files, const Request& input,
                                       const Limits& limits);

}  // namespace pipeloom::study
