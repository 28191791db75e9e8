#pragma once

// Writes one rank's queue by naming what comes next, not which microbatch: each lane counts its own.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <pipeloom/schedule.hpp>

namespace pipeloom::schedules {

/// A lane of a rank: one of its stages with the microbatches that run through it, `first`, `first + 1`, ...
/// in this order for every kind. A rank of a V schedule has two lanes (its chunks), one of DualPipe two (its
/// directions).
struct Lane {
  Stage stage;
  Microbatch first = Microbatch(0);
};

/// The pending W of a rank that leaves first.
enum class WeightOrder {
  Inputs,        ///< that of the oldest I
  Lanes,         ///< lane 0's, then by microbatch
  Microbatches,  ///< the lane's earliest microbatch, lane 0's of two
};

/// Appends ops to a ScheduleBuilder, whose begin_rank() was called for this rank.
///
/// B and I share a counter per lane: a lane's backwards come in microbatch order, whole or split. Every I
/// queues a W; the W's of a rank leave first in, first out over all lanes, unless order_weights() says otherwise.
class QueueBuilder {
 public:
  QueueBuilder(ScheduleBuilder& out, std::array<Lane, 2> lanes) : out_(&out), lanes_(lanes) {}

  void forward(std::size_t lane) { out_->add(next_forward(lane)); }
  void backward(std::size_t lane) { out_->add(next_backward(OpKind::Backward, lane)); }
  /// Appends I now; its W follows when backward_weight() reaches it.
  void backward_input(std::size_t lane) {
    const Op op = next_backward(OpKind::BackwardInput, lane);
    out_->add(op);
    pending_weights_.push_back(pipeloom::backward_weight(op.stage(), op.microbatch()));
  }
  void order_weights(WeightOrder order) { weight_order_ = order; }
  [[nodiscard]] bool has_weights() const { return weights_done_ < pending_weights_.size(); }
  /// The pending W whose turn it is, the oldest by default. REQUIRES: there is one.
  void backward_weight() {
    const auto pending = pending_weights_.begin() + static_cast<std::ptrdiff_t>(weights_done_++);
    if (weight_order_ != WeightOrder::Inputs)
      std::iter_swap(pending, std::min_element(pending, pending_weights_.end(),
                                               [&](Op a, Op b) { return weight_key(a) < weight_key(b); }));
    out_->add(*pending);
  }
  /// F of one lane and B of the other, overlapped.
  void pair(std::size_t forward_lane, std::size_t backward_lane) {
    const Op forward = next_forward(forward_lane);
    out_->add_pair(forward, next_backward(OpKind::Backward, backward_lane));
  }

 private:
  [[nodiscard]] Op next_forward(std::size_t lane) {
    return {OpKind::Forward, lanes_[lane].stage, lanes_[lane].first + forwards_[lane]++};
  }
  [[nodiscard]] Op next_backward(OpKind kind, std::size_t lane) {
    return {kind, lanes_[lane].stage, lanes_[lane].first + backwards_[lane]++};
  }

  [[nodiscard]] std::pair<int, int> weight_key(Op op) const {
    const int lane = op.stage() == lanes_[0].stage ? 0 : 1;
    return weight_order_ == WeightOrder::Lanes ? std::pair(lane, op.microbatch().value())
                                               : std::pair(op.microbatch().value(), lane);
  }

  ScheduleBuilder* out_;
  std::array<Lane, 2> lanes_;
  std::array<int, 2> forwards_ = {};
  std::array<int, 2> backwards_ = {};
  std::vector<Op> pending_weights_;
  std::size_t weights_done_ = 0;
  WeightOrder weight_order_ = WeightOrder::Inputs;
};

/// Number of ops of the given kinds for every (stage, microbatch), for ScheduleBuilder::reserve.
[[nodiscard]] inline std::size_t op_count(int stages, int microbatches, int kinds) {
  return static_cast<std::size_t>(stages) * static_cast<std::size_t>(microbatches) *
         static_cast<std::size_t>(kinds);
}

}  // namespace pipeloom::schedules
