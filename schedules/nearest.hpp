#pragma once

// Values to try instead of a refused one.

#include <functional>
#include <string>
#include <vector>

namespace pipeloom::schedules {

/// Both ends included.
struct Interval {
  int low = 1;
  int high = 1;
};

/// The legal values nearest to `value` below and above it (either may be missing), ascending. Linear in the
/// distance, at most 1024 values on either side.
[[nodiscard]] std::vector<int> nearest(int value, Interval interval, const std::function<bool(int)>& legal);

/// "; try 4, 6 or 8", or "" for no values.
[[nodiscard]] std::string try_text(const std::vector<int>& values);

}  // namespace pipeloom::schedules
