#pragma once

// What must hold for every schedule that some reader accepts, and for every refusal.

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "sim/error.hpp"
#include "sim/io/json_value.hpp"
#include "sim/io/schedule_json.hpp"
#include "sim/memory.hpp"
#include "sim/metrics.hpp"
#include "sim/schedule.hpp"
#include "sim/simulator.hpp"
#include "sim/validate.hpp"

namespace pipeloom::fuzz {

/// A promise is broken: stop, so that the fuzzer keeps the input.
inline void require(bool held) {
  if (!held) __builtin_trap();
}

inline std::string json_of(const Schedule& schedule) {
  std::ostringstream out;
  io::write_schedule_json(out, schedule);
  return out.str();
}

/// A valid schedule runs to its end, and its JSON form reads back as the same orders.
inline void check_valid(std::shared_ptr<const Schedule> schedule) {
  const Costs costs = default_costs(schedule->placement());
  const MemoryModel memory = default_memory(schedule->placement());
  const Timeline timeline = simulate(schedule, costs);
  const Metrics metrics = measure(timeline, costs, memory, {});
  require(metrics.makespan >= metrics.ideal_time);
  const std::string json = json_of(*schedule);
  require(json_of(io::read_schedule_json(io::Document::parse(json, "again").root())) == json);
}

/// Calls a reader that returns a Schedule.
template <class Read>
void check_reader(const Read& read) {
  try {
    const auto schedule = std::make_shared<const Schedule>(read());
    // The one-line text may leave almost everything out, and validate() lists every missing op: that is slow, not wrong.
    if (static_cast<std::int64_t>(schedule->stages()) * schedule->microbatches() > 1 << 16) return;
    if (validate(*schedule).empty()) check_valid(schedule);
  } catch (const InternalError&) {
    throw;  // a bug, whatever the input
  } catch (const Error& error) {
    require(!error.line().empty());
    require(error.line().find('\n') == std::string::npos);
  }
}

}  // namespace pipeloom::fuzz
