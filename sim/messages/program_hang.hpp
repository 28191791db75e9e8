#pragma once

// From "these ranks stand in a Wait" to who waits for whom. The inside of the program engine.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/messages/message_flow.hpp"
#include "sim/messages/program_engine.hpp"

namespace pipeloom {

/// A message instance that is not done, and which end of it the rank holds.
struct StuckMessage {
  std::uint32_t message = kNoMessage;
  bool is_send = false;
};
struct StuckRank {
  Rank rank;
  std::size_t instruction = 0;
  StuckMessage waits;
};

[[nodiscard]] ProgramHang explain_stuck(const Program& program, const MessageFlow& flow,
                                        const std::vector<StuckRank>& stuck, std::size_t entries_done);

}  // namespace pipeloom
