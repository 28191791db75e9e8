#pragma once

// What messages take: of ranks (tau), on links, and pauses that nothing explains.

#include <optional>
#include <vector>

#include <pipeloom/units.hpp>
#include "study/explain/model.hpp"

namespace pipeloom::study::explain {

/// A measured step, aligned, in its own order.
struct MeasuredStep {
  Times times;
  Order order;
  bool reordered = false;     ///< some rank's order is not the predicted one
  std::vector<Rank> ranks{};  ///< those
};

/// Latency on top of the predicted one.
struct LinkCause {
  std::optional<Link> link;  ///< none: all
  bool both_ways = false;
  Ticks added = 0;
  double sd = 0;  ///< of `added`, ticks
};

/// Gaps between entries of one rank that waited for nothing.
struct RankGaps {
  bool paused = false;  ///< most entries have one
  double mean = 0;      ///< ticks, without single large ones; 0 unless `paused`
  Ticks most = 0;       ///< a rank that is idle for longer waits for something, or was stopped
};

struct WaitFindings {
  Ticks rank_time = 0;
  std::vector<LinkCause> links;
  std::vector<double> jitter = {};     ///< [link]: how far single latencies spread, as a part of them
  std::vector<Ticks> after_wait = {};  ///< [rank]: what it pauses after a wait as well as between entries
};

/// An entry's usual time: the scale that small and large are measured with.
[[nodiscard]] Ticks usual_time(const std::vector<MeasuredStep>& steps);

/// Less is no time of a message: 0.2 % of that.
[[nodiscard]] Ticks small_wait(const std::vector<MeasuredStep>& steps);

/// The link of the other direction; the number of links if there is none.
[[nodiscard]] std::size_t opposite(const Wiring& wiring, std::size_t link);

/// The time that a message takes of a rank: the smallest gaps between entries that stand back to back. `rank_time` is the predicted one;
/// what the predicted times have besides (ranks that block) is taken off.
[[nodiscard]] Ticks find_rank_time(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                                   const std::vector<MeasuredStep>& predicted, Ticks rank_time);

/// Latencies that differ from the predicted ones, from messages that somebody waited for: for longer than ranks pause without, as `gaps`, by rank,
/// have it. `base` is what the prediction waits besides. Sets `links`, `jitter` and `after_wait`.
void find_links(const Wiring& wiring, const Residuals& base, const std::vector<MeasuredStep>& steps,
                const std::vector<RankGaps>& gaps, WaitFindings& waits);

/// [link]: what these add.
[[nodiscard]] std::vector<Ticks> added_of(const Wiring& wiring, const std::vector<LinkCause>& causes,
                                          std::uint64_t on);

}  // namespace pipeloom::study::explain
