#pragma once

// The same model without a pipeline, on the same device: the reference for gradients in floating point there. A GPU's products round
// otherwise than a CPU's, but every stage of the two runs on the GPU sees the same numbers bit for bit, so Reference::tolerance()
// (executor/layers/gradient_check.hpp) holds between them.

#include <pipeloom/schedule.hpp>
#include "executor/layers/gradient_check.hpp"
#include "executor/layers/model.hpp"

namespace pipeloom::executor::cuda {

/// All stages on one rank: every microbatch, slice by slice, forward through all of them and back. Its queue is in the order to run it.
[[nodiscard]] Schedule serial_schedule(const PipelineSizes& sizes);

/// `reference` with the gradients and losses of a serial run on the device in place of its own. Its magnitudes stay, which are those of the
/// CPU's tensors: the device's are off by rounding, in bf16 by some 2^-8 of them, and so is the tolerance.
[[nodiscard]] Reference with_gradients(Reference reference, Gradients serial);

}  // namespace pipeloom::executor::cuda
