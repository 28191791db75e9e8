#pragma once

// Numbers as a device holds them, and the formulas of a block (executor/layers/block.hpp) for one of them: compiled for the device by nvcc and for
// the host by any compiler, so that tests without a device run the very same functions.

#include <cmath>
#include <cstdint>

#include "executor/layers/block.hpp"

/// Precedes every function that kernels call.
#ifdef __CUDACC__
#define PIPELOOM_HOST_DEVICE __host__ __device__
#else
#define PIPELOOM_HOST_DEVICE
#endif

namespace pipeloom::executor::cuda {

/// The upper half of a float: 8 significant bits, so integers up to 256 are exact. Lies in memory as cuBLAS's CUDA_R_16BF.
struct Bf16 {
  std::uint16_t bits = 0;
};

PIPELOOM_HOST_DEVICE inline float widened(float value) {
  return value;
}
PIPELOOM_HOST_DEVICE inline float widened(Bf16 value) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(value.bits) << 16);
}

/// The nearest T; of two as near, the even one. NaN stays NaN.
template <class T>
PIPELOOM_HOST_DEVICE T narrowed(float value);
template <>
PIPELOOM_HOST_DEVICE inline float narrowed<float>(float value) {
  return value;
}
template <>
PIPELOOM_HOST_DEVICE inline Bf16 narrowed<Bf16>(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  if ((bits & 0x7FFFFFFFU) > kInfinity) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  const std::uint32_t half = 0x7FFFU + ((bits >> 16) & 1U);
  return {static_cast<std::uint16_t>((bits + half) >> 16)};
}

/// Phi(h) of the normal distribution.
PIPELOOM_HOST_DEVICE inline float normal_distribution(float h) {
  constexpr float kHalfRoot = 0.70710678F;  // 1 / sqrt(2)
  return 0.5F * (1.0F + std::erf(h * kHalfRoot));
}

/// GeLU(h) = h Phi(h), or max(h, 0).
PIPELOOM_HOST_DEVICE inline float activation(Arithmetic arithmetic, float h) {
  if (arithmetic == Arithmetic::Integer) return h > 0.0F ? h : 0.0F;
  return h * normal_distribution(h);
}

/// GeLU'(h) = Phi(h) + h phi(h), or 1 where h > 0 and else 0.
PIPELOOM_HOST_DEVICE inline float activation_slope(Arithmetic arithmetic, float h) {
  if (arithmetic == Arithmetic::Integer) return h > 0.0F ? 1.0F : 0.0F;
  constexpr float kDensityAtZero = 0.39894228F;  // 1 / sqrt(2 pi)
  return normal_distribution(h) + h * kDensityAtZero * std::exp(-0.5F * h * h);
}

}  // namespace pipeloom::executor::cuda
