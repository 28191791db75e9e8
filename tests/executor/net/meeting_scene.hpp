#pragma once

// Processes of a meeting as threads.

#include <chrono>
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "executor/net/pairs.hpp"
#include "executor/net/world.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::net {

inline const std::vector<Agreement> kSame = {{"schedule", "zb-h1, p=4, m=8"}, {"work", "busy"}};

/// What one process of a meeting says of itself.
struct Guest {
  World world;
  std::vector<Agreement> agreements = kSame;
};

struct Outcome {
  std::optional<Meeting> meeting;
  std::string reason;  // with "within T" for "within 30 s": threads start when they can
};

/// All at once, each in a thread of its own; [guest].
inline std::vector<Outcome> outcomes_of(const std::vector<Guest>& guests,
                                        std::chrono::milliseconds time = std::chrono::seconds(20)) {
  std::vector<Outcome> outcomes(guests.size());
  std::vector<std::thread> threads;
  const Deadline deadline = in(time);
  for (std::size_t i = 0; i < guests.size(); ++i)
    threads.emplace_back([&, i] {
      outcomes[i].reason = reason_of([&] {
        outcomes[i].meeting = meet(guests[i].world, guests[i].agreements, deadline);
        return 0;
      });
    });
  for (std::thread& thread : threads) thread.join();
  const std::regex time_text("within [0-9.]+ s");
  for (Outcome& outcome : outcomes)
    outcome.reason = std::regex_replace(outcome.reason, time_text, "within T");
  return outcomes;
}

inline Guest guest(int rank, int size, std::uint16_t port, const std::string& host = "127.0.0.1") {
  return {{rank, size, 0, {host, port}}};
}

inline std::vector<Guest> all_ranks(int size, std::uint16_t port, const std::string& host = "127.0.0.1") {
  std::vector<Guest> guests;
  for (int rank = 0; rank < size; ++rank) guests.push_back(guest(rank, size, port, host));
  return guests;
}

inline void check_all_say(const std::vector<Outcome>& outcomes, const std::string& reason) {
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.reason == reason);
    CHECK_FALSE(outcome.meeting);
  }
}

}  // namespace pipeloom::executor::net
