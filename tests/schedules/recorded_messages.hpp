#pragma once

// Programs in the words of recorded message lists, and their times by a replay that shares nothing with the engine.

#include <cstddef>
#include <functional>
#include <string>

#include <pipeloom/units.hpp>
#include "sim/kinds.hpp"
#include "sim/messages/program.hpp"

namespace pipeloom::recorded {

/// How a recording spells ops and messages.
struct Words {
  /// p: "F<c>.<k>" is stage c p + rank, and messages name the neighbour on the ring of ranks, "sn". 0: stages and messages are
  /// named, "F<s>.<k>" and "sF0.1>1".
  int ring = 0;
};

/// "<sn#4 >#4" is "[sn]", which runs alike; what remains asynchronous is numbered anew.
std::string canonical(const std::string& text);
/// A rank's list in the words of the recordings, canonical.
std::string words_of(const Program& program, Rank rank, const Words& words);

/// The makespan if an entry takes duration(its first op), a message is done `latency` after its second end was posted, and a wait
/// is for all messages of a batch. Fails the test if the program hangs.
Ticks replay(const Program& program, const std::function<Ticks(std::size_t)>& duration, Ticks latency);

}  // namespace pipeloom::recorded
