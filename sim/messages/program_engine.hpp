#pragma once

// The engine for transfers that block, queue or share links: runs a Program.
//
//   a message may start when    both ends are posted, it is at the head of its queue at both ends, and (link) the engines are free
//   it is done                  a latency and its sending time later
//   a rank waits                only in Wait: until all messages of the batch are done
//   a rank's lane is busy       Costs::rank_time for each message of a batch: for those it sends before they are posted, for those it
//                               receives when they are there
//
// The results of a group are posted after the group, also where its parts run one after another.
//
// Where nothing is shared but queues, every time is a maximum of sums over a fixed graph (each queue serves in the order of its
// rank's instructions), so no clock is needed and work is done in any order, like the cursor engine does. Shared links serve
// the rank that is ready first, so there the same work is taken in time order.

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <pipeloom/costs.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/base/tick_sum.hpp"
#include "sim/engine/entry_times.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/messages/program.hpp"
#include "sim/wait_graph.hpp"

namespace pipeloom {

class MessageFlow;

/// Disciplines: which messages of a rank wait for each other. A queue serves batches (NCCL's groups) in the order in which the rank
/// posted them, one at a time; the messages of one batch run together.
enum class QueueDiscipline : std::uint8_t {
  None,          ///< no message waits for another
  PerRank,       ///< one queue per rank for everything: one communicator for all
  PerDirection,  ///< one for activations, one for gradients: a communicator per direction
  PerPair,       ///< one per peer and way: a communicator per directed rank pair
};

struct MessageRules {
  QueueDiscipline queue = QueueDiscipline::None;
  /// Each rank has one send and one receive engine, each node one NIC per way, busy for a message's sending time
  /// (Costs::forward_sending). First ready, first served; at equal times in the order of events.
  bool shared_links = false;
  /// Rank r is on node r / ranks_per_node; 0: all on one node, no NIC. Only with shared_links.
  int ranks_per_node = 0;
};

/// The life of one message. posted: handed over by that end; ready: both posted and first in their queues; start: links free;
/// end: done at both ends.
struct MessageTimes {
  Ticks sent = -1;
  Ticks received = -1;
  Ticks ready = -1;
  Ticks start = -1;
  Ticks end = -1;
  /// The message that it waited for in a queue or on a link last; kNoMessage if it started as soon as both ends were posted.
  MessageId queued_after = kNoMessage;
  [[nodiscard]] Ticks posted() const { return sent > received ? sent : received; }
};

/// Time that a rank spent in waits, or on messages, between two entries.
struct RankWait {
  static constexpr std::uint32_t kAtEnd = ~std::uint32_t{0};
  Ticks start = 0;
  Ticks end = 0;
  MessageId message = kNoMessage;    ///< the one that ended the wait; kNoMessage: a reload did
  std::uint32_t before_op = kAtEnd;  ///< op index of the entry that runs next
  bool is_lane = false;              ///< nothing was missing: messages took their rank time
};

struct ProgramRun {
  Timeline timeline;
  std::vector<MessageTimes> messages;        ///< [step * messages + id]
  std::vector<std::vector<RankWait>> waits;  ///< of the first step, [rank]
};

/// The message that a rank waits for, for ever.
struct NeededMessage {
  MessageId message = kNoMessage;
  bool is_send = false;  ///< which end of it the rank that waits holds
  /// The message that must be done first: at the head of a queue that this one waits in.
  MessageId queued_after = kNoMessage;
  Rank queue_of;  ///< whose queue that is
};

/// Why a program hangs. A node's `at` is a position in its rank's list. `on` has not posted its end of the message, or of the one that must
/// be done first, or has others in front of it; it is missing if no later instruction of `on` posts it. `done` counts entries.
using ProgramHang = WaitGraph<NeededMessage>;

/// "rank 2 waits in RECV_F of stage 3 microbatch 1 from rank 1, which", a line per rank, in reading_order().
[[nodiscard]] std::vector<std::string> wait_lines(const ProgramHang& hang, const Program& program);
/// The same in one line, for error messages.
[[nodiscard]] std::string describe(const ProgramHang& hang, const Program& program);

/// Runs steps.count steps. Under the barrier rule all steps are the first one, shifted by makespan + optimizer; under
/// post-validation each rank goes on with the next step by itself, its queues still filled.
/// REQUIRES: check_program() finds nothing but mispairing; costs fit the placement. O(instructions), times their logarithm with
/// shared links. Throws InputError if a time would pass kMaxTicks. With `entry_times` entries take its times.
[[nodiscard]] std::variant<ProgramRun, ProgramHang> run_program(const Program& program, const Costs& costs,
                                                                const MessageRules& rules,
                                                                const Steps& steps = {},
                                                                const EntryTimes& entry_times = {});

/// One thing that the program engine did.
struct WorkRecord {
  enum class Kind : std::uint8_t {
    Advance,  ///< a rank went on
    Start,    ///< a message was given its start and end
    End,      ///< a message ended
  };
  Ticks when = 0;
  Kind kind = Kind::Advance;
  std::uint32_t index = 0;      ///< the rank or the message
  std::size_t instruction = 0;  ///< of a rank: its next one
};
/// run_program() of one step; appends what the engine did, in the order in which it did it.
[[nodiscard]] std::variant<ProgramRun, ProgramHang> run_program_recorded(const Program& program,
                                                                         const Costs& costs,
                                                                         const MessageRules& rules,
                                                                         std::vector<WorkRecord>& works);

/// Time per step of the endlessly repeated program, optimizer included. Barrier: makespan + optimizer. Post-validation: found by
/// repeating until every rank's step takes the same time as the one before, at most 32 times; then the last step's.
[[nodiscard]] Ticks steady_period(const Program& program, const Costs& costs, const MessageRules& rules,
                                  const Steps& steps);

/// Idle time of a rank in the first step, cause by cause; the spans cover exactly the time between its entries, from the
/// step's first start to its last end. Of a wait, the part before both ends of its message were posted is the phase's
/// (warmup, cooldown, imbalance), then `queueing` until it starts, then `transfer`; waiting for a reload is `memory`. Rank time is
/// `transfer`.
[[nodiscard]] std::vector<IdleSpan> idle_spans(const ProgramRun& run, Rank rank);
[[nodiscard]] std::vector<IdleCauses> idle_causes(const ProgramRun& run);

/// Times of the messages of one step, summed over messages.
struct MessageTotals {
  std::size_t count = 0;
  TickSum transfer;      ///< from start to end
  TickSum queued;        ///< from both ends posted to the start
  TickSum head_of_line;  ///< the part of `queued` spent after others in a queue; the rest waits for links
  TickSum exposed;       ///< time that ranks waited: transfer and queueing of idle_causes
};
[[nodiscard]] MessageTotals message_totals(const ProgramRun& run, const Program& program);

/// The chain that sets the makespan: entries by their first op, and the messages between them.
struct CriticalChain {
  std::vector<std::size_t> entries;  ///< op indices, in time order
  std::vector<MessageId> messages;
};
[[nodiscard]] CriticalChain critical_chain(const ProgramRun& run, const Program& program);
/// Entries of the critical chain.
[[nodiscard]] std::vector<std::size_t> critical_entries(const ProgramRun& run, const Program& program);

// From "these ranks wait in a Wait" to which rank waits for which. The inside of the program engine.

/// A message instance that is not done, and which end of it the rank holds.
struct StuckMessage {
  std::uint32_t message = kNoMessage;
  bool is_send = false;
};
struct StuckRank {
  Rank rank;
  std::size_t instruction = 0;
  StuckMessage waits;
};

[[nodiscard]] ProgramHang explain_stuck(const Program& program, const MessageFlow& flow,
                                        const std::vector<StuckRank>& stuck, std::size_t entries_done);

}  // namespace pipeloom
