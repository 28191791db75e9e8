// Longer than most files: a connection and the loop that serves it are one piece of locking and waking up, to be read together.

#include "executor/net/loop.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "executor/net/socket.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;
using Clock = Deadline::clock;

/// Read at once from one connection, before the others get their turn.
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

/// Larger frames are copied into the system by the loop's thread: the sender has to compute.
constexpr std::size_t kMostWrittenAtOnce = std::size_t{64} << 10;

/// Frames handed to the system in one call.
constexpr std::size_t kBatch = 16;

iovec part(std::span<const std::byte> bytes) {
  // The system's type is for reading too; it does not write through it here.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// One connection of a loop: the frames that wait to be written, and those that have come. Frames leave in the order of send(): a sender
/// itself writes only a frame that no other waits before, under the lock of the queue.
class Connection {
 public:
  /// Adds the bytes that it queues to `queued`, which outlives it.
  Connection(Socket socket, Loop::Handlers handlers, std::atomic<std::size_t>& queued);

  /// Any thread. Returns true if serve() must be called: to write the rest, or to report the bytes written.
  [[nodiscard]] bool send(Frame frame);
  void pause(bool paused) { paused_ = paused; }

  /// The rest is for one thread: the loop's, and after it the one that ends the loop.

  /// -1 once it has ended.
  [[nodiscard]] int fd() const { return socket_.fd(); }
  /// The events that poll() is to wait for; 0: none now.
  [[nodiscard]] short wanted() const;
  /// Reads and writes once each as far as `ready`, poll()'s answer, allows, and calls the handlers.
  void serve(short ready, std::span<std::byte> buffer);
  /// No handler is called any more; bytes that arrive are thrown away.
  void mute();
  /// True if everything that was sent has reached the other machine, or cannot reach it any more.
  [[nodiscard]] bool is_settled() const;

 private:
  struct Outgoing {
    FrameHead head;
    Bytes body;
    [[nodiscard]] std::size_t size() const { return head.size() + body.size(); }
  };

  /// Writes as much of the queue as the system takes in one go. REQUIRES: the lock, a queue that is not empty.
  void write_once();
  /// Takes `count` bytes off the queue. REQUIRES: the lock.
  void drop(std::size_t count);
  /// Drops all frames that wait to be written. REQUIRES: the lock.
  void drop_all();
  void report_sent();
  /// Returns true if there was something to read.
  bool read_once(std::span<std::byte> buffer);
  void deliver(std::span<const std::byte> bytes);
  void end(const std::string& reason);

  Loop::Handlers handlers_;
  FrameCutter cutter_;
  std::atomic<bool> paused_ = false;
  std::atomic<std::size_t>& queued_;

  mutable std::mutex mutex_;  // guards the rest; the socket is closed by the loop's thread only
  Socket socket_;
  std::deque<Outgoing> queue_;
  std::size_t written_ = 0;     // bytes of its first frame
  std::size_t unreported_ = 0;  // frames written of which on_sent has not heard
  int write_error_ = 0;         // why writing ended; bytes that the other end sent before are still read
};

struct Timer {
  std::chrono::milliseconds period;
  std::function<void()> fn;
  Deadline next = {};
};

Connection::Connection(Socket socket, Loop::Handlers handlers, std::atomic<std::size_t>& queued)
    : handlers_(std::move(handlers)), queued_(queued), socket_(std::move(socket)) {
  const int flags = ::fcntl(fd(), F_GETFL);
  if (flags < 0 || ::fcntl(fd(), F_SETFL, flags | O_NONBLOCK) < 0)
    throw NetworkError("cannot use a connection: " + words_of(errno));
}

bool Connection::send(Frame frame) {
  const FrameHead head = head_of(frame);
  const std::scoped_lock lock(mutex_);
  if (!socket_.is_open() || write_error_ != 0) return false;
  const bool is_first = queue_.empty();
  queue_.push_back({head, std::move(frame.body)});
  queued_ += queue_.back().size();
  if (!is_first) return false;  // the thread that queued the first frame calls
  if (queue_.back().size() <= kMostWrittenAtOnce) write_once();
  return !queue_.empty() || write_error_ != 0 || (unreported_ > 0 && handlers_.on_sent);
}

short Connection::wanted() const {
  const std::scoped_lock lock(mutex_);
  if (!socket_.is_open()) return 0;
  return static_cast<short>((paused_ ? 0 : POLLIN) | (queue_.empty() ? 0 : POLLOUT));
}

void Connection::serve(short ready, std::span<std::byte> buffer) {
  bool is_broken = false;
  {
    const std::scoped_lock lock(mutex_);
    if (!socket_.is_open()) return;
    if (!queue_.empty()) write_once();
    is_broken = write_error_ != 0;
  }
  report_sent();
  if (paused_) return;
  if (!is_broken) {
    if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0) read_once(buffer);
    return;
  }
  while (!paused_ && read_once(buffer)) continue;
  if (!paused_ && socket_.is_open()) end(words_of(write_error_));
}

