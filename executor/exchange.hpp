#pragma once

// Tensors on their way between ranks that are threads of one process: mailboxes that keep the rules of NCCL.
//
// Messages carry no tags. Of what one rank sends to another, the n-th send pairs with the n-th receive that the other posts for it:
//
//   discipline     pairs among               waits for
//   None           the message itself        nothing: as if tagged
//   PerRank        all of a directed pair    every batch that either rank posted before
//   PerDirection   activations or gradients  the batches of that direction that either rank posted before
//                  of a directed pair
//   PerPair        all of a directed pair    the batches that both posted before for this pair and way
//
// What waits for what is computed by the same MessageFlow (sim/message_flow.hpp) that the simulator uses: where nothing but queues is
// shared, a message's end is known as soon as both its ends are posted and what stands before it is known, so nobody but the ranks
// themselves has to run. A receiver sleeps until that moment.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "executor/clock.hpp"
#include "executor/run.hpp"
#include "executor/work.hpp"
#include "sim/costs.hpp"
#include "sim/message_flow.hpp"
#include "sim/program.hpp"

namespace pipeloom::executor {

/// A receiver got another message than it waited for, or a damaged one. what() names both.
class WrongMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Exchange {
 public:
  /// `program` and `clock` outlive it; `steps` counts warm-up steps too.
  Exchange(const Program& program, const RunOptions& options, int steps, const RunClock& clock);

  /// Hands over a batch of `rank`: `sends` are the tensors of its sends, in the batch's order. Never waits.
  /// REQUIRES: batches of a rank are posted in the order of its instructions.
  void post(Rank rank, std::uint32_t batch, int step, std::vector<Payload> sends);

  /// Waits until every message of the batch is there, or gone. False if the run was stopped meanwhile.
  /// Throws WrongMessage if a receive of anybody was paired with another message's send.
  [[nodiscard]] bool wait(Rank rank, std::uint32_t batch, int step);

  /// The tensor of a message. Throws WrongMessage if it has other elements than its sender gave it (with checksums) or the wrong
  /// number of them.
  /// REQUIRES: wait() returned true for its batch; called once.
  [[nodiscard]] Payload take(MessageId message, int step, std::size_t elements);

  /// Ends all waits, now and later.
  void stop();

  /// [step * messages + id], of all steps. REQUIRES: nobody posts or waits any more, or the run was stopped.
  [[nodiscard]] std::vector<MeasuredMessage> measured() const;

 private:
  struct Letter {
    Payload payload;
    std::uint64_t checksum = 0;
  };
  /// What one communicator carries from one rank to another.
  struct Channel {
    std::vector<std::uint32_t> sent;      // [n] instance of the n-th send
    std::vector<std::uint32_t> expected;  // [n] of the n-th receive
  };
  /// From, to, and what keeps its messages apart from others.
  using ChannelKey = std::tuple<Rank, Rank, std::uint32_t>;

  [[nodiscard]] std::uint32_t instance(MessageId message, int step) const {
    return message + static_cast<std::uint32_t>(step) * count_;
  }
  [[nodiscard]] ChannelKey channel_of(std::uint32_t instance) const;
  /// "the output of 0F3 from rank 0 in step 1".
  [[nodiscard]] std::string name_of(std::uint32_t instance) const;
  /// Notes the next send or receive of a channel; tells everybody if it is paired with another message.
  void pair(std::uint32_t message, bool is_send);
  /// Gives every message of `ready` its times, and those that waited for it. Returns the ranks at their ends.
  [[nodiscard]] std::vector<Rank> settle(std::vector<std::uint32_t>& ready);
  /// When the last message of the batch is there; -1: not known yet.
  [[nodiscard]] Ticks end_of(std::uint32_t batch, int step) const;
  [[nodiscard]] Letter take_letter(std::uint32_t instance);

  const Program& program_;
  const RunClock& clock_;
  QueueDiscipline queue_;
  bool checksums_;
  std::function<void(MessageId, int, Payload&)> in_transit_;
  std::uint32_t count_;
  Costs delays_;

  mutable std::mutex mutex_;                     // guards all below
  std::deque<std::condition_variable> changed_;  // [rank]
  MessageFlow flow_;
  std::map<ChannelKey, Channel> channels_;
  std::unordered_map<std::uint32_t, Letter> letters_;  // [instance]
  struct Arrival {
    Ticks done = -1;
    bool waited = false;
  };
  std::vector<Arrival> arrivals_;  // [instance]
  std::string mispaired_;          // what is wrong; empty: nothing
  bool stopped_ = false;
};

}  // namespace pipeloom::executor
