#include "executor/net/meeting.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "executor/net/meeting_letters.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;
using Clock = Deadline::clock;

/// A rank writes as soon as it is connected; a longer silence means a process that hangs, or a stranger.
constexpr auto kPatience = 5s;

/// Strangers may be many, descriptors are few.
constexpr std::size_t kMostSilent = 512;

/// "30 s", or "1.5 s" of less than ten.
std::string seconds_text(Clock::duration time) {
  using Tenths = std::chrono::duration<std::int64_t, std::deci>;
  if (time >= 10s) return std::to_string(std::chrono::round<std::chrono::seconds>(time).count()) + " s";
  const std::int64_t tenths = std::max<std::int64_t>(std::chrono::round<Tenths>(time).count(), 0);
  const std::string whole = std::to_string(tenths / 10);
  return (tenths % 10 == 0 ? whole : whole + "." + std::to_string(tenths % 10)) + " s";
}

/// The rank that calls, if it is one that has not called yet.
std::optional<int> rank_calling(const Frame& first, std::uint64_t run, const std::vector<int>& ranks,
                                const Meeting& meeting) {
  try {
    const Call call = call_in(first);
    const bool is_expected = call.run == run &&
                             std::find(ranks.begin(), ranks.end(), call.rank) != ranks.end() &&
                             !meeting.data[static_cast<std::size_t>(call.rank)].is_open();
    if (is_expected) return call.rank;
  } catch (const MalformedBytes&) {
    return std::nullopt;  // a stranger
  }
  return std::nullopt;
}

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

MeetingTimes times_until(Deadline deadline) {
  const Clock::duration all = deadline - Clock::now();
  const Clock::duration share = std::clamp<Clock::duration>(all / 4, 0s, 1s);
  return {deadline - share, deadline - share * 3 / 4, deadline - share / 2, deadline - share / 4,
          deadline,         seconds_text(all)};
}

Meeting empty_meeting(const World& world) {
  Meeting meeting;
  meeting.world = world;
  meeting.control.resize(static_cast<std::size_t>(world.size));
  meeting.data.resize(static_cast<std::size_t>(world.size));
  return meeting;
}

std::string names_of(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

std::vector<int> lower_peers(const Visit& visit) {
  std::vector<int> ranks;
  std::copy_if(visit.peers.begin(), visit.peers.end(), std::back_inserter(ranks),
               [&](int rank) { return rank < visit.world.rank; });
  return ranks;
}

std::vector<int> higher_peers(const Visit& visit) {
  std::vector<int> ranks;
  std::copy_if(visit.peers.begin(), visit.peers.end(), std::back_inserter(ranks),
               [&](int rank) { return rank > visit.world.rank; });
  return ranks;
}

void take_calls(Callers& callers, std::uint64_t run, const std::vector<int>& ranks, Meeting& meeting,
                Deadline until) {
  const int own = meeting.world.rank;
  for (std::size_t left = ranks.size(); left > 0;) {
    std::optional<Callers::Caller> caller = callers.next(until, meeting.control);
    if (!caller) break;
    const std::optional<int> rank = rank_calling(caller->first, run, ranks, meeting);
    if (!rank) continue;
    try {
      send_frame(caller->socket, letter(Call{run, own}), until);
    } catch (const NetworkError& error) {
      throw NetworkError(names_of({*rank}) + " called rank " + std::to_string(own) +
                         " and went again: " + error.what());
    }
    meeting.data[static_cast<std::size_t>(*rank)] = std::move(caller->socket);
    --left;
  }
  std::vector<int> missing;
  for (const int rank : ranks)
    if (!meeting.data[static_cast<std::size_t>(rank)].is_open()) missing.push_back(rank);
  if (!missing.empty())
    throw NetworkError(names_of(missing) + " did not connect to rank " + std::to_string(own));
}

Meeting meet(const World& world, const std::vector<Agreement>& agreements, const std::vector<int>& peers,
             Deadline deadline) {
  if (world.size < 1 || world.rank < 0 || world.rank >= world.size)
    throw InternalError("a meeting of rank " + std::to_string(world.rank) + " of " +
                        std::to_string(world.size));
  const Visit visit{world, agreements, peers, times_until(deadline)};
  Meeting meeting = world.size == 1   ? empty_meeting(world)
                    : world.rank == 0 ? meet_as_host(visit)
                                      : meet_as_guest(visit);
  if (world.met) world.met();
  return meeting;
}

}  // namespace pipeloom::executor::net
