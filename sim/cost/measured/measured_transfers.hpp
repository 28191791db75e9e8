#pragma once

// Links from measured messages: how long they took, and the line through their sizes. Whoever sends messages itself, and knows when
// each was posted and there, says this; of a timeline alone study/calibrate/waits.hpp reads what it can.
//
//     first post         both posted          tensor leaves         it is there
//         |--- idle of one end ---|---- overhead -----|----- transfer -----|
//         |------------------ waiting ----------------|
//
//   waiting    started - min(sent, received)
//   overhead   started - max(sent, received): the word that the receive is posted is under way, or a message in front of it in a queue
//   transfer   done - started

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>
#include "sim/cost/measured/measured_ops.hpp"

namespace pipeloom::cost {

/// transfer = latency + bytes / bandwidth.
struct LinkFit {
  Ticks latency = 0;
  /// Nothing where all messages have one size, or larger ones did not take longer (a link of more than 1e15 bit/s): then all of a transfer
  /// is latency.
  std::optional<double> bits_per_second;
};

/// One message: how large it is, and how long its transfer took.
struct TransferPoint {
  std::size_t bytes = 0;
  Ticks transfer = 0;
};

/// The line through the medians of each size whose slope is the median of the slopes between any two of them (Theil 1950, Sen 1968), which
/// a quarter of wild medians does not move; its latency is the median of what is left. A latency below 0 is none, and the slope
/// then the median of transfer / bytes. REQUIRES: at least one point. O(points + sizes^2).
[[nodiscard]] LinkFit fit_link(std::span<const TransferPoint> points);

struct MeasuredTransfers {
  struct Samples {
    DurationSample waiting;
    DurationSample overhead;
    DurationSample transfer;
  };
  /// The latency that a rank sees while it waits for a message; of all messages where none did.
  struct Link {
    LinkFit fit;            ///< of their transfers
    Ticks overhead = 0;     ///< median
    std::size_t bytes = 0;  ///< of a microbatch, median
    /// The latency of a transfer: from the end of the producer until the consumer may start.
    [[nodiscard]] Ticks latency() const { return fit.latency + overhead; }
  };
  struct Pair {
    Rank from;
    Rank to;
    Samples samples;
    std::optional<Link> link = {};  ///< as below, of its messages
  };
  Samples all;
  std::vector<Pair> pairs;   ///< ranks between which there are messages, by sender, then receiver
  std::optional<Link> link;  ///< nothing without messages
};

}  // namespace pipeloom::cost
