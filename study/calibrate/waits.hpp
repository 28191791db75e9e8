#pragma once

// What the gaps of a timeline say about messages and the clocks of ranks, when nobody says how large messages were or when they left.
//
//   start(e) = max(end(previous) + g + tau sends(previous), max over messages (end(producer) + g + tau sends(producer) + latency)) + tau receives(e)
//
// g lies between entries of a rank whatever they are (a launch), tau is what a message takes of its sender's rank and of its receiver's. Both are
// read from entries that stand back to back: their messages were there when the entry before them ended, because that was later than the
// producer's end and the smallest gap of the link. Latencies are read from entries whose rank stood idle.

#include <optional>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/cost/measured/measured_ops.hpp"
#include "study/calibrate/lost_time.hpp"

namespace pipeloom::study::calibrate {

/// What lies between entries that stand back to back, by what they are.
struct BackToBack {
  OpKind before = OpKind::Forward;  ///< the last op of the entry in front
  OpKind after = OpKind::Forward;   ///< the first op of the one behind
  int messages = 0;                 ///< sends of the one in front and receives of the one behind
  cost::DurationSample gap = {};
};

/// What messages of one link take on their way, where somebody waited for them.
struct LinkLatency {
  Rank from;
  Rank to;
  cost::DurationSample latency = {};  ///< count 0: nobody did
  Ticks most = 0;                     ///< the smallest gap of all messages: it takes no longer
  bool confirmed = true;  ///< the halves of several steps both say that it is another than most links'
};

/// How clocks of ranks stand apart.
struct ClockFit {
  bool apart = false;              ///< messages arrived before they left, so offsets were taken off
  std::vector<Ticks> offset = {};  ///< [rank]: ahead of the first rank's
  Ticks uncertain = 0;             ///< by how much an offset may be wrong
  Ticks early = 0;                 ///< by which some message arrives before it leaves all the same
  std::vector<Rank> loose = {};    ///< no messages both ways tie these to the first one
};

struct Waits {
  Ticks between = 0;    ///< g
  bool uneven = false;  ///< single gaps are so much longer that their mean is not what most of them are
  Ticks rank_time = 0;  ///< tau
  std::vector<BackToBack> back_to_back = {};
  std::vector<LinkLatency> links = {};
  std::vector<LostTime> lost = {};
  ClockFit clocks = {};
  /// [step], clocks aligned.
  std::vector<Ticks> step_times = {};
};

/// `clocks_by_step`: in every step each rank's clock begins anew. Throws InputError where times cannot have been. REQUIRES: no copies (O, L).
[[nodiscard]] Waits find_waits(const Timeline& grouped, bool clocks_by_step);

/// The latency of most links: the lower middle one of those that are known. Nothing if none is.
[[nodiscard]] std::optional<Ticks> usual_latency(const std::vector<LinkLatency>& links);

/// Those whose latency is another than `usual`: farther from it than 2 %, than `small`, and than z standard errors of its median
/// (study/calibrate/statistics.hpp); or whose smallest gap is below it. Rows with what they take; none that the second half of several steps does not confirm.
[[nodiscard]] std::vector<LinkLatency> unusual_links(const std::vector<LinkLatency>& links, Ticks usual,
                                                     Ticks small);

}  // namespace pipeloom::study::calibrate
