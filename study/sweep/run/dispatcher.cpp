#include "study/sweep/run/dispatcher.hpp"

#include <algorithm>

namespace pipeloom::sweep {

std::optional<std::uint64_t> Dispatcher::hand_out(int worker, bool only_lost) {
  std::uint64_t piece = 0;
  if (!lost_.empty()) {
    piece = *lost_.begin();
    lost_.erase(lost_.begin());
  } else if (!only_lost && next_ < end_) {
    piece = next_++;
  } else {
    return std::nullopt;
  }
  held_[worker].insert(piece);
  return piece;
}

void Dispatcher::finish(int worker, std::uint64_t piece) {
  held_[worker].erase(piece);
  lost_.erase(piece);
  losses_.erase(piece);
}

std::size_t Dispatcher::lose(int worker) {
  const auto entry = held_.find(worker);
  if (entry == held_.end()) return 0;
  for (const std::uint64_t piece : entry->second) {
    lost_.insert(piece);
    ++losses_[piece];
  }
  const std::size_t count = entry->second.size();
  held_.erase(entry);
  return count;
}

std::size_t Dispatcher::held_by(int worker) const {
  const auto entry = held_.find(worker);
  return entry == held_.end() ? 0 : entry->second.size();
}

int Dispatcher::most_losses() const {
  int most = 0;
  for (const auto& [piece, losses] : losses_) most = std::max(most, losses);
  return most;
}

std::uint64_t Dispatcher::most_lost_piece() const {
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(losses_.begin(), losses_.end(), less)->first;
}

}  // namespace pipeloom::sweep
