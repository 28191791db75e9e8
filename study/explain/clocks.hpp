#pragma once

// How far the clocks of ranks stand apart, from messages in both directions: gap(a to b) holds offset(b) - offset(a), gap(b to a) its
// negative, so that half their difference is the offset where latencies are the same both ways.

#include <span>
#include <vector>

#include <pipeloom/units.hpp>
#include "study/explain/model.hpp"
#include "study/explain/waits.hpp"

namespace pipeloom::study::explain {

struct Clocks {
  /// Messages arrive before they leave, so that the clocks cannot be one; or whoever asked knows that they are not.
  bool apart = false;
  /// [rank]: what its clock is ahead of the first rank's; all 0 where `apart` is not set.
  std::vector<Ticks> offset;
  /// Largest sum of a pair's two smallest gaps that an offset stands on: it may be wrong by half of that.
  Ticks slack = 0;
  /// Ranks that no message pair ties to the first one.
  std::vector<Rank> loose;
};

/// `steps` as the files have them; `rank_time` is what a message takes of a rank. Where somebody waited for messages one way only, these
/// took what is predicted, and the others more: half of the difference would make a slow link of ranks that are busy. `known_apart`: clocks
/// are not one, whatever messages say.
[[nodiscard]] Clocks find_clocks(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                                 Ticks rank_time, bool known_apart = false);

/// Takes the offsets off, and lets every step begin at 0.
void align(const Wiring& wiring, const Clocks& clocks, std::vector<MeasuredStep>& steps);

}  // namespace pipeloom::study::explain
