#pragma once

// The smallest exchange: two messages from one rank to another.

#include <array>
#include <memory>
#include <utility>

#include <pipeloom/schedule.hpp>
#include "executor/run/exchange.hpp"
#include "executor/run/run_plan.hpp"

namespace pipeloom::executor {

/// Two forwards from rank 0 to rank 1; batches 0, 1 send them, 2, 3 receive them in the order of `receives`.
inline Program two_messages(std::array<MessageId, 2> receives) {
  ProgramBuilder out(std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1F1 1B0 1B1")));
  out.begin_rank(Rank(0));
  for (const MessageId id : {0U, 1U}) {
    const Endpoint send{id, true};
    out.post({&send, 1});
  }
  out.begin_rank(Rank(1));
  for (const MessageId id : receives) {
    const Endpoint receive{id, false};
    out.post({&receive, 1});
  }
  return std::move(out).build();
}

/// One step, whether or not the program could run.
inline std::shared_ptr<const RunPlan> plan_of(const Program& program, RunOptions options) {
  options.warmup_steps = 0;
  options.steps = 1;
  return std::make_shared<const RunPlan>(
      RunPlan{program, options, {}, std::vector<std::size_t>(program.messages().size(), 1)});
}

inline Payload holding(float value) {
  return {.values = {value}};
}

}  // namespace pipeloom::executor
