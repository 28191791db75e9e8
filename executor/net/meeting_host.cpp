#include <poll.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "executor/net/meeting.hpp"
#include "executor/net/meeting_letters.hpp"
#include "executor/net/socket.hpp"

namespace pipeloom::executor::net {
namespace {

using namespace std::chrono_literals;
using Clock = Deadline::clock;

/// Time after a failed meeting in which ranks that come later are told the reason.
constexpr auto kGrace = 1s;

/// A process that ends lets go of its listener and its connections one after another.
constexpr auto kLastBreath = 50ms;

/// A letter fits into the system's buffer of a connection that is new.
constexpr auto kLetterTime = 1s;

std::uint64_t random_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

/// Seen from this machine only: at other machines it means them.
bool is_loopback(std::string_view host) {
  return host.starts_with("127.") || host == "::1";
}

class Host {
 public:
  explicit Host(const Visit& visit)
      : visit_(visit),
        times_(visit.times),
        own_{kProtocolVersion, 0, visit.world.size, visit.world.master.port, visit.agreements},
        listener_(listen_on(visit.world.master.port)),
        callers_(listener_, kMostLetterBytes),
        meeting_(empty_meeting(visit.world)) {
    table_.run = random_number();
    table_.addresses.resize(meeting_.control.size());
    table_.addresses.front().port = visit.world.master.port;
  }

  Meeting meet() && {
    try {
      gather();
      send_all_guests(letter(table_));
      connect();
      send_all_guests(letter(LetterKind::Go));
    } catch (const NetworkError& error) {
      turn_all_away(error.what());
      throw;
    }
    return std::move(meeting_);
  }

 private:
  [[nodiscard]] Socket& guest(int rank) { return meeting_.control[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool is_expected(int rank) { return rank > 0 && rank < own_.size && !guest(rank).is_open(); }
  [[nodiscard]] std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int rank = 1; rank < own_.size; ++rank)
      if (!meeting_.control[static_cast<std::size_t>(rank)].is_open()) ranks.push_back(rank);
    return ranks;
  }

  void gather() {
    while (!missing().empty()) {
      std::optional<Callers::Caller> caller = callers_.next(times_.come, meeting_.control);
      if (!caller) {
        look_after_guests(Clock::now());
        throw NetworkError(names_of(missing()) + " did not come to " + to_text(meeting_.world.master) +
                           " within " + times_.all +
                           "; were they started, with the same MASTER_ADDR and MASTER_PORT?");
      }
      if (const std::optional<Hello> hello = hello_of(*caller)) let_in(*hello, std::move(caller->socket));
    }
  }

  /// Throws NetworkError for a rank that has gone, or goes before `until`.
  void look_after_guests(Deadline until) const {
    std::vector<pollfd> descriptors;
    for (const Socket& guest : meeting_.control) descriptors.push_back({guest.fd(), POLLRDHUP, 0});
    if (::poll(descriptors.data(), descriptors.size(), poll_timeout(until)) <= 0) return;
    const auto gone = std::find_if(descriptors.begin(), descriptors.end(),
                                   [](const pollfd& guest) { return guest.revents != 0; });
    throw NetworkError("rank " + std::to_string(gone - descriptors.begin()) + " came and went again");
  }

  /// Nothing of a stranger.
  [[nodiscard]] static std::optional<Hello> hello_of(const Callers::Caller& caller) {
    try {
      return hello_in(caller.first);
    } catch (const MalformedBytes&) {
      return std::nullopt;
    }
  }

  void let_in(const Hello& hello, Socket socket) {
    std::string fault = difference(own_, hello);
    if (fault.empty() && guest(hello.rank).is_open())
      fault = "two processes say that they are rank " + std::to_string(hello.rank) + ", at " +
              peer_host(guest(hello.rank)) + " and " + peer_host(socket) + "; give each its own RANK";
    if (!fault.empty()) {
      (is_expected(hello.rank) ? guest(hello.rank) : odd_one_) = std::move(socket);
      throw NetworkError(fault);
    }
    const std::string host = peer_host(socket);
    table_.addresses[static_cast<std::size_t>(hello.rank)] = {is_loopback(host) ? "" : host, hello.port};
    guest(hello.rank) = std::move(socket);
    send(hello.rank, letter(LetterKind::Welcome));
  }

