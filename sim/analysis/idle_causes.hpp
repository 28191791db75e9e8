#pragma once

// Why a rank stood still.

#include <cstddef>
#include <string_view>
#include <vector>

#include "sim/costs.hpp"
#include "sim/timeline.hpp"

namespace pipeloom {

enum class IdleCause : unsigned char { Warmup, Cooldown, Imbalance, Transfer, Queueing, Memory };
inline constexpr std::size_t kIdleCauses = 6;
/// "warmup", "cooldown", "imbalance", "transfer", "queueing", "memory".
[[nodiscard]] std::string_view name_of(IdleCause cause);

/// Idle time of one rank, by cause.
struct IdleCauses {
  Ticks warmup = 0;
  Ticks cooldown = 0;
  Ticks imbalance = 0;
  Ticks transfer = 0;
  Ticks queueing = 0;
  Ticks memory = 0;
  [[nodiscard]] Ticks total() const { return warmup + cooldown + imbalance + transfer + queueing + memory; }
  [[nodiscard]] Ticks& of(IdleCause cause);
  [[nodiscard]] Ticks of(IdleCause cause) const;
  friend bool operator==(const IdleCauses&, const IdleCauses&) = default;
};

/// A stretch of idle time with one cause. A gap between two entries may be split into two of these: first the wait
/// for the producer, then the transfer.
struct IdleSpan {
  Ticks start = 0;
  Ticks end = 0;
  IdleCause cause = IdleCause::Imbalance;
  friend bool operator==(const IdleSpan&, const IdleSpan&) = default;
};

/// The idle spans of `rank` in the first step, from the step's first start to its last end, in time order; their
/// lengths sum exactly to the rank's idle time.
///
/// In the gap before an entry, the part between the end of its binding producer and that tensor's arrival is
/// `Transfer`. (Binding: arrives last; of several, the one whose producer ended last.) The rest is `Warmup` before
/// the rank's first entry with a B or I, `Cooldown` after its last entry with an F, else `Imbalance`. The gap after
/// the last entry is `Cooldown`.
[[nodiscard]] std::vector<IdleSpan> idle_spans(const Timeline& timeline, const Costs& costs, Rank rank);

/// The same for every rank, [rank]; much less work than rank by rank.
[[nodiscard]] std::vector<std::vector<IdleSpan>> all_idle_spans(const Timeline& timeline, const Costs& costs);

/// Sums of the above for every rank, [rank].
[[nodiscard]] std::vector<IdleCauses> idle_causes(const Timeline& timeline, const Costs& costs);

/// What one walk over a rank's entries finds.
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

}  // namespace pipeloom
