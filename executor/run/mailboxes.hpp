#pragma once

// Tensors on their way between ranks that are threads of one process: mailboxes that keep the rules of NCCL
// (executor/run/exchange.hpp).
//
// The same MessageFlow (sim/messages/message_flow.hpp) that the simulator uses computes which messages wait for which: where only queues are
// shared, a message's end is known as soon as both its ends are posted and the messages before it are known, so no thread but the ranks'
// own has to run. A receiver sleeps until that moment.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include <pipeloom/costs.hpp>
#include "executor/run/exchange.hpp"
#include "executor/run/run_plan.hpp"
#include "sim/messages/message_flow.hpp"

namespace pipeloom::executor {

class Mailboxes : public Exchange {
 public:
  explicit Mailboxes(std::shared_ptr<const RunPlan> plan);

  void post(Rank rank, std::uint32_t batch, int step, std::vector<Payload> sends) override;
  /// Also throws WrongMessage where a receive of another rank was mispaired.
  [[nodiscard]] bool wait(Rank rank, std::uint32_t batch, int step) override;
  [[nodiscard]] Payload take(MessageId message, int step, std::size_t elements) override;
  [[nodiscard]] std::optional<Payload> swap(Rank rank, Rank other, const Payload& own) override;
  void stop() override;
  [[nodiscard]] std::vector<MeasuredMessage> measured() const override;

 private:
  struct Letter {
    Payload payload;
    std::uint64_t checksum = 0;
  };
  /// The messages of one communicator from one rank to another.
  struct Channel {
    std::vector<MessageInstance> sent;      // [n] the n-th send
    std::vector<MessageInstance> expected;  // [n] the n-th receive
  };

  [[nodiscard]] const Program& program() const { return plan_->program; }
  [[nodiscard]] MessageInstance instance(MessageId message, int step) const {
    return instance_of(program(), message, step);
  }
  /// Notes the next send or receive of a channel; tells all ranks if it is paired with another message.
  void pair(MessageInstance message, bool is_send);
  /// Gives every message of `ready` its times, and those that waited for it. Returns the ranks at their ends.
  [[nodiscard]] std::vector<Rank> settle(std::vector<MessageInstance>& ready);
  /// When the last message of the batch is there; -1: not known yet.
  [[nodiscard]] Ticks end_of(std::uint32_t batch, int step) const;
  [[nodiscard]] Letter take_letter(MessageInstance message);

  std::shared_ptr<const RunPlan> plan_;
  Costs delays_;
  Swaps swaps_;

  mutable std::mutex mutex_;                     // guards all below
  std::deque<std::condition_variable> changed_;  // [rank]
  MessageFlow flow_;
  std::map<ChannelKey, Channel> channels_;
  std::unordered_map<MessageInstance, Letter> letters_;
  struct Arrival {
    Ticks done = -1;
    bool waited = false;
  };
  std::vector<Arrival> arrivals_;  // [instance]
  std::string mispaired_;          // the first wrong pair in words; empty: none
  bool stopped_ = false;
};

}  // namespace pipeloom::executor
