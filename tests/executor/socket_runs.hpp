#pragma once

// Whole programs whose ranks meet through sockets, all in one test process.

#include <cstddef>
#include <functional>

#include "executor/run/run.hpp"

namespace pipeloom::executor {

struct SocketRunOptions {
  std::size_t unread_bytes = std::size_t{64} << 20;
  /// Called in front of every instruction, (rank, position in its list, cut): cut(a, b) ends the connection between two ranks.
  std::function<void(Rank, std::size_t, const std::function<void(Rank, Rank)>&)> before_instruction = {};
};

/// What run_on_cpu() does, but each rank has a RunState, a Loop and a SocketExchange of its own, as if it were alone in its process. They
/// share the barrier and the clock, and the first failure is told to all.
[[nodiscard]] RunResult run_on_sockets(const Program& program, Work& work, RunOptions options,
                                       const SocketRunOptions& sockets = {});

}  // namespace pipeloom::executor
