#pragma once

// Work, bytes and FLOPs of a layer that was counted. All of it grows with the samples of a microbatch; other sequences and ranks that share a layer
// are refused by check().

#include <vector>

#include "sim/model/tensors.hpp"
#include "sim/model/work.hpp"

namespace pipeloom::model {

[[nodiscard]] Work counted_work(const Counted& counted, const Split& split);

/// Bytes until I and until W; with full recomputation the input alone.
[[nodiscard]] std::vector<KeptTensor> counted_tensors(const Counted& counted, const Split& split,
                                                      Recomputation recomputation);
[[nodiscard]] KeptTensor counted_gradients(const Counted& counted, const Split& split);

/// Forward, of a sample. `full_square`: every query sees every key.
[[nodiscard]] double counted_flops(const Counted& counted, bool full_square);

}  // namespace pipeloom::model
