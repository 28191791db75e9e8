#pragma once

// Where the run of a program repeats: the instructions between two cuts of its queues, their times, and what the engine did for them.
//
// The program engine is deterministic. What it does next depends on what it did for the instructions, messages and queues that are still under way, and these
// reach back a bounded number of blocks. So a stretch of that length that is the same as an earlier one, but for the numbers of its messages and a delay,
// goes on as the earlier one did, as long as the instructions go on alike.

#include <cstddef>
#include <optional>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/units.hpp>
#include "sim/engine/repetition.hpp"
#include "sim/messages/program.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom {

/// The run of a program's first step, with everything that the engine did, and where its instructions are.
class RecordedRun {
 public:
  /// Nullopt if it hangs. `program` must outlive it. REQUIRES: as run_program().
  [[nodiscard]] static std::optional<RecordedRun> of(const Program& program, const Costs& costs,
                                                     const MessageRules& rules);

  [[nodiscard]] Ticks makespan() const { return span_of(run_.timeline).length(); }
  /// RepeatingQueues::delay() of its times.
  [[nodiscard]] std::optional<Ticks> delay(const RepeatingQueues& queues, std::size_t from,
                                           std::size_t to) const {
    return queues.delay(from, to, program_->schedule(), run_.timeline.end);
  }
  /// The end of the op at this place of the rank's queue.
  [[nodiscard]] Ticks end_of(Rank rank, std::size_t place) const {
    return run_.timeline.end[program_->schedule().queue_begin(rank) + place];
  }

 private:
  friend class RepeatingProgram;
  struct EntryPlace {
    std::size_t place = 0;  // of its first op in the rank's queue
    std::size_t instruction = 0;
  };
  RecordedRun(const Program& program, ProgramRun run, std::vector<WorkRecord> works);

  [[nodiscard]] std::size_t place_of(std::size_t op, Rank rank) const {
    return op - program_->schedule().queue_begin(rank);
  }
  /// The first instruction after the entries before this place of the rank's queue.
  [[nodiscard]] std::size_t instruction_at(Rank rank, std::size_t place) const;
  /// The first record of rank 0 at this instruction or a later one.
  [[nodiscard]] std::size_t record_at(std::size_t instruction) const;

  const Program* program_;
  ProgramRun run_;
  std::vector<WorkRecord> works_;
  std::vector<std::size_t> of_first_rank_;        // records of rank 0
  std::vector<std::vector<EntryPlace>> entries_;  // [rank]
  std::vector<std::size_t> post_of_batch_;        // [batch]: instruction
  std::vector<std::size_t> sent_at_;              // [message]: instruction of from_rank
  std::vector<std::size_t> received_at_;          // [message]: instruction of to_rank
};

/// The cuts of a program's queues as cuts of its instructions.
class RepeatingProgram {
 public:
  /// `queues` are those of the program's schedule or of a shorter one, and must outlive it.
  explicit RepeatingProgram(const RepeatingQueues& queues) : queues_(&queues) {}

  /// Blocks that lie between an instruction and those that it waits for, at most, one more for its rank's and its queue's. `cuts`: of the run.
  [[nodiscard]] std::size_t reach(const RecordedRun& run, std::size_t cuts) const;

  /// True if the stretch of `reach` blocks before cut `to`, and the `ahead` blocks after it, are those of `blocks` earlier, `delay` later.
  [[nodiscard]] bool repeats(const RecordedRun& run, std::size_t to, std::size_t blocks, Ticks delay,
                             std::size_t reach, std::size_t ahead) const;

  /// True if `longer` is `shorter` with the `blocks` before cut `cut` once more, which take `delay`.
  [[nodiscard]] bool is_longer(const RecordedRun& shorter, const RecordedRun& longer, std::size_t cut,
                               std::size_t blocks, Ticks delay) const;

 private:
  /// From something of one run to the same in another.
  struct Shift {
    const RecordedRun& from;
    const RecordedRun& to;
    std::size_t blocks = 0;
    Ticks delay = 0;
    std::vector<std::size_t> instructions;  // [rank]
  };
  [[nodiscard]] Shift make_shift(const RecordedRun& from, std::size_t from_cut, const RecordedRun& to,
                                 std::size_t to_cut, Ticks delay) const;
  [[nodiscard]] std::size_t cut(const RecordedRun& run, Rank rank, std::size_t number) const {
    return run.instruction_at(rank, queues_->cut(rank, number));
  }
  [[nodiscard]] std::size_t block_of(const RecordedRun& run, std::size_t cuts, Rank rank,
                                     std::size_t instruction) const;

  [[nodiscard]] bool is_same_message(const Shift& shift, MessageId from, MessageId to) const;
  [[nodiscard]] bool has_same_times(const Shift& shift, MessageId from, MessageId to) const;
  [[nodiscard]] bool is_same_entry(const Shift& shift, Rank rank, std::size_t from, std::size_t to) const;
  [[nodiscard]] bool is_same_batch(const Shift& shift, std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool is_same_instruction(const Shift& shift, Rank rank, std::size_t from) const;
  [[nodiscard]] bool is_same_record(const Shift& shift, const WorkRecord& from, const WorkRecord& to) const;
  [[nodiscard]] bool is_same_wait(const Shift& shift, Rank rank, const RankWait& from,
                                  const RankWait& to) const;
  /// Instructions [begin, end) of `shift.from`, and as many records from `first` on.
  [[nodiscard]] bool are_same_instructions(const Shift& shift, Rank rank, std::size_t begin,
                                           std::size_t end) const;
  [[nodiscard]] bool are_same_records(const Shift& shift, std::size_t from, std::size_t to,
                                      std::size_t count) const;
  [[nodiscard]] bool are_same_waits(const Shift& before, const Shift& after, Rank rank,
                                    std::size_t cut) const;

  const RepeatingQueues* queues_;
};

}  // namespace pipeloom
