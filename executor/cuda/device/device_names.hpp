#pragma once

// What GPUs this machine shows, in words.

#include <string>

namespace pipeloom::executor::cuda {

/// "NVIDIA H200, 139.8 GiB, sm 90; CUDA 13.0, NCCL 2.28.9", with "2 x " where several are alike, or "no CUDA device: .." with the reason.
[[nodiscard]] std::string device_names();

}  // namespace pipeloom::executor::cuda