  void send(int rank, const Frame& frame) {
    try {
      send_frame(guest(rank), frame, Clock::now() + kLetterTime);
    } catch (const NetworkError& error) {
      throw NetworkError("rank " + std::to_string(rank) + " came and went again: " + error.what());
    }
  }

  void send_all_guests(const Frame& frame) {
    for (int rank = 1; rank < own_.size; ++rank) send(rank, frame);
  }

  /// Every pair of peers connects. Throws NetworkError with the first failure.
  void connect() {
    try {
      take_calls(callers_, table_.run, higher_peers(visit_), meeting_, times_.connect);
    } catch (const NetworkError&) {
      look_after_guests(Clock::now());
      throw;
    }
    std::vector<int> silent(static_cast<std::size_t>(own_.size) - 1);
    std::iota(silent.begin(), silent.end(), 1);
    while (!silent.empty()) {
      const std::vector<int> speaking = speaking_of(silent);
      if (speaking.empty())
        throw NetworkError(names_of(silent) + " did not say in time whether the connections to others stand");
      for (const int rank : speaking) hear(rank);
      std::erase_if(silent,
                    [&](int rank) { return std::binary_search(speaking.begin(), speaking.end(), rank); });
    }
  }

  /// The ranks that have sent something before rank 0 must decide, as soon as one has; in the order of `ranks`.
  [[nodiscard]] std::vector<int> speaking_of(const std::vector<int>& ranks) {
    std::vector<pollfd> descriptors;
    for (const int rank : ranks) descriptors.push_back({guest(rank).fd(), POLLIN, 0});
    (void)::poll(descriptors.data(), descriptors.size(), poll_timeout(times_.decide));
    std::vector<int> speaking;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (descriptors[i].revents != 0) speaking.push_back(ranks[i]);
    return speaking;
  }

  /// Throws NetworkError for a rank that could not connect.
  void hear(int rank) {
    std::string failure;
    try {
      const Frame frame = receive_frame(guest(rank), times_.decide, kMostLetterBytes);
      if (is(frame, LetterKind::Ready)) return;
      failure = text_in(frame);
    } catch (const NetworkError& error) {
      failure = "rank " + std::to_string(rank) + " came and went again: " + error.what();
    }
    // A rank that cannot be reached may be one that ends just now.
    look_after_guests(Clock::now() + kLastBreath);
    throw NetworkError(failure);
  }

  /// Tells all that are here, and those that are on their way.
  void turn_all_away(const std::string& reason) {
    const Frame frame = letter(LetterKind::Reject, reason);
    const auto tell = [&](const Socket& socket) {
      try {
        if (socket.is_open()) send_frame(socket, frame, Clock::now() + kLetterTime);
      } catch (const NetworkError&) {
        return;  // gone
      }
    };
    std::for_each(meeting_.control.begin(), meeting_.control.end(), tell);
    tell(odd_one_);
    const Deadline until = std::min(times_.deadline, Clock::now() + kGrace);
    try {
      while (!missing().empty()) {
        std::optional<Callers::Caller> caller = callers_.next(until);
        if (!caller) break;
        const std::optional<Hello> hello = hello_of(*caller);
        if (!hello) continue;
        tell(caller->socket);
        if (is_expected(hello->rank)) guest(hello->rank) = std::move(caller->socket);
      }
    } catch (const NetworkError&) {
      return;  // the first reason counts
    }
  }

  const Visit& visit_;
  const MeetingTimes& times_;
  Hello own_;
  Socket listener_;
  Callers callers_;
  Meeting meeting_;
  Table table_;
  Socket odd_one_;  // has no place, and has to be told
};

}  // namespace

Meeting meet_as_host(const Visit& visit) {
  return Host(visit).meet();
}

}  // namespace pipeloom::executor::net
