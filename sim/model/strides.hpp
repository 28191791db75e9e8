#pragma once

// Distances between the ranks of a group: devices are numbered as Split::order says, so that groups of nearer ranks fit into a node.

#include "sim/model/model.hpp"

namespace pipeloom::model {

/// Devices from one rank of the group to its next.
struct Strides {
  int tensor = 1;
  int context = 1;
  int expert = 1;
  int dense = 1;     ///< of the replicas of dense parameters: context and data ranks
  int replicas = 1;  ///< of the replicas of experts
  int pipeline = 1;
};

[[nodiscard]] inline Strides strides_of(const Split& split) {
  const int inside = split.order == DeviceOrder::PipelineFirst ? split.pipeline : 1;
  const int cut = inside * split.tensor;
  // Replicas of dense parameters begin with the context's ranks, which are before the pipeline's in all orders.
  Strides out{inside, cut, inside, cut, inside * split.expert, 1};
  if (split.order == DeviceOrder::PipelineLast) out.pipeline = split.tensor * split.context * split.data;
  if (split.order == DeviceOrder::DataLast) {
    out.pipeline = split.tensor * split.context;
    if (split.context == 1) out.dense = out.pipeline * split.pipeline;
    out.replicas = out.pipeline * split.pipeline;
  }
  return out;
}

}  // namespace pipeloom::model
