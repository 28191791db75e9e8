#include "sim/draw/rows.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <pipeloom/schedule.hpp>
#include "sim/draw/axis.hpp"

namespace pipeloom::draw {
namespace {

constexpr double kWorkShare = 0.74;
constexpr double kCopyShare = 0.22;

}  // namespace

RankRows::RankRows(Rank first, Rank last, double most, const std::vector<int>& ranks)
    : first_(first),
      last_(last),
      ranks_per_row_(std::max(1, static_cast<int>(std::ceil((last - first.value()).value() / most)))) {
  const bool by_number =
      std::ranges::is_sorted(ranks) && static_cast<int>(ranks.size()) == (last - first.value()).value();
  if (ranks.empty() || by_number || static_cast<double>(ranks.size()) > most) return;
  ranks_per_row_ = 1;
  ranks_ = ranks;
  place_.assign(static_cast<std::size_t>((last - first.value()).value()), ranks.size());
  for (std::size_t row = 0; row < ranks.size(); ++row)
    place_[static_cast<std::size_t>(ranks[row] - first.value())] = row;
}

int RankRows::count() const {
  if (!ranks_.empty()) return static_cast<int>(ranks_.size());
  const int ranks = std::max(1, (last_ - first_.value()).value());
  return (ranks + ranks_per_row_ - 1) / ranks_per_row_;
}

Row RankRows::row(int i, double y, double height) const {
  if (!ranks_.empty()) {
    const Rank rank(ranks_[static_cast<std::size_t>(i)]);
    return {rank, rank + 1, y, height};
  }
  const Rank first = first_ + i * ranks_per_row_;
  return {first, std::min(first + ranks_per_row_, last_), y, height};
}

std::size_t RankRows::row_of(Rank rank) const {
  if (!ranks_.empty()) return place_[(rank - first_.value()).at()];
  return static_cast<std::size_t>((rank - first_.value()).value() / ranks_per_row_);
}

bool RankRows::is_named(const Row& row, double pitch, double text) const {
  const std::int64_t every =
      nice_step(static_cast<std::int64_t>(std::ceil((text + 2) / pitch * ranks_per_row_)));
  const std::int64_t rank = ranks_.empty() ? row.first.value() : static_cast<std::int64_t>(row_of(row.first));
  const std::int64_t before = rank - ranks_per_row_;
  return before < 0 || rank / every != before / every;
}

RowLanes lanes_of(const Row& row) {
  RowLanes lanes{row, row};
  lanes.work.height = row.height * kWorkShare;
  lanes.copies.height = row.height * kCopyShare;
  lanes.copies.y = row.y + row.height - lanes.copies.height;
  return lanes;
}

double bar_height(double busy_share, double full) {
  if (busy_share <= 0) return 0;
  if (busy_share >= 1) return full;
  const double least = std::min(1.0, full / 3);
  return std::clamp(busy_share * full, least, full - least);
}

std::vector<tracks::BusyByKind> busy_of_row(const tracks::TimelineIndex& index, const Row& row,
                                            const tracks::Bins& bins) {
  std::vector<tracks::BusyByKind> busy(static_cast<std::size_t>(bins.count));
  for (Rank rank = row.first; rank < row.last; ++rank) index.add_busy(rank, bins, busy);
  return busy;
}

std::vector<std::size_t> stacked_ops(const Schedule& schedule, const tracks::DrawnEntry& entry) {
  const auto kind_at = [&](std::size_t at) { return schedule.ops()[at % schedule.num_ops()].kind(); };
  std::vector<std::size_t> ops(entry.count);
  std::iota(ops.begin(), ops.end(), entry.op);
  std::stable_sort(ops.begin(), ops.end(),
                   [&](std::size_t a, std::size_t b) { return kind_at(a) < kind_at(b); });
  return ops;
}

}  // namespace pipeloom::draw
