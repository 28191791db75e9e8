#pragma once

// Message plans: from a schedule to a program, by the rules of a framework or by a rule of our own.
//
//   plan                            receives are posted               the rank waits for
//   entry_blocking                  in front of their entry           everything, at once
//   step_blocking                   in the step of their sender       everything, at once
//   megatron_1f1b_blocking          one op before their entry         everything, at once
//   megatron_interleaved_blocking   one op before their entry         everything, at once
//   megatron_interleaved_overlap    one op before their entry         sends forward at once, the rest before it is needed
//   dualpipe_blocking               in front of their entry           everything, one entry later
//   async_plan                      as ReceivePlacement says          receives, in front of their entry; sends never
//
// All take a schedule without structural errors that does not hang, and all put every entry of a queue into the program, in queue
// order. O and L take part in no message: they come directly after the entry that precedes them in the queue. All are O(ops).
//
// Messages between two ranks carry no tags and pair in order. Where ranks need messages in another order than they are sent (V
// placements do), entry_blocking and Ahead receive a message together with those that its sender sends sooner; the frameworks' rules
// do not, so there check_program() may report "mispaired".

#include <cstdint>
#include <memory>

#include "sim/messages/program.hpp"

namespace pipeloom {

/// Any schedule. Between two entries one group: the sends of the first, then the receives of the second. One group more in front
/// of the first entry and after the last. Such a program hangs where two ranks both send before they receive: schedules that
/// run ahead of their neighbours (zb-h2, interleaving, both directions) need a plan of their own.
[[nodiscard]] Program entry_blocking(std::shared_ptr<const Schedule> schedule);

/// Any schedule. Ranks take lock steps, each entry in the first one in which its inputs are there; after each step one group:
/// the messages that the rank's entry sends, and those that the entries of others in that step send to it. Both ends of a message are in
/// the groups of the same step, so this never hangs and never mispairs. It is how PyTorch's older multi-stage runtime runs a schedule.
[[nodiscard]] Program step_blocking(std::shared_ptr<const Schedule> schedule);

/// Megatron-LM without virtual stages (forward_backward_pipelining_without_interleaving), for schedules that run F and B on
/// linear ranks: w forwards, then F and B in turns, then w backwards.
///
///   warm-up     [receive from r-1] F [send to r+1]
///   steady      F [send to r+1, receive from r+1] B [send to r-1, receive from r-1]
///   cool-down   [receive from r+1] B [send to r-1]
///
/// The first steady F has a receive of its own, the last steady B receives nothing. With m <= p-1-r all is warm-up and
/// cool-down. Throws ScheduleError if the schedule is of another shape.
[[nodiscard]] Program megatron_1f1b_blocking(std::shared_ptr<const Schedule> schedule);

/// Megatron-LM with virtual stages (forward_backward_pipelining_with_interleaving), for interleaved-1f1b and
/// interleaved-1f1b-overlap (pairs). N is read off the schedule, w(r) = min(m v, 2(p-1-r) + (v-1) N), one more with pairs.
///
/// After the k-th forward a rank receives the input of its next one. Only rank 0, where a microbatch comes back for its
/// next chunk, receives the output that rank p-1 sent p-1 forwards ago: N - p forwards before it is needed. Likewise rank p-1 and
/// the backwards. Groups list: send to the rank before, receive from it, send to the next rank, receive from it.
///
///   warm-up     F [receive, send]
///   steady      F B [send, receive, send, receive]           (F;B) counts as F B
///   cool-down   B [send, receive]
///
/// The last warm-up group also holds the receive of the first gradient; a rank all of whose forwards are warm-up waits for it alone.
/// On two ranks both neighbours are the same rank, and an activation is received as a gradient: Megatron-LM refuses that, and
/// check_program() reports "mispaired". Throws ScheduleError if the schedule is of another shape or has a group of fewer than
/// p microbatches.
[[nodiscard]] Program megatron_interleaved_blocking(std::shared_ptr<const Schedule> schedule);

/// The same with overlap_p2p_comm: in the steady phase each message is a batch of its own. A send forward is waited for at once; a
/// send backward after the next one was posted; receives in the order in which they were posted, one in front of each op
/// that has an input. (Where N > p, rank 0 waits for the first of them sooner than it must: warm-up received some inputs already.)
///
///   steady      F <receive <send >send    B <send <receive >the send before
///
/// With `flush` (overlap_p2p_comm_warmup_flush) warm-up and cool-down do so too, and post each receive in front of the op before its
/// consumer; rank 0, for forwards, and rank p-1, for backwards, after it.
enum class OverlapFlush : std::uint8_t { No, Yes };
[[nodiscard]] Program megatron_interleaved_overlap(std::shared_ptr<const Schedule> schedule,
                                                   OverlapFlush flush);

/// DeepSeek's DualPipe and DualPipeV: sends are collected, and posted with the receives of the next entry as one group that
/// the rank waits for. So an output is on its way as soon as the next entry's turn comes, except that
///   - where forwards of both lanes alternate in warm-up, lane 0's input is received one entry early and its output sent
///     one entry late (at once on the two ranks where DualPipe's directions meet),
///   - the ranks where the lanes meet keep the last of these outputs of lane 1 back by one entry, and then all of the next two entries
///     until both have run,
///   - a forward after a W is received in front of the W.
/// Throws ScheduleError if the schedule is of another shape.
[[nodiscard]] Program dualpipe_blocking(std::shared_ptr<const Schedule> schedule);

/// The place where a receive is posted.
struct ReceivePlacement {
  enum class Rule : std::uint8_t {
    /// At the place where its sender ran when ranks take turns, entry by entry: torch::lower() writes this, and PyTorch's runtime issues it.
    AtSender,
    /// In front of its entry, or of an earlier send to the rank it comes from if that rank has the higher number: PyTorch with
    /// deferred receives. Where activations and gradients go from one rank to the same other one (a V, two ranks with chunks)
    /// that may mispair them, unless each direction has a communicator of its own.
    BeforeUse,
    /// `entries` entries before its own; 0 is directly in front of it. O and L do not count.
    Ahead,
  };
  Rule rule = Rule::AtSender;
  int entries = 0;
};

/// Any schedule. Each message is a batch of its own: a send is posted directly after its producer and never waited for, a
/// receive is posted where `placement` says and waited for in front of its consumer. Throws ScheduleError if the
/// schedule hangs (AtSender, BeforeUse).
[[nodiscard]] Program async_plan(std::shared_ptr<const Schedule> schedule, ReceivePlacement placement);

}  // namespace pipeloom
