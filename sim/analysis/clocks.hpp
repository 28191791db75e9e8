#pragma once

// Offsets between the clocks of ranks, from messages in both directions: the smallest gap from a to b holds offset(b) - offset(a), that from b to a
// its negative, so that half their difference is the offset where messages take as long both ways.

#include <span>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom {

/// Two ranks that send to each other.
struct ClockPair {
  Rank a;
  Rank b;
  Ticks ahead = 0;  ///< of b before a
  Ticks slack =
      0;  ///< sum of their smallest gaps: `ahead` may be wrong by it, by half of it where it is half their difference
};

struct ClockOffsets {
  /// [rank]: how far its clock is ahead of the first rank's.
  std::vector<Ticks> offset;
  /// Largest slack of a pair that an offset is based on.
  Ticks slack = 0;
  /// Ranks that no pair ties to the first one.
  std::vector<Rank> loose;
};

/// Offsets along the tree of least slack (Kruskal's), where there are more pairs than offsets.
[[nodiscard]] ClockOffsets follow_pairs(int ranks, std::vector<ClockPair> pairs);

/// Gaps of the messages of one link.
struct ClockGap {
  Rank from;
  Rank to;
  /// The least of all of them, from when a message can have left at the earliest to when it was there at the latest, each on its own rank's clock. Below
  /// 0 it arrives before it leaves.
  Ticks least = 0;
  /// Messages about as early as the least that a rank waited for: these took a message's own time, and others came whenever the rank was ready.
  int waited = 0;
};

/// The pairs of ranks that send both ways. Half the difference of the least gaps is the offset; where ranks waited for messages one way only (twice at
/// least), these took no time beside what `least` has taken off, and the others more. O(gaps^2).
[[nodiscard]] std::vector<ClockPair> pairs_of(std::span<const ClockGap> gaps);

struct AlignedClocks {
  ClockOffsets clocks;
  Ticks early = 0;  ///< by which the worst message arrived before it left
  Ticks left = 0;   ///< by which it still does: no offsets make it 0 where clocks drift
};

/// Offsets under which no message arrives before it leaves: those of follow_pairs(), moved by as little as the other links ask for. Where no offsets do that,
/// those of follow_pairs(). O(ranks gaps).
[[nodiscard]] AlignedClocks align_clocks(int ranks, std::span<const ClockGap> gaps);

/// Largest change of any of these offsets that messages allow, as all ranks that they tie to the first one go: the larger of the changes up and
/// down. Messages that still arrive early count as if they did not. O(ranks gaps).
[[nodiscard]] Ticks spread_of_offsets(int ranks, std::span<const ClockGap> gaps,
                                      std::span<const Ticks> offset);

/// Corrections of clocks, used wherever times of several ranks are read.
struct SettledClocks {
  /// [rank]: the ticks that are taken off; all 0 unless `moved`.
  std::vector<Ticks> offset;
  bool moved = false;
  Ticks early = 0;      ///< by which the worst message arrived before it left
  Ticks left = 0;       ///< by which it does under these offsets
  Ticks uncertain = 0;  ///< spread_of_offsets(), 0 unless `moved`
};

/// The one rule: clocks are moved where messages arrive before they leave by more than `bearable`, where the offsets of align_clocks() leave less
/// than half of that, and where some offset is more than `bearable`. Elsewhere something else makes messages look early.
[[nodiscard]] SettledClocks settle_clocks(int ranks, std::span<const ClockGap> gaps, Ticks bearable);

}  // namespace pipeloom
