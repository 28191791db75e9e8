#pragma once

// Runs of many microbatches under a transfer model that blocks, queues or shares links.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <pipeloom/run.hpp>
#include "sim/engine/repetition.hpp"
#include "sim/messages/program_repetition.hpp"
#include "study/run/messages.hpp"

namespace pipeloom::study {

/// A run as the program engine did it: under its rules, and without queues, by which their losses are told.
class RecordedMessages {
 public:
  /// Nullopt if one of them hangs. `program`, `costs` and `queues`, the program's own or those of a shorter one, must outlive it.
  [[nodiscard]] static std::optional<RecordedMessages> of(const Program& program, const Costs& costs,
                                                          const MessageRules& rules,
                                                          const RepeatingQueues& queues);

  /// The first cut, and blocks, from which on both of them repeat; nullopt if they do not before cut `cuts`, or not within `most` blocks.
  [[nodiscard]] std::optional<Repetition> repetition(std::size_t cuts, std::size_t most) const;
  /// RepeatingProgram::reach() of the blocks before this cut.
  [[nodiscard]] std::size_t reach(std::size_t cuts) const;
  /// True if `longer` is this one with the `blocks` before the cut once more, in a stretch where they repeat on both sides.
  [[nodiscard]] bool is_repeated_in(const RecordedMessages& longer, std::size_t cut,
                                    std::size_t blocks) const;
  /// The makespan that no queue delays.
  [[nodiscard]] Ticks free_makespan() const { return runs_.back().makespan(); }

 private:
  RecordedMessages(const RepeatingQueues& queues, std::vector<RecordedRun> runs)
      : queues_(&queues), repeating_(queues), runs_(std::move(runs)) {}
  /// The time that the blocks before the cut take.
  [[nodiscard]] Ticks delay(const RecordedRun& run, std::size_t cut, std::size_t blocks) const;

  const RepeatingQueues* queues_;
  RepeatingProgram repeating_;
  std::vector<RecordedRun> runs_;  // with queues, without; one if there are none
};

/// The costs of messages in two runs, one of which is a repetition longer.
struct MessagesOfTwo {
  MessageSummary shorter;
  MessageSummary longer;
  Ticks free_shorter = 0;  ///< RecordedMessages::free_makespan()
  Ticks free_longer = 0;

  /// Those of a run of this makespan, which has `times` repetitions more than the shorter one.
  [[nodiscard]] MessageSummary extended(std::int64_t times, Ticks makespan) const;
};

}  // namespace pipeloom::study