void Connection::write_once() {
  std::array<iovec, 2 * kBatch> parts{};
  std::size_t count = 0;
  std::size_t skip = written_;
  for (const Outgoing& frame : queue_) {
    if (count == parts.size()) break;
    const std::size_t of_head = std::min(skip, frame.head.size());
    parts.at(count++) = part(std::span(frame.head).subspan(of_head));
    parts.at(count++) = part(std::span(frame.body).subspan(skip - of_head));
    skip = 0;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  const ssize_t sent = ::sendmsg(socket_.fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    drop(static_cast<std::size_t>(sent));
  } else if (errno != EAGAIN && errno != EINTR) {
    write_error_ = errno;
    drop_all();
  }
}

void Connection::drop(std::size_t count) {
  queued_ -= count;
  written_ += count;
  while (!queue_.empty() && written_ >= queue_.front().size()) {
    written_ -= queue_.front().size();
    queue_.pop_front();
    ++unreported_;
  }
}

void Connection::drop_all() {
  std::size_t left = 0;
  for (const Outgoing& frame : queue_) left += frame.size();
  queued_ -= left - std::exchange(written_, 0);
  queue_.clear();
}

void Connection::report_sent() {
  std::unique_lock lock(mutex_);
  const std::size_t count = std::exchange(unreported_, 0);
  lock.unlock();
  if (!handlers_.on_sent) return;
  for (std::size_t i = 0; i < count; ++i) handlers_.on_sent();
}

bool Connection::read_once(std::span<std::byte> buffer) {
  const ssize_t count = ::recv(socket_.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count > 0) {
    deliver(buffer.first(static_cast<std::size_t>(count)));
    return socket_.is_open();
  }
  if (count == 0) {
    end("the connection was closed");
  } else if (errno == EINTR) {
    return true;
  } else if (errno != EAGAIN) {
    end(words_of(errno));
  }
  return false;
}

void Connection::deliver(std::span<const std::byte> bytes) {
  if (!handlers_.on_frame) return;
  try {
    for (Frame& frame : cutter_.feed(bytes)) handlers_.on_frame(std::move(frame));
  } catch (const std::exception& error) {
    end(error.what());
  }
}

void Connection::end(const std::string& reason) {
  {
    const std::scoped_lock lock(mutex_);
    drop_all();
    socket_ = Socket();
  }
  report_sent();
  if (handlers_.on_end) handlers_.on_end(reason);
}

void Connection::mute() {
  handlers_ = {};
  paused_ = false;
}

bool Connection::is_settled() const {
  const std::scoped_lock lock(mutex_);
  if (!socket_.is_open() || write_error_ != 0) return true;
  int unacknowledged = 0;
  if (::ioctl(socket_.fd(), SIOCOUTQ, &unacknowledged) != 0) unacknowledged = 0;
  return queue_.empty() && unacknowledged == 0;
}

/// The loop whose thread this is.
thread_local const void* current_loop = nullptr;

}  // namespace

struct Loop::Inside {
  std::vector<std::unique_ptr<Connection>> connections;  // [id], fixed once the thread runs
  std::vector<Timer> timers;
  std::atomic<std::size_t> queued = 0;
  std::atomic<std::chrono::milliseconds> linger = 1000ms;
  std::atomic<bool> stopping = false;
  std::atomic<bool> awake = false;  // woken up, and has not yet looked at the reason
  bool again = false;               // set by the loop's thread: it must not sleep
  Socket bell;
  std::thread thread;

  Inside() : bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!bell.is_open()) throw NetworkError("cannot make an event descriptor: " + words_of(errno));
  }

  void wake();
  void run();
  /// Sets the descriptors that poll() is to look at: the bell, then each connection.
  void fill(std::vector<pollfd>& descriptors) const;
  void answer_bell();
  /// Moment of the next timer; a minute from now where there is none before.
  [[nodiscard]] Deadline next_timer() const;
  void run_timers();
  void write_what_is_left();
};

