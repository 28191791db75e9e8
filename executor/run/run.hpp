#pragma once

// Runs a program for real, and reports the times of everything.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/simulate.hpp>
#include "executor/run/work.hpp"
#include "sim/messages/program.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom::executor {

/// The order in which the parts of an overlapped group run.
enum class GroupRule : std::uint8_t {
  Together,  ///< on two threads: the first part on the rank's own, the others on its companion
  InTurn,    ///< one after another, each with times of its own: as costs with the rule "sequential" have them
};

struct RunOptions {
  int warmup_steps = 1;
  int steps = 5;  ///< timed
  /// The queues in which messages pair and wait for each other, as in the simulator.
  QueueDiscipline queue = QueueDiscipline::PerPair;
  GroupRule groups = GroupRule::Together;
  /// Time that a message is under way in addition to its handing over, [slot of the receiver] in ticks, as Costs::forward_delay and
  /// backward_delay; empty: no time.
  std::vector<Ticks> forward_delay = {};
  std::vector<Ticks> backward_delay = {};
  /// The run ends everywhere if one rank stays in one op for longer than this, or all ranks wait for as long.
  double timeout_seconds = 30;
  bool checksums = false;  ///< of every message, compared by its receiver
  /// Between processes: a sender waits for the word that its message's receive is posted before it sends the tensor, so that waiting
  /// and transfer can be distinguished. Without it, tensors leave when they are posted.
  bool handshake = true;
  /// Asks the run to end; read a few times a second. The run then fails everywhere, as if a rank had. Null: never.
  const std::atomic<bool>* stop = nullptr;
  /// Called a few times a second by the thread that started the run: (steps that are over, warm-up steps included; all of them).
  std::function<void(int, int)> progress = {};
  /// Called before every instruction, for tests that delay, stop or kill: (rank, position in its list).
  /// Different ranks call it at the same time.
  std::function<void(Rank, std::size_t)> before_instruction = {};
  /// Called with every tensor that arrives, (message, step, tensor), for tests that damage some.
  std::function<void(MessageId, int, Payload&)> in_transit = {};
};

/// Times at which a message was handed over and was there, in ticks from the run's first timed start; before it: negative.
///
///   waiting    from the first post to `started`: an end, or an earlier message in its queue, is not there yet
///   transfer   from `started` to `done`
struct MeasuredMessage {
  Ticks sent = kNever;      ///< posted by the sender
  Ticks received = kNever;  ///< posted by the receiver
  Ticks started =
      kNever;  ///< the tensor left: both ends were posted and at the heads of their queues, and the sender knew it
  Ticks done = kNever;  ///< there; where the receiver stood waiting, when it went on
  bool waited = false;  ///< the receiver stood waiting
  static constexpr Ticks kNever = -1;
};

struct RunResult {
  /// All timed steps; times from the first start of the first one. Unit: ms.
  Timeline timeline;
  std::vector<MeasuredMessage> messages;   ///< of the timed steps, [step * messages + id]
  std::vector<std::size_t> message_bytes;  ///< [message] of its tensor
  std::vector<std::size_t> peak_bytes;     ///< [rank], of activations as the work counts them
  std::vector<RankGradients> gradients;    ///< [rank], of the last step
};

/// A run ended early: what() names the rank, its action and the error.
class RunFailed : public SystemError {
 public:
  RunFailed(const std::string& message, Timeline partial, std::vector<std::string> last_actions)
      : SystemError(message), partial_(std::move(partial)), last_actions_(std::move(last_actions)) {}
  /// All steps that were begun, warm-up steps included. An op that did not end has start -1 and end -1.
  [[nodiscard]] const Timeline& partial() const { return partial_; }
  /// "rank 2: step 1, in 2F3; before it: wait [r1F3<1], post [s2F2>3], 2F2", latest first, one per rank; messages as program_text().
  /// Where ranks are processes, every rank but 0 knows of rank 0 and itself at most.
  [[nodiscard]] const std::vector<std::string>& last_actions() const { return last_actions_; }

 private:
  Timeline partial_;
  std::vector<std::string> last_actions_;
};

/// One thread per rank runs the rank's instructions in their order; a step begins when all ranks have ended the previous one. Copies (O, L)
/// run at the same time on a second thread of their rank, one after another, each from its turn in the list on: later instructions do not
/// wait for a copy, but B, I and R wait for the L of their pass, and the step for all.
///
/// Throws ScheduleError if check_program() finds something or the program would hang under `queue`; RunFailed if a rank throws, stalls
/// or gets a wrong message: the other ranks stop at their next instruction. A rank that does not return from its op soon after
/// keeps its thread: then `work`, and all objects that the functions of `options` use, must live until it returns.
/// REQUIRES: steps >= 1, warmup_steps >= 0, timeout_seconds > 0.
[[nodiscard]] RunResult run_on_cpu(const Program& program, Work& work, const RunOptions& options);

}  // namespace pipeloom::executor
