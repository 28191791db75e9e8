#pragma once

// Messages of a trace: sends paired with their receives, and the clocks of ranks set by them.

#include <cstdint>
#include <string>
#include <vector>

#include <pipeloom/simulate.hpp>
#include "sim/io/traces/trace.hpp"

namespace pipeloom::io {

/// A message as both of its ranks saw it, in times of the timeline.
struct TracedMessage {
  std::int32_t step = 0;
  std::size_t producer = 0;  ///< op index
  std::size_t consumer = 0;  ///< op index
  Rank from;
  Rank to;
  bool is_gradient = false;
  Span send;     ///< the wait for the other side included
  Span receive;  ///< the wait for the other side included

  /// While it can have been under way: both sides are at it, or, where one was left alone, from the send to the end of the receive.
  [[nodiscard]] Span under_way() const;
};

/// How times of a trace became those of the timeline.
struct TraceOrigin {
  std::vector<const RankTrace*> ranks;  ///< [rank]
  std::vector<std::int32_t> marks;      ///< [step]: its mark, kUnknown where it has none
  std::vector<Ticks> offset;            ///< [step]: what was added
};

struct PairedMessages {
  /// By consumer within a step.
  std::vector<TracedMessage> messages;
  /// Sides whose other side is not there, in the steps of the timeline.
  std::size_t alone = 0;
};

/// Pairs the send of an op's result with the receive of the op that wants it. O((ops + messages) log ops).
[[nodiscard]] PairedMessages pair_messages(const Timeline& timeline, const TraceOrigin& origin);

/// What times of ops say about messages, op by op of a timeline's schedule.
struct WaitsInside {
  /// [op]: its range may hold its wait, so that its message was there when it ended at the latest.
  std::vector<bool> unknown;
  /// [op]: it may have ended long before its range does.
  std::vector<bool> of_next;
};

/// What was done about clocks.
struct ClocksSet {
  /// By how much they stood apart, and what is left; "" where they agree within a percent of an op.
  std::string line = {};
  /// [rank]: what was taken off; of the last step that was set where each has clocks of its own. Empty: nothing.
  std::vector<Ticks> offset = {};
  Ticks uncertain = 0;
};

/// Sets the clocks right where messages arrive before they leave (settle_clocks() of sim/analysis/clocks.hpp): those of `messages`, and the tensors that
/// ops wait for. Times of single steps where `has_step_clocks`; times stay where no offsets make it better.
ClocksSet align_by_messages(Timeline& timeline, std::vector<TracedMessage>& messages,
                            const WaitsInside& waits, bool has_step_clocks,
                            const std::vector<std::int32_t>& ranks);

}  // namespace pipeloom::io
