#pragma once

// Draws of the durations of one scenario, shared by the engines of scenarios, so that scenario i of a seed is the same under each.
//
// A scenario's stream gives, where there are pauses, the moment of each rank's first one, rank by rank, then a factor for every record of
// the fixed order (sim/engine/fixed_order.hpp). Draws are integers and one multiplication: the same on every machine.

#include <cstdint>
#include <vector>

#include <pipeloom/costs.hpp>

namespace pipeloom {

/// The upper bits of a draw pick one of 2^kFactorBits factors, as likely each.
inline constexpr int kFactorBits = 12;

/// Factors of a duration for equal shares of all draws, in order; 1 where it does not vary.
[[nodiscard]] std::vector<double> noise_factors(const Noise& noise);

/// The state at which the stream of scenario `index` begins.
[[nodiscard]] std::uint64_t scenario_stream(std::uint64_t seed, int index);

/// Knuth's linear congruential generator: its upper bits are good, and only those are used.
inline std::uint64_t next_draw(std::uint64_t& stream) {
  stream = stream * 6364136223846793005U + 1442695040888963407U;
  return stream;
}

/// `duration` as the next draw has it: one multiplication, then to the nearest tick. std::llround is a call, which takes as long as all the
/// rest of a scenario's loop.
inline Ticks drawn_duration(double duration, const double* factors, std::uint64_t& stream) {
  constexpr double kHalf = 0.5;
  return static_cast<Ticks>(duration * factors[next_draw(stream) >> (64 - kFactorBits)] + kHalf);
}

/// Throws InputError: a step may take more than kMaxTicks.
[[noreturn]] void refuse_noise();
/// Throws InputError where `count` steps with `busy` ticks of work hold so great a number of pauses that they would take minutes. REQUIRES:
/// NoiseModel::Hiccup.
void require_few_pauses(const Noise& noise, double busy, int count);

/// When the rank's first pause begins; kMaxTicks where it has none. Takes a draw either way. REQUIRES: NoiseModel::Hiccup.
[[nodiscard]] Ticks first_pause(const Noise& noise, Rank rank, std::uint64_t& stream);

/// Duration of an op that starts at `start`, with the pauses that begin while it runs: each makes it longer, so that the next may fall into
/// it too. Pauses in idle time pass. `pause` is the rank's next one, before and after. REQUIRES: NoiseModel::Hiccup; starts do not go back.
inline Ticks with_pauses(const Noise& noise, Ticks start, Ticks duration, Ticks& pause) {
  if (pause < start) pause += (start - pause + noise.period - 1) / noise.period * noise.period;
  for (; duration > 0 && start + duration > pause; pause += noise.period) duration += noise.time;
  return duration;
}

}  // namespace pipeloom
