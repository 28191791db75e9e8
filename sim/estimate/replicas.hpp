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
[[nodiscard]] inline Replicas replicas_of(const Setting& setting, int data) {
  const model::Split& split = setting.split;
  const int dense = data * split.context * setting.copies;
  return {.dense = dense, .experts = std::max(1, dense * split.tensor / split.expert)};
}
[[nodiscard]] inline Replicas replicas_of(const Setting& setting) {
  return replicas_of(setting, setting.split.data);
}

/// Of these, the ranks that share out what ZeRO says: those of one group of Split::shards.
[[nodiscard]] inline Replicas shards_of(const Setting& setting) {
  const model::Split& split = setting.split;
  return replicas_of(setting, split.shards > 0 ? split.shards : split.data);
}

}  // namespace pipeloom::estimate
