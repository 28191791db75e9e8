// Longer than most files: its handlers of the loop share state that no other file needs.

#include "executor/process/socket_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

#include "executor/process/own_ends.hpp"
#include "executor/run/replica_reduction.hpp"

namespace pipeloom::executor {
namespace {

constexpr std::uint8_t kReady = 1;
constexpr std::uint8_t kTensor = 2;
constexpr std::uint8_t kSwap = 3;

net::Frame ready_frame(MessageInstance message) {
  net::Writer out;
  out.u32(message);
  return {kReady, std::move(out).take()};
}

net::Frame tensor_frame(MessageInstance message, const Payload& payload, bool checksums) {
  net::Writer out;
  out.u32(message).u64(checksums ? checksum_of(payload) : 0).floats(payload.values);
  return {kTensor, std::move(out).take()};
}

}  // namespace

/// The inside, which the loop's handlers share. Threads: the rank's own posts, waits and takes; the loop's brings frames and reports sent ones.
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
    return instance_of(program(), message, step);
  }
  [[nodiscard]] const MessageInfo& info(MessageInstance message) const { return info_of(program(), message); }

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

void SocketExchange::Inside::connect(const std::shared_ptr<Inside>& self, Rank peer, net::Socket socket) {
  peers_[peer.at()].id = loop_.add(
      std::move(socket), {.on_frame = [self, peer](const net::Frame& frame) { self->on_frame(peer, frame); },
                          .on_end = [self, peer](const std::string& reason) { self->on_end(peer, reason); },
                          .on_sent = [self, peer] { self->on_sent(peer); }});
}

void SocketExchange::Inside::post(std::uint32_t batch, int step, const std::vector<Payload>& sends) {
  const auto ends = program().batch(batch);
  std::vector<net::Frame> frames;  // made before the lock is taken: they may be large
  for (const Endpoint& end : ends)
    if (end.is_send)
      frames.push_back(
          tensor_frame(instance(end.message, step), sends.at(frames.size()), plan_->options.checksums));
  const std::lock_guard lock(mutex_);
  const Ticks now = plan_->clock.now();
  std::size_t next = 0;
  for (const Endpoint& end : ends) {
    const MessageInstance message = instance(end.message, step);
    (end.is_send ? times_[message].sent : times_[message].received) = now;
    if (end.is_send)
      outbox_[message] = std::move(frames[next++]);
    else
      note_receive(message);
  }
  OwnEnds::Actions todo;
  ends_.post(batch, step, todo);
  carry_out(todo);
}

void SocketExchange::Inside::note_receive(MessageInstance message) {
  Peer& peer = peers_[info(message).from_rank.at()];
  const auto letter = letters_.find(message);
  if (letter == letters_.end())
    ++peer.awaited;
  else
    peer.unread -= letter->second.payload.bytes();
  pause_or_resume(peer);
}

void SocketExchange::Inside::keep(Rank from, MessageInstance message, Letter letter) {
  Peer& peer = peers_[from.at()];
  if (ends_.is_posted(message))
    --peer.awaited;
  else
    peer.unread += letter.payload.bytes();
  letters_[message] = std::move(letter);
  times_[message].done = plan_->clock.now();
  pause_or_resume(peer);
}

void SocketExchange::Inside::pause_or_resume(Peer& peer) {
  const bool pause = peer.unread > unread_bytes_ && peer.awaited == 0;
  if (pause == peer.paused) return;
  peer.paused = pause;
  if (pause)
    loop_.pause(peer.id);
  else
    loop_.resume(peer.id);
}

void SocketExchange::Inside::carry_out(const OwnEnds::Actions& todo) {
  for (const auto& [what, message] : todo) {
    if (what == OwnEnds::Action::What::Received) {
      changed_.notify_all();
      continue;
    }
    const bool is_tensor = what == OwnEnds::Action::What::Send;
    Peer& peer = peers_[(is_tensor ? info(message).to_rank : info(message).from_rank).at()];
    peer.leaving.push_back(is_tensor ? message : kNoMessage);
    if (!is_tensor) {
      loop_.send(peer.id, ready_frame(message));
      continue;
    }
    times_[message].started = plan_->clock.now();
    loop_.send(peer.id, std::move(outbox_.extract(message).mapped()));
  }
}

void SocketExchange::Inside::on_frame(Rank from, const net::Frame& frame) {
  if (frame.kind == kSwap) {
    net::Reader in(frame.body);
    Payload tensor{in.floats()};
    in.end();
    return swaps_.give(from, own_, std::move(tensor));
  }
  if (frame.kind != kReady && frame.kind != kTensor)
    throw WrongMessage(fmt::format("rank {} sent a frame of kind {}, which no rank of a run sends",
                                   from.value(), frame.kind));
  net::Reader in(frame.body);
  const MessageInstance message = in.u32();
  Letter letter;
  if (frame.kind == kTensor) {
    letter.checksum = in.u64();
    letter.payload.values = in.floats();
  }
  in.end();
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  OwnEnds::Actions todo;
  if (frame.kind == kReady) {
    ends_.asked(from, message, todo);
  } else {
    ends_.arrived(from, message, todo);
    keep(from, message, std::move(letter));
  }
  carry_out(todo);
  if (!ends_.mispairing().empty()) changed_.notify_all();
}

