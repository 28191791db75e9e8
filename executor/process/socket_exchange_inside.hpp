#pragma once

// The inside of a SocketExchange (executor/process/socket_exchange.hpp), which its loop's handlers share.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "executor/process/own_ends.hpp"
#include "executor/process/socket_exchange.hpp"
#include "executor/run/exchange.hpp"

namespace pipeloom::executor {

/// Threads: the rank's own posts, waits and takes; the loop's brings frames and says what has left.
class SocketExchange::Inside {
 public:
  Inside(std::shared_ptr<const RunPlan> plan, Rank own, net::Loop& loop,
         std::function<void(Rank, const std::string&)> lost, std::size_t unread_bytes)
      : plan_(std::move(plan)),
        loop_(loop),
        lost_(std::move(lost)),
        own_(own),
        unread_bytes_(unread_bytes),
        ends_(plan_, own),
        peers_(static_cast<std::size_t>(plan_->schedule().ranks())),
        times_(plan_->elements.size() * static_cast<std::size_t>(plan_->all_steps())) {}

  /// Takes over the connection to a peer. `self` is this, shared.
  void connect(const std::shared_ptr<Inside>& self, Rank peer, net::Socket socket);
  void post(std::uint32_t batch, int step, const std::vector<Payload>& sends);
  [[nodiscard]] bool wait(std::uint32_t batch, int step);
  [[nodiscard]] Payload take(MessageId message, int step, std::size_t elements);
  [[nodiscard]] std::optional<Payload> swap(Rank other, const Payload& own);
  void stop();
  void finish();
  [[nodiscard]] std::vector<MeasuredMessage> measured() const;

 private:
  struct Letter {
    Payload payload;
    std::uint64_t checksum = 0;
  };
  struct Peer {
    net::Loop::Id id = 0;
    std::deque<MessageInstance> leaving;  // frames in the loop's hands; kNoMessage: no tensor
    std::size_t unread = 0;               // bytes whose receive was not posted
    std::size_t awaited = 0;              // receives that were posted before their tensor came
    bool paused = false;
  };

  [[nodiscard]] const Program& program() const { return plan_->program; }
  [[nodiscard]] MessageInstance instance(MessageId message, int step) const {
    return message +
           static_cast<MessageInstance>(step) * static_cast<MessageInstance>(program().messages().size());
  }
  [[nodiscard]] const MessageInfo& info(MessageInstance message) const {
    return program().messages()[message % static_cast<MessageInstance>(program().messages().size())];
  }

  // On the loop's thread.
  void on_frame(Rank from, const net::Frame& frame);
  void on_sent(Rank to);
  void on_end(Rank peer, const std::string& reason);

  // With the lock held.
  void note_receive(MessageInstance message);
  void keep(Rank from, MessageInstance message, Letter letter);
  void pause_or_resume(Peer& peer);
  void carry_out(const OwnEnds::Actions& todo);
  [[nodiscard]] bool is_done(std::uint32_t batch, int step) const;

  std::shared_ptr<const RunPlan> plan_;
  net::Loop& loop_;
  std::function<void(Rank, const std::string&)> lost_;
  Rank own_;
  std::size_t unread_bytes_;
  Swaps swaps_;

  mutable std::mutex mutex_;  // guards all below, and the order in which frames get into the loop
  std::condition_variable changed_;
  OwnEnds ends_;
  std::vector<Peer> peers_;                                 // [rank]
  std::unordered_map<MessageInstance, net::Frame> outbox_;  // posted, not yet sent
  std::unordered_map<MessageInstance, Letter> letters_;     // there, not yet taken
  std::vector<MeasuredMessage> times_;                      // [instance]
  bool stopped_ = false;
  bool finished_ = false;
};

}  // namespace pipeloom::executor
