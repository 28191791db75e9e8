#include "sim/orders/bounds/bounds.hpp"

#include <algorithm>
#include <array>

#include "sim/orders/bounds/parts.hpp"

namespace pipeloom::orders {
namespace {

struct BoundRow {
  std::string_view name;
  Wide (*value)(const Parts&);
};

/// From quick to slow.
constexpr std::array kBounds = {
    BoundRow{"work-start-end", work_start_end},
    BoundRow{"head-work-tail", head_work_tail},
    BoundRow{"slots", slot_bound},
    BoundRow{"area", area_bound},
    BoundRow{"one-machine", one_machine},
};

Ticks ticks_of(Wide value) {
  return static_cast<Ticks>(std::clamp<Wide>(value, 0, kMaxTicks));
}

}  // namespace

std::vector<Bound> all_bounds(const Problem& problem) {
  const Parts parts(problem);
  std::vector<Bound> out;
  for (const BoundRow& row : kBounds)
    if (const Ticks value = ticks_of(row.value(parts)); value > 0) out.push_back({row.name, value});
  return out;
}

Bound best_bound(const Problem& problem, Ticks reached, const std::function<bool()>& stopped) {
  Parts parts(problem);
  // Said once it stays said: what is half known is no bound.
  bool is_over = false;
  const std::function<bool()> stop = [&] { return is_over = is_over || stopped(); };
  if (stopped) parts.stopped = &stop;
  Bound best{kBounds.front().name, 0};
  for (const BoundRow& row : kBounds) {
    if (const Ticks value = ticks_of(row.value(parts)); value > best.value) best = {row.name, value};
    if (best.value >= reached) break;
  }
  return best;
}

}  // namespace pipeloom::orders
