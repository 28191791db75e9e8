#include "sim/hardware/collective_table.hpp"

#include <cmath>
#include <iterator>

namespace pipeloom::hardware {

double sent_share(model::CollectiveKind kind, int ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  return kind == model::CollectiveKind::AllReduce ? 2 * share : share;
}

void CollectiveTable::add(model::CollectiveKind kind, int ranks, double bytes, double seconds,
                          bool measured) {
  auto& sizes = tables_[static_cast<std::size_t>(kind)][ranks];
  const auto [place, is_new] = sizes.try_emplace(bytes, Time{seconds, measured});
  if (!is_new && measured && !place->second.measured) place->second = {seconds, measured};
  empty_ = false;
}

Found CollectiveTable::of_sizes(const Sizes& sizes, double bytes) {
  const auto above = sizes.lower_bound(bytes);
  if (above == sizes.end()) {
    const auto& [largest, time] = *sizes.rbegin();
    return {time.seconds * bytes / largest, false, false};
  }
  if (above->first == bytes) return {above->second.seconds, true, above->second.measured};
  if (above == sizes.begin()) return {above->second.seconds, false, false};
  const auto below = std::prev(above);
  const double part = std::log(bytes / below->first) / std::log(above->first / below->first);
  const double seconds =
      below->second.seconds * std::pow(above->second.seconds / below->second.seconds, part);
  return {seconds, true, above->second.measured && below->second.measured};
}

std::optional<Found> CollectiveTable::find(model::CollectiveKind kind, double bytes, int ranks) const {
  const auto& by_ranks = tables_[static_cast<std::size_t>(kind)];
  const auto above = by_ranks.lower_bound(ranks);
  if (above == by_ranks.end()) return std::nullopt;
  if (above->first == ranks) return of_sizes(above->second, bytes);
  const auto bus_time = [&](const auto& entry) {
    return of_sizes(entry.second, bytes).value / sent_share(kind, entry.first);
  };
  double seconds = bus_time(*above);
  if (above != by_ranks.begin()) {
    const auto below = std::prev(above);
    const double part = static_cast<double>(ranks - below->first) / (above->first - below->first);
    seconds = (1 - part) * bus_time(*below) + part * seconds;
  }
  return Found{seconds * sent_share(kind, ranks), false, false};
}

}  // namespace pipeloom::hardware
