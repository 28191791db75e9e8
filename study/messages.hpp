#pragma once

// From the transfer model of a configuration to a program and the rules that its messages follow.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "schedules/generator.hpp"
#include "sim/cost/cost_spec.hpp"
#include "sim/program.hpp"
#include "sim/program_engine.hpp"

namespace pipeloom::study {

/// Asks a schedule's own framework for its program; empty for schedules from files.
using FrameworkProgram = std::function<std::optional<Program>(schedules::MessageStyle)>;

struct Messages {
  Program program;
  MessageRules rules;
  /// What `auto` became: "megatron" or "dualpipe" style plans are "schedule", the others keep their name.
  std::string plan;
};

/// Throws InputError if the schedule's framework lacks the plan that is asked for, ScheduleError if messages would be mispaired
/// (both ranks and both messages are named). REQUIRES: spec.model is not Latency.
[[nodiscard]] Messages make_messages(std::shared_ptr<const Schedule> schedule, const cost::TransferSpec& spec,
                                     const FrameworkProgram& framework);

}  // namespace pipeloom::study
