#pragma once

// Tensors on their way between ranks that are processes.
//
// The sender and the receiver of a message each know their own end: if it is posted, and if it is at the head of the queue
// that the discipline puts it in (executor/process/own_ends.hpp). With a handshake
//
//   receiver   its end is at the head      -> "ready" to the sender
//   sender     its end is at the head and "ready" has come: started -> the tensor
//   sender     the tensor was handed to the system whole: its end is done, its queue moves on
//   receiver   the tensor is there: its end is done, its queue moves on
//
// which is what NCCL's send and receive kernels do between their buffers. "ready" and tensors name the message, and a receiver compares
// it with the one that pairs by order: the n-th tensor of a channel with its n-th receive.
// Without a handshake a tensor leaves when its end is at the head, and the receiver keeps tensors that it did not ask for yet. When these are more
// than `unread_bytes` of one sender, and no receive from that sender is waiting, it stops reading from it until one is posted: what
// it waits for may come after those that it did not ask for. Such a tensor is there (MeasuredMessage::done) before it is asked for.
//
//   frame    kind  body (executor/net/wire.hpp)
//   ready       1  u32 message instance
//   tensor      2  u32 message instance, u64 checksum (0 without checksums), floats

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "executor/net/loop.hpp"
#include "executor/run/exchange.hpp"
#include "executor/run/run_plan.hpp"

namespace pipeloom::executor {

/// Those to which a rank sends something or from which it gets something, in rising order: messages of the program, and gradients of
/// replicas (executor/run/replica_reduction.hpp). Each of them has the rank among its own.
[[nodiscard]] std::vector<int> ranks_to_exchange_with(const RunPlan& plan, Rank own);

class SocketExchange : public Exchange {
 public:
  /// The end of one rank. `loop` outlives it and has not started; data[r] is the connection to rank r, open for all of
  /// ranks_to_exchange_with().
  /// `lost` is called on the loop's thread when a connection ends before stop() or finish() was: (rank, reason). That also happens
  /// when the rank there sends bytes without a valid meaning: the reason then tells which. The function called must end the run, with stop().
  /// All objects that `lost` uses live as long as the loop, and do not own this exchange.
  SocketExchange(std::shared_ptr<const RunPlan> plan, Rank own, net::Loop& loop,
                 std::vector<net::Socket> data, std::function<void(Rank, const std::string&)> lost,
                 std::size_t unread_bytes = std::size_t{64} << 20);
  ~SocketExchange() override;

  void post(Rank rank, std::uint32_t batch, int step, std::vector<Payload> sends) override;
  [[nodiscard]] bool wait(Rank rank, std::uint32_t batch, int step) override;
  [[nodiscard]] Payload take(MessageId message, int step, std::size_t elements) override;
  [[nodiscard]] std::optional<Payload> swap(Rank rank, Rank other, const Payload& own) override;
  void stop() override;
  /// Connections may end from now on: the others are done too.
  void finish();
  /// sent and started of messages that this rank sends, received and done of those that it gets; on this process's clock.
  [[nodiscard]] std::vector<MeasuredMessage> measured() const override;

 private:
  class Inside;
  std::shared_ptr<Inside> inside_;  // the loop's handlers share it
};

}  // namespace pipeloom::executor
