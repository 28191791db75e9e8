#pragma once

// Causes of a rank's idle time.

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/base/tick_sum.hpp"

namespace pipeloom {

/// The idle spans of `rank` in the first step, from the step's first start to its last end, in time order; their
/// lengths sum exactly to the rank's idle time.
///
/// In the gap before an entry, the part between the end of its binding producer and that tensor's arrival is
/// `Transfer`. (Binding: arrives last; of several, the one whose producer ended last.) The rest is `Warmup` before
/// the rank's first entry with a B or I, `Cooldown` after its last entry with an F, else `Imbalance`. The gap after
/// the last entry is `Cooldown`. Of measured times the same is asked under costs that predicted them: what passes between the
/// predicted arrival and a later start is the phase's too.
[[nodiscard]] std::vector<IdleSpan> idle_spans(const Timeline& timeline, const Costs& costs, Rank rank);

/// The same for every rank, [rank]; much less work than rank by rank.
[[nodiscard]] std::vector<std::vector<IdleSpan>> all_idle_spans(const Timeline& timeline, const Costs& costs);

/// Sums of the above for every rank, [rank].
[[nodiscard]] std::vector<IdleCauses> idle_causes(const Timeline& timeline, const Costs& costs);

/// Results of one walk over a rank's entries.
struct RankTimes {
  /// Sum of entry durations; a group counts once, copies run beside.
  Ticks busy = 0;
  /// First start and last end, copies included.
  Span window;
  IdleCauses idle;
};

struct StepTimes {
  Span whole;                    ///< over all ranks, as span_of()
  std::vector<RankTimes> ranks;  ///< [rank]
};

/// The first step of every rank, each op read once. Without costs no gap is named: `idle` stays 0.
[[nodiscard]] StepTimes walk_ranks(const Timeline& timeline, const Costs* costs);

// Idle time of many ranks, by cause.

/// IdleCauses summed over ranks, exactly.
class CauseSums {
 public:
  CauseSums() = default;
  CauseSums(const IdleCauses& one) { *this += one; }  // NOLINT(google-explicit-constructor)

  CauseSums& operator+=(const IdleCauses& one) {
    for (std::size_t i = 0; i < kIdleCauses; ++i) sums_[i] += one.of(static_cast<IdleCause>(i));
    return *this;
  }
  [[nodiscard]] TickSum& of(IdleCause cause) { return sums_[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] TickSum of(IdleCause cause) const { return sums_[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] TickSum total() const {
    TickSum total;
    for (const TickSum sum : sums_) total += sum;
    return total;
  }
  friend bool operator==(const CauseSums&, const CauseSums&) = default;

 private:
  std::array<TickSum, kIdleCauses> sums_;
};

}  // namespace pipeloom
