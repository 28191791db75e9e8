#pragma once

// Checks that a framework's own order is the planned one. A framework is told a word and makes the order by rules of its own, so that the word
// is usable only if that order is the planned one, op by op.

#include <optional>
#include <string>

#include "study/targets/deployment.hpp"
#include "study/targets/target.hpp"

namespace pipeloom::study {

/// An own order that is the planned one.
struct RunsAs {
  const OwnOrder* order = nullptr;
  int group_size = 0;  ///< N of Megatron-LM's interleaved orders, else 0
};

/// The target's own order that is the deployment's, apart from ops that options add (R, O, L); nullopt if none is. O(ops) for each
/// own order that takes its number of chunks.
[[nodiscard]] std::optional<RunsAs> own_order_of(const Target& target, const Deployment& deployment);

/// Why there is none: the size that the target's order of this schedule refuses, or that it makes another one.
[[nodiscard]] std::string own_order_refusal(const Target& target, const Deployment& deployment);

}  // namespace pipeloom::study