void SocketExchange::Inside::on_sent(Rank to) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  Peer& peer = peers_[to.at()];
  const MessageInstance message = peer.leaving.front();
  peer.leaving.pop_front();
  if (message == kNoMessage) return;
  OwnEnds::Actions todo;
  ends_.left(message, todo);
  carry_out(todo);
  changed_.notify_all();
}

void SocketExchange::Inside::on_end(Rank peer, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || finished_) return;
  }
  lost_(peer, reason);  // the function that ends the run calls stop()
}

bool SocketExchange::Inside::is_done(std::uint32_t batch, int step) const {
  const auto ends = program().batch(batch);
  return std::all_of(ends.begin(), ends.end(),
                     [&](const Endpoint& end) { return ends_.is_done(instance(end.message, step)); });
}

bool SocketExchange::Inside::wait(std::uint32_t batch, int step) {
  std::unique_lock lock(mutex_);
  bool slept = false;
  for (;; slept = true) {
    if (stopped_) return false;
    if (!ends_.mispairing().empty()) throw WrongMessage(ends_.mispairing());
    if (is_done(batch, step)) break;
    changed_.wait(lock);
  }
  if (!slept) return true;
  // A rank that slept sees a message when it wakes up: so the time of waking is its arrival.
  const Ticks now = plan_->clock.now();
  for (const Endpoint& end : program().batch(batch))
    if (!end.is_send) {
      times_[instance(end.message, step)].done = now;
      times_[instance(end.message, step)].waited = true;
    }
  return true;
}

Payload SocketExchange::Inside::take(MessageId message, int step, std::size_t elements) {
  std::unique_lock lock(mutex_);
  Letter letter = std::move(letters_.extract(instance(message, step)).mapped());
  lock.unlock();
  if (plan_->options.in_transit) plan_->options.in_transit(message, step, letter.payload);
  return checked(program(), instance(message, step), std::move(letter.payload), elements,
                 plan_->options.checksums ? &letter.checksum : nullptr);
}

std::optional<Payload> SocketExchange::Inside::swap(Rank other, const Payload& own) {
  net::Writer out;
  out.floats(own.values);
  net::Frame frame{kSwap, std::move(out).take()};
  {
    const std::lock_guard lock(mutex_);
    Peer& peer = peers_[other.at()];
    peer.leaving.push_back(kNoMessage);
    loop_.send(peer.id, std::move(frame));
  }
  return swaps_.take(other, own_);
}

void SocketExchange::Inside::stop() {
  swaps_.stop();
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void SocketExchange::Inside::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
}

std::vector<MeasuredMessage> SocketExchange::Inside::measured() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::vector<int> ranks_to_exchange_with(const RunPlan& plan, Rank own) {
  std::set<int> ranks;
  const MessageTable& messages = plan.program.messages();
  for (MessageId id = 0; id < messages.size(); ++id) {
    if (messages[id].from_rank == own) ranks.insert(messages[id].to_rank.value());
    if (messages[id].to_rank == own) ranks.insert(messages[id].from_rank.value());
  }
  for (const Rank holder : ranks_with_replicas_of(plan.schedule(), own)) ranks.insert(holder.value());
  ranks.erase(own.value());
  return {ranks.begin(), ranks.end()};
}

SocketExchange::SocketExchange(std::shared_ptr<const RunPlan> plan, Rank own, net::Loop& loop,
                               std::vector<net::Socket> data,
                               std::function<void(Rank, const std::string&)> lost, std::size_t unread_bytes)
    : inside_(std::make_shared<Inside>(std::move(plan), own, loop, std::move(lost), unread_bytes)) {
  for (std::size_t r = 0; r < data.size(); ++r)
    if (data[r].is_open()) inside_->connect(inside_, Rank(static_cast<int>(r)), std::move(data[r]));
}

SocketExchange::~SocketExchange() {
  inside_->finish();
}

void SocketExchange::post(Rank /*rank*/, std::uint32_t batch, int step, std::vector<Payload> sends) {
  inside_->post(batch, step, sends);
}

bool SocketExchange::wait(Rank /*rank*/, std::uint32_t batch, int step) {
  return inside_->wait(batch, step);
}

Payload SocketExchange::take(MessageId message, int step, std::size_t elements) {
  return inside_->take(message, step, elements);
}

std::optional<Payload> SocketExchange::swap(Rank /*rank*/, Rank other, const Payload& own) {
  return inside_->swap(other, own);
}

void SocketExchange::stop() {
  inside_->stop();
}

void SocketExchange::finish() {
  inside_->finish();
}

std::vector<MeasuredMessage> SocketExchange::measured() const {
  return inside_->measured();
}

}  // namespace pipeloom::executor
