#include "gui/model/run/rank_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pipeloom::gui {

void RankOrder::move(int rank, int place, int ranks) {
  const std::size_t known = order_.size();
  if (known < static_cast<std::size_t>(ranks)) {
    order_.resize(static_cast<std::size_t>(ranks));
    std::iota(order_.begin() + static_cast<std::ptrdiff_t>(known), order_.end(), static_cast<int>(known));
  }
  // Places count the ranks of this run alone; those of a larger run keep their places.
  std::vector<int> own;
  for_each(ranks, [&](int each) {
    if (each != rank) own.push_back(each);
  });
  own.insert(own.begin() + place, rank);
  auto next = own.begin();
  for (int& each : order_)
    if (each < ranks) each = *next++;
  forget_ordered_end();
}

std::vector<int> RankOrder::of(int ranks) const {
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(ranks));
  for_each(ranks, [&](int rank) { out.push_back(rank); });
  return out;
}

bool RankOrder::take(std::vector<int> ranks) {
  std::vector<bool> seen(ranks.size(), false);
  for (const int rank : ranks) {
    if (rank < 0 || static_cast<std::size_t>(rank) >= ranks.size() || seen[static_cast<std::size_t>(rank)])
      return false;
    seen[static_cast<std::size_t>(rank)] = true;
  }
  order_ = std::move(ranks);
  forget_ordered_end();
  return true;
}

void RankOrder::forget_ordered_end() {
  while (!order_.empty() && order_.back() + 1 == static_cast<int>(order_.size())) order_.pop_back();
}

}  // namespace pipeloom::gui
