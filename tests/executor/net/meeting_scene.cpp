#include "executor/net/meeting_scene.hpp"

#include <regex>
#include <thread>

#include "executor/net/pairs.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net {

std::vector<Outcome> outcomes_of(const std::vector<Guest>& guests, std::chrono::milliseconds time) {
  std::vector<Outcome> outcomes(guests.size());
  std::vector<std::thread> threads;
  const Deadline deadline = in(time);
  for (std::size_t i = 0; i < guests.size(); ++i)
    threads.emplace_back([&, i] {
      outcomes[i].reason = reason_of([&] {
        outcomes[i].meeting = meet(guests[i].world, guests[i].agreements, guests[i].peers, deadline);
        return 0;
      });
    });
  for (std::thread& thread : threads) thread.join();
  const std::regex time_text("within [0-9.]+ s");
  for (Outcome& outcome : outcomes)
    outcome.reason = std::regex_replace(outcome.reason, time_text, "within T");
  return outcomes;
}

Guest guest(int rank, int size, std::uint16_t port, const std::string& host) {
  Guest guest{.world = {.rank = rank, .size = size, .local_rank = 0, .master = {host, port}}, .peers = {}};
  for (int other = 0; other < size; ++other)
    if (other != rank) guest.peers.push_back(other);
  return guest;
}

std::vector<Guest> all_ranks(int size, std::uint16_t port, const std::string& host) {
  std::vector<Guest> guests;
  for (int rank = 0; rank < size; ++rank) guests.push_back(guest(rank, size, port, host));
  return guests;
}

void check_all_say(const std::vector<Outcome>& outcomes, const std::string& reason) {
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.reason == reason);
    CHECK_FALSE(outcome.meeting);
  }
}

}  // namespace pipeloom::executor::net
