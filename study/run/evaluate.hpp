#pragma once

// From a configuration to everything that is known about its run.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include "sim/io/config/config.hpp"
#include "study/run/make_schedule.hpp"

namespace pipeloom::study {

/// How much evaluate() computes.
enum class Depth : std::uint8_t {
  Metrics,  ///< times and the sums over them: no lower bound, no critical path
  All,
};

/// Makes, simulates and measures. Throws as make_schedule() and cost::resolve() do, and Stopped where the limits say so.
[[nodiscard]] Run evaluate(const io::Config& config, const Limits& limits = {}, Depth depth = Depth::All);

/// The same with a schedule that make_schedule() made for this configuration. `effective` is what
/// make_schedule() filled in: the report's configuration has no more than that.
[[nodiscard]] Run evaluate_made(std::shared_ptr<const Schedule> schedule, const io::Config& config,
                                const Limits& limits, io::EffectiveConfig effective = {},
                                Depth depth = Depth::All);

/// The same for a schedule from a file: `config` gives costs, memory, step and forward_only. Throws ScheduleError if the
/// schedule is illegal or hangs. The report names the schedule `name`.
[[nodiscard]] Run evaluate_schedule(std::shared_ptr<const Schedule> schedule, const std::string& name,
                                    const io::Config& config, const Limits& limits = {},
                                    Depth depth = Depth::All);

/// True if a run with this number of entries has its critical path; else a warning says that it has not, unless none is asked for.
[[nodiscard]] bool has_path(Run& run, std::size_t entries, const Limits& limits);

/// Adds the lower bound and the critical path, which Depth::Metrics leaves out. REQUIRES: `run` is from evaluate(), with its program.
/// Throws Stopped where the limits say so.
void add_bound_and_path(Run& run, const Limits& limits);

}  // namespace pipeloom::study
