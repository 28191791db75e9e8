#pragma once

// Processes of a meeting as threads.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executor/net/world.hpp"

namespace pipeloom::executor::net {

inline const std::vector<Agreement> kSame = {{"schedule", "zb-h1, p=4, m=8"}, {"work", "busy"}};

/// What one process of a meeting says of itself.
struct Guest {
  World world;
  std::vector<int> peers;
  std::vector<Agreement> agreements = kSame;
};

struct Outcome {
  std::optional<Meeting> meeting;
  std::string reason;  // with "within T" for "within 30 s": threads start when they can
};

/// All at once, each in a thread of its own; [guest].
[[nodiscard]] std::vector<Outcome> outcomes_of(const std::vector<Guest>& guests,
                                               std::chrono::milliseconds time = std::chrono::seconds(20));

/// With all others as peers.
[[nodiscard]] Guest guest(int rank, int size, std::uint16_t port, const std::string& host = "127.0.0.1");
[[nodiscard]] std::vector<Guest> all_ranks(int size, std::uint16_t port,
                                           const std::string& host = "127.0.0.1");

/// CHECKs that nobody met, all for this reason.
void check_all_say(const std::vector<Outcome>& outcomes, const std::string& reason);

}  // namespace pipeloom::executor::net
