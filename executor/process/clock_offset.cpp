#include "executor/process/clock_offset.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace pipeloom::executor {
namespace {

std::string machine_name() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::error_code missing;
  const std::string time = std::filesystem::read_symlink("/proc/self/ns/time", missing).string();
  return boot.empty() || missing ? std::string() : boot + " " + time;
}

std::int64_t origin_in_ns(const RunClock& clock) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(clock.origin().time_since_epoch()).count();
}

}  // namespace

ClockOffset clock_offset(std::span<const RoundTrip> trips) {
  const RoundTrip& best = *std::min_element(trips.begin(), trips.end(), [](const auto& a, const auto& b) {
    return a.received - a.sent < b.received - b.sent;
  });
  const Ticks length = best.received - best.sent;
  return {.offset = best.there - best.sent - length / 2, .error = (length + 1) / 2, .at = best.received};
}

net::Bytes identity_of(const RunClock& clock) {
  net::Writer out;
  out.text(machine_name()).i64(origin_in_ns(clock));
  return std::move(out).take();
}

std::optional<ClockOffset> same_machine_offset(const RunClock& own, const net::Bytes& other) {
  net::Reader in(other);
  const std::string machine = in.text();
  const std::int64_t origin = in.i64();
  in.end();
  if (machine.empty() || machine != machine_name()) return {};
  // The clock that was set up earlier is further ahead.
  return ClockOffset{.offset = Ticks{1000} * (origin_in_ns(own) - origin), .error = 0, .at = own.now()};
}

Ticks offset_at(const ClockOffset& before, const ClockOffset& after, Ticks time) {
  if (time >= after.at) return after.offset;
  if (time <= before.at) return before.offset;
  const double share = static_cast<double>(time - before.at) / static_cast<double>(after.at - before.at);
  return before.offset + static_cast<Ticks>(share * static_cast<double>(after.offset - before.offset));
}

}  // namespace pipeloom::executor
