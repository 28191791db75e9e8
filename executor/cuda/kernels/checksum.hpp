#pragma once

// Checksums of tensors where they are.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace pipeloom::executor::cuda {

/// Queues the sum of the bits of `bytes` bytes into `*sum`, which may be pinned memory of the host: sum over 16-bit words w_i of w_i (2 i +
/// 1) modulo 2^64. Integers, so the order of adding does not matter; any single damaged word changes it, since 2 i + 1 is odd.
/// REQUIRES: `scratch` has 8 bytes on the device; bytes is even.
void queue_checksum(const void* data, std::size_t bytes, std::uint64_t* scratch, std::uint64_t* sum,
                    cudaStream_t stream);

}  // namespace pipeloom::executor::cuda
