#include "executor/net/callers.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "executor/net/wait.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;
using Clock = Deadline::clock;

/// A rank speaks as soon as it is connected; more than this is a process that stands still, or a stranger.
constexpr auto kPatience = 5s;

/// Strangers may be many, descriptors are few.
constexpr std::size_t kMostSilent = 512;

}  // namespace

std::optional<Callers::Caller> Callers::next(Deadline deadline, std::span<const Socket> watched) {
  while (true) {
    for (auto one = silent_.begin(); one != silent_.end();) {
      Frame first;
      const Said said = listen_to(*one, first);
      const auto current = one++;
      if (said == Said::Nothing && Clock::now() < current->until) continue;
      Socket socket = std::move(current->socket);
      silent_.erase(current);
      if (said == Said::Frame) return Caller{std::move(socket), std::move(first)};
    }
    const bool is_disturbed = wait(deadline, watched);
    if (Socket socket = accept_from(listener_, Clock::now()); socket.is_open()) {
      if (silent_.size() >= kMostSilent) silent_.pop_front();
      silent_.push_back({std::move(socket), {}, Clock::now() + kPatience});
    } else if (is_disturbed || Clock::now() >= deadline) {
      return std::nullopt;
    }
  }
}

bool Callers::wait(Deadline deadline, std::span<const Socket> watched) const {
  std::vector<pollfd> descriptors;
  for (const Socket& one : watched) descriptors.push_back({one.fd(), POLLRDHUP, 0});
  descriptors.push_back({listener_.fd(), POLLIN, 0});
  for (const Silent& one : silent_) {
    descriptors.push_back({one.socket.fd(), POLLIN, 0});
    deadline = std::min(deadline, one.until);
  }
  (void)::poll(descriptors.data(), descriptors.size(), poll_timeout(deadline));
  const auto end = descriptors.begin() + static_cast<std::ptrdiff_t>(watched.size());
  return std::any_of(descriptors.begin(), end, [](const pollfd& one) { return one.revents != 0; });
}

Callers::Said Callers::listen_to(Silent& caller, Frame& first) const {
  std::array<std::byte, 4096> buffer{};
  while (true) {
    const ssize_t count = ::recv(caller.socket.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return Said::Nothing;
    if (count <= 0) return Said::Nonsense;
    try {
      std::vector<Frame> frames =
          caller.cutter.feed(std::span(buffer).first(static_cast<std::size_t>(count)), most_);
      if (frames.empty()) continue;
      first = std::move(frames.front());
      return Said::Frame;
    } catch (const MalformedBytes&) {
      return Said::Nonsense;
    }
  }
}

}  // namespace pipeloom::executor::net
