#pragma once

// Facts about layers that the simulator needs to predict their memory.

#include <optional>

#include "executor/layers/model.hpp"
#include "sim/memory.hpp"

namespace pipeloom::executor {

/// Bytes that passes of real layers keep between ops (RankWork::peak_bytes() counts them), as a memory model: measure_memory() with it gives
/// the peaks of activations that a run measures, exactly. Nothing else is in it: no weights, no messages.
///
/// Numbers per row and block, with width w and hidden size d (executor/layers/block.hpp); a number has 4 bytes:
///
///   kept             Float                                      Integer
///   from F           xhat, n: 2 w;  1/deviation: 1;  h, g: 2 d  n: w;  h, g: 2 d
///   from I to W      xhat, n, e, dn: 4 w;  g, dh: 2 d           n, e: 2 w;  g, dh: 2 d
///
/// Attention (executor/layers/attention.hpp) with a heads over r rows adds
///
///   from F           xhat, n, q, k, v, o: 6 w;  1/deviation: 1;  P: a r
///   from I to W      xhat, n, dn, o, e, dq, dk, dv: 8 w
///
/// and per row of a stage: x from F to R where there is one, w; on the last stage the gradient of the loss from F or R to B or I, w. Without
/// much attention I keeps more than it frees: released_at_input is then negative.
///
/// No value for attention over slices: their shares are not those of one whole. None for copies either (O, L): the memory held
/// at the same time depends on moments that no timeline has. And none for forwards alone, after which nothing is kept.
[[nodiscard]] std::optional<MemoryModel> layer_memory(const LayersConfig& config, const Schedule& schedule);

}  // namespace pipeloom::executor
