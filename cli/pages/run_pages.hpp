#pragma once

// Pages of `pipeloom run`: a run next to its prediction.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/simulate.hpp>
#include "cli/options.hpp"
#include "executor/process/clock_offset.hpp"
#include "executor/run/run.hpp"
#include "study/calibrate/measurements.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::cli {

/// Simulated makespan, and the median, shortest and longest of the measured steps.
[[nodiscard]] std::string makespans_page(const pipeloom::Run& run, const Timeline& measured);

/// How well the clocks of processes are known; "" where there is one clock.
[[nodiscard]] std::string clocks_page(const std::vector<executor::ClockOffset>& clocks);

/// The page of `pipeloom compare` for the simulated step and the measured one of median length.
[[nodiscard]] std::string comparison_page(const pipeloom::Run& run, const Timeline& measured,
                                          const Screen& screen);

/// The same as the value that `pipeloom compare --json` prints.
[[nodiscard]] std::string comparison_json(const pipeloom::Run& run, const Timeline& measured);

/// Makespans of all timed steps in ms, in their order.
[[nodiscard]] std::string steps_page(const Timeline& measured);

/// Most bytes of activations that each rank held, next to the simulator's prediction with `memory`, if it can; "" if none were counted.
[[nodiscard]] std::string peaks_page(const pipeloom::Run& run, const std::vector<std::size_t>& measured,
                                     const std::optional<MemoryModel>& memory, bool colour);

/// The timed steps that ended before a run was interrupted, as a result without messages; nothing if none did. `partial` is what
/// executor::RunFailed has.
[[nodiscard]] std::optional<executor::RunResult> finished_steps(const Timeline& partial, int warmup_steps);

/// Rows of the ops that ended, beside the file that a whole run would have become.
void keep_partial(const executor::RunFailed& failure, const std::string& path);

// Output of `pipeloom run --json` (study/report/schemas/run.json).

/// Times in ms. `memory` is the simulator's prediction of the work's activations, if it has one; `comparison` is a JSON value, or "" for
/// none; `stopped` says that the run was interrupted and these are the steps that ended before.
[[nodiscard]] std::string run_json(const pipeloom::Run& run, const executor::RunResult& result,
                                   const study::calibrate::Measurements& costs,
                                   const std::optional<MemoryModel>& memory, const std::string& comparison,
                                   bool stopped);

}  // namespace pipeloom::cli
