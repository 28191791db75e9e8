#pragma once

// Runs a program for real, and says when everything happened.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/work.hpp"
#include "sim/program.hpp"
#include "sim/program_engine.hpp"
#include "sim/timeline.hpp"

namespace pipeloom::executor {

struct RunOptions {
  int warmup_steps = 1;
  int steps = 5;  ///< timed
  /// Which messages pair and wait for each other, as the simulator's queues.
  QueueDiscipline queue = QueueDiscipline::PerPair;
  /// A rank that waits longer than this for one message ends the run everywhere.
  double timeout_seconds = 30;
  bool checksums = false;  ///< of every message, compared by its receiver
  /// Called in front of every instruction, for tests that delay, stop or kill: (rank, position in its list).
  std::function<void(Rank, std::size_t)> before_instruction;
};

/// When a message was handed over and when it was there, in ticks of the run's clock; [step * messages + id].
struct MeasuredMessage {
  Ticks sent = -1;      ///< posted by the sender
  Ticks received = -1;  ///< posted by the receiver
  Ticks done = -1;      ///< there
};

struct RunResult {
  /// All timed steps; times from the first start of the first one. Unit: ms.
  Timeline timeline;
  std::vector<MeasuredMessage> messages;
  std::vector<std::size_t> peak_bytes;  ///< [rank], of activations as the work counts them
  /// The work of every rank as it stands at the end: gradients are read from it.
  std::vector<std::unique_ptr<RankWork>> ranks;
};

/// Why a run ended early. The partial timeline holds what ended (start and end -1 for what did not).
class RunFailed : public SystemError {
 public:
  RunFailed(const std::string& message, Timeline partial, std::vector<std::string> last_actions);
  [[nodiscard]] const Timeline& partial() const { return partial_; }
  /// "rank 2: running 2F3; before it: 2F2, sent 1F2 to 3", one per rank.
  [[nodiscard]] const std::vector<std::string>& last_actions() const { return last_actions_; }

 private:
  Timeline partial_;
  std::vector<std::string> last_actions_;
};

/// One thread per rank. Throws ScheduleError if check_program() finds something or the program would hang under `queue`;
/// RunFailed if a rank throws, stalls, or gets a wrong message: all others are stopped.
[[nodiscard]] RunResult run_on_cpu(const Program& program, Work& work, const RunOptions& options);

}  // namespace pipeloom::executor
