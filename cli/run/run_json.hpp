#pragma once

// Output of `pipeloom run --json` (study/report/schemas/run.json).

#include <optional>
#include <string>

#include <pipeloom/costs.hpp>
#include "executor/run/run.hpp"
#include "study/calibrate/measurements.hpp"
#include "study/run/evaluate.hpp"

namespace pipeloom::cli {

/// Times in ms. `memory` is the simulator's prediction of the work's activations, if it has one; `comparison` is a JSON value, or "" for
/// none; `stopped` says that the run was interrupted and these are the steps that ended before.
[[nodiscard]] std::string run_json(const pipeloom::Run& run, const executor::RunResult& result,
                                   const study::calibrate::Measurements& costs,
                                   const std::optional<MemoryModel>& memory, const std::string& comparison,
                                   bool stopped);

}  // namespace pipeloom::cli
