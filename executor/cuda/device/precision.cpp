#include "executor/cuda/device/precision.hpp"

#include <fmt/format.h>

#include <pipeloom/error.hpp>

namespace pipeloom::executor::cuda {

void require_possible_on_device(const LayersConfig& config, const PipelineSizes& sizes, Precision precision) {
  require_possible(config, sizes);
  if (config.heads > 0)
    throw InputError(
        fmt::format("layers: heads is {}; the cuda back end has no attention, so it must be 0, or "
                    "run on the cpu back end",
                    config.heads));
  constexpr std::int64_t kMostBlocks = 256 - 6;
  const std::int64_t blocks = static_cast<std::int64_t>(sizes.stages) * config.blocks;
  if (config.arithmetic == Arithmetic::Integer && precision == Precision::Bf16 && blocks > kMostBlocks)
    throw InputError(
        fmt::format("integer layers: {} blocks in all; in bf16 at most {} are exact, take fewer "
                    "stages or blocks, or fp32",
                    blocks, kMostBlocks));
}

}  // namespace pipeloom::executor::cuda
