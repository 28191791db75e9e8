#pragma once

// Numbers of ranks that hold the same parameters.

#include <algorithm>

#include "sim/estimate/estimate.hpp"

namespace pipeloom::estimate {

/// Ranks that share out, or sum up, the parameters that all of them hold alike.
struct Replicas {
  int dense = 1;
  int experts = 1;
};
/// Dense ones are held alike over replicas and context, experts over the rest of a stage's ranks.
[[nodiscard]] inline Replicas replicas_of(const Setting& setting) {
  const model::Split& split = setting.split;
  const int dense = split.data * split.context * setting.copies;
  return {.dense = dense, .experts = std::max(1, dense * split.tensor / split.expert)};
}

}  // namespace pipeloom::estimate
