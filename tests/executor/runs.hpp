#pragma once

// Programs to run, and what must hold of every run.

#include <string>
#include <string_view>

#include "executor/run/run.hpp"
#include "schedules/generator.hpp"
#include "sim/messages/program.hpp"

namespace pipeloom::executor {

/// The schedule with asynchronous messages, receives posted in the step of their sender.
[[nodiscard]] Program async_program(const schedules::Generator& generator, const Params& params);
[[nodiscard]] Program async_program(std::string_view schedule, int p, int m, int v = 1);

/// F, I and W of 1 ms, B of 2 ms on every stage.
[[nodiscard]] Costs one_ms(const Program& program);

/// The first thing that is wrong with the order of ops: every rank runs its queue entry by entry, copies one after another and not before
/// their turn in the queue, and no op starts before what it waits for has ended; "" if nothing is.
[[nodiscard]] std::string disorder(const Timeline& timeline);

/// Waits up to so many microseconds, another time for each rank and instruction but the same in every run.
[[nodiscard]] std::function<void(Rank, std::size_t)> random_delays(unsigned seed, unsigned microseconds);

}  // namespace pipeloom::executor
