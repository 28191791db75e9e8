#pragma once

// The part of a run that is fixed when it begins, and that all its ranks read.

#include <memory>
#include <vector>

#include "executor/run/clock.hpp"
#include "executor/run/run.hpp"
#include "executor/run/work.hpp"
#include "sim/messages/program.hpp"

namespace pipeloom::executor {

struct RunPlan {
  Program program;
  RunOptions options;
  RunClock clock;
  std::vector<std::size_t> elements;  ///< [message] of its tensor
  std::size_t element_bytes = sizeof(float);

  [[nodiscard]] const Schedule& schedule() const { return program.schedule(); }
  [[nodiscard]] int all_steps() const { return options.warmup_steps + options.steps; }
};

[[nodiscard]] std::vector<Rank> all_ranks(const Schedule& schedule);

/// Throws ScheduleError if check_program() finds something, or the program would hang under options.queue.
/// REQUIRES: as run_on_cpu().
[[nodiscard]] std::shared_ptr<const RunPlan> make_plan(const Program& program, const Work& work,
                                                       const RunOptions& options);

}  // namespace pipeloom::executor
