#pragma once

// How far the clocks of the ranks of measured steps stand apart (sim/analysis/clocks.hpp), as far as an explanation asks.

#include <vector>

#include <pipeloom/units.hpp>
#include "sim/analysis/clocks.hpp"
#include "study/explain/model.hpp"
#include "study/explain/waits.hpp"

namespace pipeloom::study::explain {

struct Clocks : ClockOffsets {
  /// Messages arrive before they leave, so that the clocks cannot be one; or whoever asked knows that they are not. Where it is not set all offsets are 0.
  bool apart = false;
  /// By how much messages allow an offset to be another.
  Ticks uncertain = 0;
};

/// `steps` as the files have them; `rank_time` is what a message takes of a rank. Where somebody waited for messages one way only, these
/// took what is predicted, and the others more: half of the difference would make a slow link of ranks that are busy. Whether clocks are apart is settle_clocks()'s to say
/// (sim/analysis/clocks.hpp). `known_apart`: clocks are not one, whatever messages say.
[[nodiscard]] Clocks find_clocks(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                                 Ticks rank_time, bool known_apart = false);

/// Whether links, [link] what each adds to the predicted latency, are faster one way than a message can be by more than `small`, and slower the other way by as much: the time that
/// messages take of ranks hid that the clocks are not one.
[[nodiscard]] bool are_apart(const Wiring& wiring, const std::vector<Ticks>& added, Ticks small);

/// Takes the offsets off, and lets every step begin at 0.
void align(const Wiring& wiring, const Clocks& clocks, std::vector<MeasuredStep>& steps);

}  // namespace pipeloom::study::explain
