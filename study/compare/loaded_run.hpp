#pragma once

// A run as comparisons and reports show it: simulated from a configuration or schedule file, or read from a file of times.

#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/compare/compare.hpp"
#include "study/run/run_input.hpp"

namespace pipeloom::study {

struct LoadedRun {
  /// The file's name.
  std::string title;
  /// Everything that is known of a simulated run; nothing for a timeline that was read.
  std::optional<Evaluation> evaluation;
  /// The timeline that was read; empty for a simulated run.
  Timeline read;
  /// Lines for stderr, without "warning:": what the reader of that timeline says.
  std::vector<std::string> read_warnings;
  /// Idle spans of the first step, [rank]; empty where causes are not known.
  std::vector<std::vector<IdleSpan>> idle;

  [[nodiscard]] bool simulated() const { return evaluation.has_value(); }
  [[nodiscard]] const Timeline& timeline() const { return evaluation ? evaluation->timeline : read; }
  [[nodiscard]] const std::vector<std::string>& warnings() const {
    return evaluation ? evaluation->warnings : read_warnings;
  }
  [[nodiscard]] const Metrics* metrics() const { return evaluation ? &evaluation->metrics : nullptr; }
};

/// Idle spans of the first step of a simulated run, [rank]: by its messages where these block or queue, else by its costs.
[[nodiscard]] std::vector<std::vector<IdleSpan>> idle_spans_of(const Evaluation& run);

/// `input` names a file or holds its text. Values on top of it count for simulated runs; `unit` is that of a timeline that does not say
/// its own. Throws as read_input(), evaluate() and io::read_timeline() do.
[[nodiscard]] LoadedRun load_run(InputTexts input, const Limits& limits, TimeUnit unit);

/// The runs of `files` in this order, each with the values of `input` on top; a timeline without a unit has that of the first run.
/// Stable addresses: views may point into them.
[[nodiscard]] std::list<LoadedRun> load_runs(const std::vector<std::string>& files, const InputTexts& input,
                                             const Limits& limits);

/// Views for study/compare/compare.hpp. They point into `runs`.
[[nodiscard]] std::vector<ComparedRun> compared(const std::list<LoadedRun>& runs);

/// What the numbers do not say of `b` against the baseline `a`, a line each: clocks and work that differ, which idle cause changed and
/// where, how many ops are in one of them only.
[[nodiscard]] std::vector<std::string> remarks(const ComparedRun& a, const ComparedRun& b,
                                               const OpComparison& ops);

}  // namespace pipeloom::study
