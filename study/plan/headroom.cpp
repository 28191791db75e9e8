#include "study/plan/headroom.hpp"

#include <algorithm>
#include <cmath>

#include <pipeloom/error.hpp>
#include "study/run/model_costs.hpp"

namespace pipeloom::study {
namespace {

constexpr const char* kLimit = "memory.limit_bytes";

Bytes without(Bytes bytes, double share) {
  return static_cast<Bytes>(std::floor(static_cast<double>(bytes) * (1 - share)));
}

/// The one limit of all ranks.
std::optional<Bytes> common(const std::optional<cost::LimitSpec>& limit) {
  if (!limit) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(limit->bytes);
  return least == most ? std::optional(least) : std::nullopt;
}

void set_limit(io::Config& workload, Bytes bytes) {
  workload.memory.limit = cost::LimitSpec{.per_rank = false, .bytes = {bytes}, .where = Where{kLimit}};
  io::mark_given(workload, kLimit);
}

}  // namespace

Room leave_headroom(io::Config& workload, std::optional<double> share) {
  std::optional<cost::LimitSpec>& limit = workload.memory.limit;
  Room out{.limit = common(limit)};
  const auto hardware = hardware_of(workload);
  const bool is_endless = !limit && workload.given.has(kLimit);
  if (hardware) {
    out.device = std::llround(hardware->memory_bytes);
    out.headroom = share.value_or(kDefaultHeadroom);
  } else if (share) {
    if (!limit)
      throw InputError(Where{"--headroom"},
                       "there is no memory to leave a share of; give --limit or --hardware");
    out.device = out.limit;
    out.headroom = *share;
  }
  if (hardware && !is_endless) {
    const Bytes most = without(*out.device, out.headroom);
    if (!limit) set_limit(workload, most);
    for (Bytes& bytes : limit->bytes) bytes = std::min(bytes, most);
  } else if (share && limit) {
    for (Bytes& bytes : limit->bytes) bytes = without(bytes, *share);
  }
  out.usable = common(limit);
  return out;
}

}  // namespace pipeloom::study
