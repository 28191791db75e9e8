#pragma once

// Tensors between GPUs of a rank each: grouped ncclSend and ncclRecv on one stream per communicator.
//
// A batch runs after its post and after all earlier batches on each of its communicators. NCCL pairs without tags: the n-th send
// to a peer on a communicator with the n-th receive there.
//
// The meaning of a message's events:
//
//   a directed pair's own      with a handshake the receiver sends a token of 4 bytes when it reaches the message, the sender waits for it and
//   communicator               then sends the tensor: `started` is when the token was there. Messages of a batch come one after another, which
//                              they must: the other end may have them in different batches
//   shared communicators,      the messages of a batch run together. A token before them would wait for ends that the batch itself may have
//   or no handshake            to let pass, so there is none: `started` is the later of the moments at which the two ends reached the batch,
//                              each on its own clock, as far apart as the clocks are
//
// With checksums the sender's sum follows its tensor.
//
// Two ranks swap tensors outside the program both ways in one group, on the communicator of their pair and the stream that they name.

#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "executor/cuda/exchange/device_exchange.hpp"
#include "executor/cuda/exchange/message_book.hpp"
#include "executor/cuda/exchange/nccl_communicators.hpp"
#include "executor/run/run_plan.hpp"

namespace pipeloom::executor::cuda {

class NcclExchange : public DeviceExchange {
 public:
  /// REQUIRES: the current device is the rank's.
  NcclExchange(std::shared_ptr<const RunPlan> plan, Rank own);

  /// Communicators and connections of all pairs, which NCCL would make at their first message, waiting for the peer in the order that the
  /// program has. Collective. Throws NcclError at the deadline, Stopped after stop().
  void connect(std::span<const ncclUniqueId> ids, NcclCommunicators::Deadline deadline);
  [[nodiscard]] std::size_t num_communicators() const { return comms_.layout().all.size(); }

  void post(Rank rank, std::uint32_t batch, int step, std::vector<DeviceTensor> sends,
            cudaEvent_t posted) override;
  [[nodiscard]] bool wait(Rank rank, std::uint32_t batch, int step, cudaStream_t stream,
                          cudaEvent_t arrived) override;
  [[nodiscard]] DeviceTensor take(MessageId message, int step) override;
  [[nodiscard]] bool swap(Rank rank, Rank other, std::span<const float> own, std::span<float> theirs,
                          cudaStream_t stream) override;
  [[nodiscard]] bool is_done(Rank rank) override;
  void collect(Rank rank, int step, const StepClock& clock) override;
  void stop() override { comms_.abort(); }
  /// sent of messages that this rank sends, received and done of those that it gets, started of those that it knows of.
  [[nodiscard]] std::vector<MeasuredMessage> measured() const override { return book_.measured(); }

 private:
  /// One end of a message, with its tensor while it is being queued.
  struct Part {
    Endpoint end;
    DeviceTensor tensor;
    DeviceBuffer sums;  // with checksums: the sender's, and at the receiver its own
  };

  [[nodiscard]] bool has_tokens(std::uint32_t communicator) const;
  [[nodiscard]] int peer_of(const Endpoint& end) const;
  [[nodiscard]] std::size_t bytes_of_message(MessageId message) const {
    return plan_->elements[message] * plan_->element_bytes;
  }
  void queue_together(std::uint32_t communicator, std::span<Part> parts);
  void queue_tokens(std::uint32_t communicator, const Endpoint& end);
  void transfer(ncclComm_t comm, Part& part, cudaStream_t stream);
  void queue_sums(Part& part, cudaStream_t stream, bool before);
  void warm_up(std::uint32_t communicator);

  std::shared_ptr<const RunPlan> plan_;
  NcclCommunicators comms_;
  MessageBook book_;
  std::vector<Stream> streams_;  // [communicator]
  DeviceBuffer tokens_;          // [communicator] of 16 bytes: one to send, one to receive
  std::unordered_map<MessageId, DeviceTensor> received_;
};

}  // namespace pipeloom::executor::cuda
