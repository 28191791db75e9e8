#pragma once

// Idle time of many ranks, by cause.

#include <array>
#include <cstddef>

#include <pipeloom/metrics.hpp>
#include "sim/base/tick_sum.hpp"

namespace pipeloom {

/// IdleCauses summed over ranks, exactly.
class CauseSums {
 public:
  CauseSums() = default;
  CauseSums(const IdleCauses& one) { *this += one; }  // NOLINT(google-explicit-constructor)

  CauseSums& operator+=(const IdleCauses& one) {
    for (std::size_t i = 0; i < kIdleCauses; ++i) sums_[i] += one.of(static_cast<IdleCause>(i));
    return *this;
  }
  [[nodiscard]] TickSum& of(IdleCause cause) { return sums_[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] TickSum of(IdleCause cause) const { return sums_[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] TickSum total() const {
    TickSum total;
    for (const TickSum sum : sums_) total += sum;
    return total;
  }
  friend bool operator==(const CauseSums&, const CauseSums&) = default;

 private:
  std::array<TickSum, kIdleCauses> sums_;
};

}  // namespace pipeloom
