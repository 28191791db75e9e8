#pragma once

// Distances between the ranks of a group: devices are numbered as Split::order says, so that groups of nearer ranks fit into a node.

#include <cstdint>

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// Devices from one rank of the group to its next. Degrees that model::check() takes do not overflow.
struct Strides {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t dense = 1;     ///< of the replicas of dense parameters: context and data ranks
  std::int64_t replicas = 1;  ///< of the replicas of experts
  std::int64_t pipeline = 1;
};

[[nodiscard]] inline Strides strides_of(const Split& split) {
  const std::int64_t inside = split.order == DeviceOrder::PipelineFirst ? split.pipeline : 1;
  const std::int64_t cut = inside * split.tensor;
  // Replicas of dense parameters begin with the context's ranks, which are before the pipeline's in all orders.
  Strides out{inside, cut, inside, cut, inside * split.expert, 1};
  if (split.order == DeviceOrder::PipelineLast) out.pipeline = cut * split.context * split.data;
  if (split.order == DeviceOrder::DataLast) {
    out.pipeline = cut * split.context;
    if (split.context == 1) out.dense = out.pipeline * split.pipeline;
    out.replicas = out.pipeline * split.pipeline;
  }
  return out;
}

}  // namespace pipeloom::model
