#pragma once

// Where order depends on contention: the network as a participant, asked one message at a time.
//
// Under the `latency` model the arrival of a tensor is a table look-up and the cursor engine needs no clock. Models in
// which messages queue (links, matched groups) need events in time order. EventEngine provides that order and leaves
// every decision about messages to a Network.

#include <cstdint>
#include <functional>

#include "sim/costs.hpp"
#include "sim/op.hpp"

namespace pipeloom {

enum class TransferModel : std::uint8_t { Latency };
/// "latency".
[[nodiscard]] std::string_view name_of(TransferModel model);

/// A tensor that leaves a rank: the output of `producer` for the op on `consumer_slot`.
struct Message {
  Op producer;
  Slot from;
  Slot to;
  Rank from_rank;
  Rank to_rank;
};

/// Decides when messages arrive. post() is called in time order, ties in a fixed order; it returns the arrival time, not
/// before `now`.
class Network {
 public:
  virtual ~Network() = default;
  virtual Ticks post(const Message& message, Ticks now) = 0;
};

/// The `latency` model as a Network: now + the delay of the hop. Lets the event engine be compared with the cursors.
class LatencyNetwork final : public Network {
 public:
  explicit LatencyNetwork(const Costs& costs) : costs_(&costs) {}
  Ticks post(const Message& message, Ticks now) override;

 private:
  const Costs* costs_;
};

}  // namespace pipeloom
