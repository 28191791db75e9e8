#include "executor/measure/duration_sample.hpp"

#include <algorithm>

namespace pipeloom::executor {

DurationSample sample_of(std::vector<Ticks> durations) {
  if (durations.empty()) return {};
  std::sort(durations.begin(), durations.end());
  const std::size_t last = durations.size() - 1;
  return {durations.size(), durations[last / 2], durations[3 * last / 4] - durations[last / 4]};
}

}  // namespace pipeloom::executor
