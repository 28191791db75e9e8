#pragma once

// Another duration for an op, as a change of the configuration that its run was made of.
//
//   this op               a row of costs.exceptions that names kind, stage and microbatch
//   its kind on its stage a row without the microbatch, before those that have one; rows of single ops of the same stage are removed
//   its rank              costs.rank_scale, which times of exceptions follow too

#include <cstddef>
#include <string>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/run/run_model.hpp"

namespace pipeloom::gui {

/// The ops that get another time together.
enum class CostScope : std::uint8_t { StageKind, Op, Rank };

/// "B of stage 3", "B 7 of stage 3", "all of rank 3".
[[nodiscard]] std::string scope_text(const RunModel& run, std::size_t position, CostScope scope);

/// Says why the op's duration cannot be changed in this way, and which one can be; "" if it can be changed.
[[nodiscard]] std::string cost_refusal(const RunModel& run, std::size_t position, CostScope scope);

/// `from`, the configuration that `run` was made of, with another duration of the op at `position`, and of the other ops of the scope.
/// REQUIRES: cost_refusal() is ""; duration >= 0.
[[nodiscard]] Assignments with_duration(const Assignments& from, const RunModel& run, std::size_t position,
                                        CostScope scope, Ticks duration);

/// A schedule file and the costs that it runs with, as a configuration. REQUIRES: run.effective, and run.file is a schedule.
[[nodiscard]] Assignments assignments_of_file(const RunModel& run);

}  // namespace pipeloom::gui