void Loop::Inside::wake() {
  if (current_loop == this) {
    again = true;
    return;
  }
  if (awake.exchange(true)) return;
  const std::uint64_t one = 1;
  (void)!::write(bell.fd(), &one, sizeof one);  // cannot fail: the counter is 0 or 1
}

void Loop::Inside::answer_bell() {
  // In this order: a thread that rings in between finds `awake` set and leaves the rest to this thread, which has not looked yet.
  std::uint64_t count = 0;
  (void)!::read(bell.fd(), &count, sizeof count);
  awake = false;
}

void Loop::Inside::fill(std::vector<pollfd>& descriptors) const {
  descriptors.assign(1, {bell.fd(), POLLIN, 0});
  for (const auto& connection : connections) {
    // One that nothing is wanted of must not be looked at: poll() would report its end again and again.
    const short events = connection->wanted();
    descriptors.push_back({events == 0 ? -1 : connection->fd(), events, 0});
  }
}

Deadline Loop::Inside::next_timer() const {
  Deadline next = Clock::now() + 1min;
  for (const Timer& timer : timers) next = std::min(next, timer.next);
  return next;
}

void Loop::Inside::run_timers() {
  for (Timer& timer : timers) {
    if (Clock::now() < timer.next) continue;
    timer.fn();
    timer.next = Clock::now() + timer.period;
  }
}

void Loop::Inside::run() {
  current_loop = this;
  std::vector<std::byte> buffer(kReadBytes);
  std::vector<pollfd> descriptors;
  while (!stopping) {
    fill(descriptors);
    const int timeout = std::exchange(again, false) ? 0 : poll_timeout(next_timer());
    if (::poll(descriptors.data(), descriptors.size(), timeout) < 0) continue;
    if (descriptors.front().revents != 0) answer_bell();
    for (std::size_t id = 0; id < connections.size(); ++id)
      connections[id]->serve(descriptors[id + 1].revents, buffer);
    run_timers();
  }
}

void Loop::Inside::write_what_is_left() {
  const Deadline until = Clock::now() + linger.load();
  std::vector<std::byte> buffer(kReadBytes);
  std::vector<pollfd> descriptors;
  for (const auto& connection : connections) connection->mute();
  const auto is_settled = [](const auto& connection) { return connection->is_settled(); };
  while (!std::all_of(connections.begin(), connections.end(), is_settled) && Clock::now() < until) {
    fill(descriptors);
    // poll() has no event for the arrival of all sent bytes at the other machine.
    (void)::poll(descriptors.data() + 1, descriptors.size() - 1, 1);
    for (std::size_t id = 0; id < connections.size(); ++id)
      connections[id]->serve(descriptors[id + 1].revents, buffer);
  }
  // Bytes that have arrived and are not read would make closing a reset, which the other end takes for a fault.
  for (const auto& connection : connections)
    if (connection->fd() >= 0) connection->serve(POLLIN, buffer);
}

Loop::Loop() : inside_(std::make_unique<Inside>()) {}

Loop::~Loop() {
  inside_->stopping = true;
  inside_->wake();
  if (inside_->thread.joinable()) inside_->thread.join();
  inside_->write_what_is_left();
}

Loop::Id Loop::add(Socket socket, Handlers handlers) {
  if (inside_->thread.joinable()) throw InternalError("a connection for a loop that runs already");
  inside_->connections.push_back(
      std::make_unique<Connection>(std::move(socket), std::move(handlers), inside_->queued));
  return inside_->connections.size() - 1;
}

void Loop::every(std::chrono::milliseconds period, std::function<void()> fn) {
  if (inside_->thread.joinable()) throw InternalError("a timer for a loop that runs already");
  inside_->timers.push_back({period, std::move(fn)});
}

void Loop::start() {
  for (Timer& timer : inside_->timers) timer.next = Clock::now() + timer.period;
  try {
    inside_->thread = std::thread([inside = inside_.get()] { inside->run(); });
  } catch (const std::system_error& error) {
    throw SystemError("the thread for connections cannot be started: " + error.code().message() +
                      "; this machine or its user may have no more, see `ulimit -u`");
  }
}

void Loop::send(Id to, Frame frame) {
  if (inside_->connections.at(to)->send(std::move(frame))) inside_->wake();
}

std::size_t Loop::queued() const {
  return inside_->queued;
}

void Loop::pause(Id from) {
  inside_->connections.at(from)->pause(true);
}

void Loop::resume(Id from) {
  inside_->connections.at(from)->pause(false);
  inside_->wake();
}

void Loop::linger(std::chrono::milliseconds most) {
  inside_->linger = most;
}

}  // namespace pipeloom::executor::net
