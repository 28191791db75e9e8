#pragma once

// The rows of executor/cuda/kernels/kernels.hpp on the host.

#include <array>
#include <cstddef>

#include "executor/cuda/kernels/kernels.hpp"

namespace pipeloom::executor::cuda {

/// The team on a CPU: one lane after another, adding in the order that a warp does.
struct HostTeam {
  template <class Fn>
  void each(std::size_t count, Fn fn) const {
    for (std::size_t j = 0; j < count; ++j) fn(j);
  }
  template <class Fn>
  auto sum(std::size_t count, Fn fn) const {
    std::array<decltype(fn(std::size_t{0})), kLanes> lanes{};
    for (std::size_t j = 0; j < count; ++j) lanes[j % kLanes] += fn(j);
    for (std::size_t apart = kLanes / 2; apart > 0; apart /= 2)
      for (std::size_t lane = 0; lane < apart; ++lane) lanes[lane] += lanes[lane + apart];
    return lanes[0];
  }
};

}  // namespace pipeloom::executor::cuda
