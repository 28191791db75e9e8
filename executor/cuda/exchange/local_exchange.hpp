#pragma once

// Tensors between ranks that share one GPU, as threads of one process: copies within its memory. NCCL refuses several ranks on one device.
//
// MessageFlow decides which messages wait for which, as between threads (executor/run/mailboxes.hpp): a message that may start is queued
// at once, by the thread that posted its second end.
//
//   a queue of a rank        is a stream: the rank's sends and receives in it run one after another
//   a message                copies on its receiver's queue, after both posts and the head of the sender's queue, which then waits for it
//
// Messages of one batch that share a queue copy one after another too, where NCCL runs them together: they share the same memory anyway.
// Without a discipline a directed pair's messages copy in the order in which they may start.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <pipeloom/costs.hpp>
#include "executor/cuda/exchange/device_exchange.hpp"
#include "executor/cuda/exchange/message_book.hpp"
#include "executor/run/run_plan.hpp"
#include "sim/messages/message_flow.hpp"

namespace pipeloom::executor::cuda {

class LocalExchange : public DeviceExchange {
 public:
  /// REQUIRES: the current device is that of all ranks.
  explicit LocalExchange(std::shared_ptr<const RunPlan> plan);

  void post(Rank rank, std::uint32_t batch, int step, std::vector<DeviceTensor> sends,
            cudaEvent_t posted) override;
  [[nodiscard]] bool wait(Rank rank, std::uint32_t batch, int step, cudaStream_t stream,
                          cudaEvent_t arrived) override;
  [[nodiscard]] DeviceTensor take(MessageId message, int step) override;
  [[nodiscard]] bool swap(Rank rank, Rank other, std::span<const float> own, std::span<float> theirs,
                          cudaStream_t stream) override;
  [[nodiscard]] bool is_done(Rank rank) override;
  void collect(Rank rank, int step, const StepClock& clock) override;
  void stop() override;
  [[nodiscard]] std::vector<MeasuredMessage> measured() const override { return book_.measured(); }

 private:
  /// A message under way.
  struct Transit {
    DeviceTensor sent;
    DeviceTensor received;
    cudaEvent_t send_posted = nullptr;
    cudaEvent_t receive_posted = nullptr;
    Event sender_ready;  // the head of the sender's queue
    int queued_in = -1;  // the last step in which its copy was queued
  };
  /// One side of a swap.
  struct Offer {
    std::span<const float> own;
    std::span<float> theirs;
    cudaStream_t stream = nullptr;
  };
  using QueueKey = std::pair<Rank, std::uint32_t>;

  [[nodiscard]] const Program& program() const { return plan_->program; }
  [[nodiscard]] QueueKey queue_key(const MessageInfo& message, bool is_send) const;
  /// Queues the copies of all messages that may start, and of those that waited for them.
  void settle(std::vector<std::uint32_t>& ready);
  void queue_copy(MessageId message, int step);
  /// Copies each rank's tensor to the other, on the receiver's stream.
  static void cross(const Offer& one, const Offer& other);
  void compare(MessageId message, const Transit& transit, cudaStream_t stream);

  std::shared_ptr<const RunPlan> plan_;
  MessageBook book_;
  Costs no_delays_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  MessageFlow flow_;
  std::map<QueueKey, Stream> queues_;
  std::vector<Transit> transits_;                  // [message]
  std::map<std::pair<Rank, Rank>, Offer> offers_;  // [from, to], whose other side has not come
  bool stopped_ = false;
};

}  // namespace pipeloom::executor::cuda
