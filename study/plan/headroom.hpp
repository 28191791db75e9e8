#pragma once

// What ranks may hold: the limit, and never the share of the device that stays free.
//
//   hardware known   the lesser of memory.limit_bytes and (1 - share) x its memory; the share is kDefaultHeadroom where nobody says one
//   no hardware      memory.limit_bytes as it is, and (1 - share) of it where somebody says a share: the limit is the device's memory then
//   limit null       no limit, whatever the device has

#include <optional>

#include "sim/io/config/config.hpp"

namespace pipeloom::study {

/// Of a device's memory: caching allocators were measured to take 2 to 9 % more than the tensors in them, 5 % in the median (docs/estimate.md), and
/// NCCL's buffers come on top.
inline constexpr double kDefaultHeadroom = 0.05;

struct Room {
  double headroom = 0;               ///< share of `device` that stays free; 0 where no device is known
  std::optional<Bytes> device = {};  ///< memory of the device, or the limit where that stands for it
  std::optional<Bytes> limit = {};   ///< that the workload states for all ranks
  std::optional<Bytes> usable =
      {};  ///< what every rank may hold; nothing without a limit, and where ranks differ
};

/// Sets the workload's limit to what may be held. `share`: 0 up to 1, nothing for the default. Throws InputError at --headroom where there is no memory
/// to leave a share of, and at costs.hardware for a name that no device has.
[[nodiscard]] Room leave_headroom(io::Config& workload, std::optional<double> share);

}  // namespace pipeloom::study
