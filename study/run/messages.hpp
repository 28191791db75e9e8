#pragma once

// From the transfer model of a configuration to a program and the rules that its messages follow.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/cost/cost_spec.hpp"
#include "sim/io/config/config.hpp"
#include "sim/messages/program.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom::study {

/// Asks a schedule's own framework for its program; empty for schedules from files.
using FrameworkProgram = std::function<std::optional<Program>(schedules::MessageStyle)>;

/// That of a configuration's schedule, which was made with as many microbatches as this one has; empty for a schedule from a file. Both must outlive it.
[[nodiscard]] FrameworkProgram framework_program(const io::Config& config,
                                                 const std::shared_ptr<const Schedule>& schedule);

struct Messages {
  Program program;
  MessageRules rules;
  /// The plan that `auto` chose: "megatron" or "dualpipe" style plans are "schedule", the others keep their name.
  std::string plan;
};

/// The messages of a program hang or would be mispaired: what() is one line, the parts are for pages that explain a hang at length;
/// they are empty where messages are mispaired.
class MessageProblem : public ScheduleError {
 public:
  MessageProblem(const Where& where, const std::string& message, std::vector<std::string> waits,
                 std::vector<std::string> lists, std::string remedy)
      : ScheduleError(where, message),
        waits_(std::move(waits)),
        lists_(std::move(lists)),
        remedy_(std::move(remedy)) {}
  /// Which rank waits for which, a line per rank, the cycle first.
  [[nodiscard]] const std::vector<std::string>& waits() const { return waits_; }
  /// A line per rank: its last instructions, the one at which it is blocked ("?"), and the next ones.
  [[nodiscard]] const std::vector<std::string>& lists() const { return lists_; }
  /// A setting with which the same schedule runs: "costs.transfer.queue=per-pair"; "" if none was found.
  [[nodiscard]] const std::string& remedy() const { return remedy_; }

 private:
  std::vector<std::string> waits_;
  std::vector<std::string> lists_;
  std::string remedy_;
};

/// The rules that messages follow under this transfer model. REQUIRES: spec.model is not Latency.
[[nodiscard]] MessageRules message_rules(const cost::TransferSpec& spec);

/// Throws InputError if the schedule's framework lacks the plan that is asked for, MessageProblem if messages would be mispaired
/// (both ranks and both messages are named). REQUIRES: spec.model is not Latency.
[[nodiscard]] Messages make_messages(std::shared_ptr<const Schedule> schedule, const cost::TransferSpec& spec,
                                     const FrameworkProgram& framework);

/// Costs of messages where they block or queue; times of one step.
struct MessageSummary {
  std::string plan;  ///< as the configuration spells it, or "schedule"
  MessageTotals totals;
  /// How much shorter the makespan would be if no message waited in a queue for another.
  Ticks lost_to_queues = 0;
};

/// The program of a schedule, its run, and the costs of its messages.
struct MessageRun {
  Program program;
  ProgramRun run;
  MessageSummary summary;
  RunFacts facts;
};

/// Throws as make_messages(), and MessageProblem if they hang. REQUIRES: as make_messages(); costs fit the schedule.
[[nodiscard]] MessageRun run_messages(const std::shared_ptr<const Schedule>& schedule,
                                      const cost::TransferSpec& spec, const Costs& costs, const Steps& steps,
                                      const FrameworkProgram& framework);

}  // namespace pipeloom::study
