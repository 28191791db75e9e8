#include "executor/net/connection.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "executor/net/wait.hpp"
#include "sim/kinds.hpp"

namespace pipeloom::executor::net {
namespace {

/// Larger frames are copied into the system by the loop's thread: whoever sends them has to compute.
constexpr std::size_t kMostWrittenAtOnce = std::size_t{64} << 10;

/// Frames handed to the system in one call.
constexpr std::size_t kBatch = 16;

iovec part(std::span<const std::byte> bytes) {
  // The system's type is for reading too; it does not write through it here.
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

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
  if (!is_first) return false;  // whoever queued the first one calls
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

}  // namespace pipeloom::executor::net
