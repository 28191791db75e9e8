#pragma once

// Messages between ranks, for the models in which they may have to queue.
//
// Under the `latency` model the arrival of a tensor is a table look-up, and the cursor engine needs no clock. Where messages share
// links, the event engine (tests/support/event_engine.hpp) provides the time order and leaves every decision to a Network.

#include <pipeloom/costs.hpp>
#include <pipeloom/op.hpp>

namespace pipeloom {

/// A tensor that leaves a rank for another.
struct Message {
  Op producer;
  Slot from;
  Slot to;
  Rank from_rank;
  Rank to_rank;
};

/// Decides when messages arrive.
class Network {
 public:
  virtual ~Network() = default;
  /// The message is handed over at `now`; returns its arrival, not before `now`. Called in time order, at equal times in
  /// a fixed order (ranks that ended first, then by sequence of their start).
  virtual Ticks post(const Message& message, Ticks now) = 0;
};

/// The `latency` model: every message arrives after the delay of its hop, whatever else is under way.
class LatencyNetwork final : public Network {
 public:
  /// `costs` must outlive the network.
  explicit LatencyNetwork(const Costs& costs) : costs_(&costs) {}
  Ticks post(const Message& message, Ticks now) override;

 private:
  const Costs* costs_;
};

}  // namespace pipeloom
