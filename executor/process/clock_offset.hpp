#pragma once

// Comparison of the clocks of two processes: on one machine exactly, else by asking.

#include <optional>
#include <span>

#include <pipeloom/units.hpp>
#include "executor/net/wire.hpp"
#include "executor/run/clock.hpp"

namespace pipeloom::executor {

/// One round trip: asked at `sent` and answered by `received` on the asker's clock, read as `there` on the other's.
struct RoundTrip {
  Ticks sent = 0;
  Ticks there = 0;
  Ticks received = 0;
};

/// other's clock = own clock + offset, give or take `error`.
struct ClockOffset {
  Ticks offset = 0;
  Ticks error =
      0;  ///< half of the shortest round trip: however the way there and back share it, the offset is no further off
  Ticks at = 0;  ///< own clock, when it was measured
};

/// The offset from the trip that took least time: there - (sent + received) / 2 (Cristian 1989; the choice of the shortest as NTP's clock filter, RFC
/// 5905 section 10). REQUIRES: at least one trip, each with received >= sent.
[[nodiscard]] ClockOffset clock_offset(std::span<const RoundTrip> trips);

/// A clock as another process may know it: the machine whose steady clock it reads (its boot and its time namespace, as Linux names
/// them; empty where /proc says neither), and when it was set up by that.
[[nodiscard]] net::Bytes identity_of(const RunClock& clock);
/// Returns how far the clock that `other` describes is ahead of `own`, without error, if both read the same machine's. Throws net::MalformedBytes
/// for bytes that identity_of() would not write.
[[nodiscard]] std::optional<ClockOffset> same_machine_offset(const RunClock& own, const net::Bytes& other);

/// The offset to add at `time` (own clock), where it was measured before and after: in between it changes linearly, as for a clock that runs
/// a little fast; outside it is constant. Where both moments are equal: the second offset.
[[nodiscard]] Ticks offset_at(const ClockOffset& before, const ClockOffset& after, Ticks time);

}  // namespace pipeloom::executor
