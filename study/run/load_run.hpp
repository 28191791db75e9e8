#pragma once

// Runs of files: simulated from a configuration or schedule file, or read from a file of times.

#include <list>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/run.hpp>
#include "study/run/input.hpp"

namespace pipeloom::study {

/// Idle spans of the first step of a simulated run, [rank]: by its messages where these block or queue, else by its costs.
[[nodiscard]] std::vector<std::vector<IdleSpan>> idle_spans_of(const Run& run);

/// `input` names a file or holds its text. Values on top of it count for simulated runs; `unit` is that of a timeline that does not say
/// its own. The title is the file's name; idle spans are there where causes are known. Throws as read_input(), evaluate() and
/// io::read_timeline() do.
[[nodiscard]] Run load_run(Request input, const Limits& limits, TimeUnit unit);

/// The runs of `files` in this order, each with the values of `input` on top; a timeline without a unit has that of the first run.
/// Addresses stay: comparisons point to runs.
[[nodiscard]] std::list<Run> load_runs(const std::vector<std::string>& files, const Request& input,
                                       const Limits& limits);

}  // namespace pipeloom::study
