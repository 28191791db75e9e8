#pragma once

// The type that activations and weights have on a GPU, and the layers that a GPU takes.

#include <cstddef>
#include <cstdint>

#include "executor/layers/model.hpp"

namespace pipeloom::executor::cuda {

/// The type of activations and weights; gradients of weights, losses and sums are always fp32.
enum class Precision : std::uint8_t { Fp32, Bf16 };
[[nodiscard]] constexpr std::size_t bytes_of(Precision precision) {
  return precision == Precision::Fp32 ? 4 : 2;
}

/// Throws InputError as require_possible() does, and where the layers have attention, or integers would not be exact: after L blocks
/// numbers reach 6 + L (executor/layers/model.hpp), and bf16 counts to 256.
void require_possible_on_device(const LayersConfig& config, const PipelineSizes& sizes, Precision precision);

}  // namespace pipeloom::executor::cuda
