#pragma once

// Transport of tensors from rank to rank: mailboxes between threads (executor/run/mailboxes.hpp), sockets between
// processes (executor/process/socket_exchange.hpp).
//
// Messages carry no tags. The n-th send from one rank to another pairs with the n-th receive that the other posts for it:
//
//   discipline     pairs among               waits for
//   None           the message itself        nothing: as if tagged
//   PerRank        all of a directed pair    every batch that either rank posted before
//   PerDirection   activations or gradients  the batches of that direction that either rank posted before
//                  of a directed pair
//   PerPair        all of a directed pair    the batches that both posted before for this pair and way

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "executor/run/run.hpp"
#include "executor/run/work.hpp"
#include "sim/messages/program.hpp"

namespace pipeloom::executor {

/// A receiver got another message than it waited for, or a damaged one. what() names both.
class WrongMessage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  /// Hands over a batch of `rank`: `sends` are the tensors of its sends, in the batch's order. Never waits.
  /// REQUIRES: batches of a rank are posted in the order of its instructions.
  virtual void post(Rank rank, std::uint32_t batch, int step, std::vector<Payload> sends) = 0;

  /// Waits until every message of the batch is there, or gone. False if the run was stopped meanwhile.
  /// Throws WrongMessage if a receive was paired with another message's send.
  [[nodiscard]] virtual bool wait(Rank rank, std::uint32_t batch, int step) = 0;

  /// The tensor of a message. Throws WrongMessage if it has other elements than its sender gave it (with checksums) or the wrong
  /// number of them.
  /// REQUIRES: wait() returned true for its batch; called once.
  [[nodiscard]] virtual Payload take(MessageId message, int step, std::size_t elements) = 0;

  /// Gives a tensor to another rank, outside the program, and returns the tensor that it gives in return: the n-th call here pairs with the
  /// n-th call there. Returns nullopt if the run was stopped. Only for exchanges of the host's tensors.
  [[nodiscard]] virtual std::optional<Payload> swap(Rank rank, Rank other, const Payload& own);

  /// Ends all waits, now and later.
  virtual void stop() = 0;

  /// [step * messages + id], of all steps; times of a message that this process does not see are -1.
  /// REQUIRES: no rank posts or waits any more, or the run was stopped.
  [[nodiscard]] virtual std::vector<MeasuredMessage> measured() const = 0;
};

/// FNV-1a over the elements' bits: finds any single damaged one.
[[nodiscard]] std::uint64_t checksum_of(const Payload& payload);

/// Messages of several steps as one number each: step * messages of the program + id.
using MessageInstance = std::uint32_t;
[[nodiscard]] inline MessageInstance instance_of(const Program& program, MessageId message, int step) {
  return message +
         static_cast<MessageInstance>(step) * static_cast<MessageInstance>(program.messages().size());
}
[[nodiscard]] inline const MessageInfo& info_of(const Program& program, MessageInstance message) {
  return program.messages()[message % static_cast<MessageInstance>(program.messages().size())];
}

/// "the output of 0F3 from rank 0 in step 1".
[[nodiscard]] std::string name_of(const Program& program, MessageInstance message);

/// "rank 1 waits for .. and gets ..: sends and receives are in different orders". REQUIRES: both go to the same rank.
[[nodiscard]] std::string mispaired(const Program& program, MessageInstance expected, MessageInstance sent);

/// Messages with equal keys pair in the order of their posts: sender, receiver, and a number that keeps channels apart.
using ChannelKey = std::tuple<Rank, Rank, std::uint32_t>;
[[nodiscard]] ChannelKey channel_of(const Program& program, QueueDiscipline queue, MessageInstance message);

/// The delivered payload, or WrongMessage: it has not `elements` of them, or not the checksum that its sender gave it.
[[nodiscard]] Payload checked(const Program& program, MessageInstance message, Payload payload,
                              std::size_t elements, const std::uint64_t* checksum);

/// Tensors that two ranks give each other outside the program's messages: the other rank takes them in the order of giving. Any thread.
class Swaps {
 public:
  void give(Rank from, Rank to, Payload tensor);
  /// Waits for the next one. Nothing if the run was stopped.
  [[nodiscard]] std::optional<Payload> take(Rank from, Rank to);
  void stop();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<Rank, Rank>, std::deque<Payload>> given_;  // [from, to]
  bool stopped_ = false;
};

}  // namespace pipeloom::executor
