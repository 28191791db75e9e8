#include "executor/net/loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pipeloom/error.hpp>
#include "executor/net/connection.hpp"
#include "executor/net/wait.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;
using Clock = Deadline::clock;

/// Read at once from one connection, before the others get their turn.
constexpr std::size_t kReadBytes = std::size_t{256} << 10;

struct Timer {
  std::chrono::milliseconds period;
  std::function<void()> fn;
  Deadline next = {};
};

}  // namespace

struct Loop::Inside {
  std::vector<std::unique_ptr<Connection>> connections;  // [id], fixed once the thread runs
  std::vector<Timer> timers;
  std::atomic<std::size_t> queued = 0;
  std::atomic<std::chrono::milliseconds> linger = 1000ms;
  std::atomic<bool> stopping = false;
  std::atomic<bool> awake = false;  // told to wake up, and not yet looked at what for
  bool again = false;               // the loop's thread told itself: do not sleep
  Socket bell;
  std::thread thread;

  Inside() : bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!bell.is_open()) throw NetworkError("cannot make an event descriptor: " + words_of(errno));
  }

  void wake();
  void run();
  /// What poll() is to look at: the bell, then connection after connection.
  void fill(std::vector<pollfd>& descriptors) const;
  void answer_bell();
  /// Moment of the next timer; a minute from now where there is none before.
  [[nodiscard]] Deadline next_timer() const;
  void run_timers();
  void write_what_is_left();
};

namespace {

/// The loop whose thread this is.
thread_local const void* current_loop = nullptr;

}  // namespace

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
  // In this order: who rings in between finds `awake` set and leaves it to us, who have not looked yet.
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
    // That the other machine has got what it was sent is no event.
    (void)::poll(descriptors.data() + 1, descriptors.size() - 1, 1);
    for (std::size_t id = 0; id < connections.size(); ++id)
      connections[id]->serve(descriptors[id + 1].revents, buffer);
  }
  // What has come and was not read would make closing a reset, which the other end takes for a fault.
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
