#pragma once

// An exchange between devices keeps here, of its messages: events while a step runs, times after it, checksums if they are asked for.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/device/device_memory.hpp"
#include "executor/cuda/device/device_stream.hpp"
#include "executor/cuda/device/step_clock.hpp"
#include "executor/run/run_plan.hpp"

namespace pipeloom::executor::cuda {

/// Sums of a message's bits on pinned memory of the host, as its sender and its receiver have them.
struct MessageSums {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

class MessageBook {
 public:
  /// `local` are the ranks of this process. REQUIRES: the current device is theirs.
  MessageBook(std::shared_ptr<const RunPlan> plan, const std::vector<Rank>& local);
  ~MessageBook();
  MessageBook(const MessageBook&) = delete;
  MessageBook& operator=(const MessageBook&) = delete;

  void note_post(std::uint32_t batch, cudaEvent_t posted) { batches_[batch].posted = posted; }
  void note_wait(std::uint32_t batch, cudaEvent_t arrived) { batches_[batch].arrived = arrived; }
  [[nodiscard]] cudaEvent_t posted(std::uint32_t batch) const { return batches_[batch].posted; }

  /// The tensor leaves at `started`, is there at `done`. REQUIRES: a message with an end at a rank of this process.
  [[nodiscard]] Event& started(MessageId message) { return events_[message]->started; }
  [[nodiscard]] Event& done(MessageId message) { return events_[message]->done; }
  /// The exchange needs it no more: with checksums later than it is there.
  [[nodiscard]] Event& usable(MessageId message) { return events_[message]->usable; }
  /// REQUIRES: the run has checksums.
  [[nodiscard]] MessageSums& sums(MessageId message) { return sums_[message]; }

  /// The end that knows when a message started.
  enum class Starter : std::uint8_t { Sender, Receiver, Both };
  /// Notes the times of this rank's ends, and throws WrongMessage if the sums of one that it received differ.
  void collect(Rank rank, int step, const StepClock& clock, Starter starter);

  [[nodiscard]] std::vector<MeasuredMessage> measured() const { return measured_; }

 private:
  struct BatchEvents {
    cudaEvent_t posted = nullptr;
    cudaEvent_t arrived = nullptr;
  };
  struct MessageEvents {
    Event started;
    Event done;
    Event usable;
  };
  void collect_end(const BatchEvents& batch, const Endpoint& end, int step, const StepClock& clock,
                   Starter starter);
  void compare_sums(MessageId message, int step);

  std::shared_ptr<const RunPlan> plan_;
  std::vector<BatchEvents> batches_;                  // [batch]
  std::vector<std::optional<MessageEvents>> events_;  // [message]
  std::vector<MeasuredMessage> measured_;  // [step * messages + id]; each end writes its own fields
  MessageSums* sums_ = nullptr;            // [message], pinned; null: no checksums
};

}  // namespace pipeloom::executor::cuda
