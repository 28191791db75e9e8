#include "sim/tracks/memory_track.hpp"

#include <algorithm>
#include <cmath>

#include "sim/kinds.hpp"

namespace pipeloom::tracks {
namespace {

constexpr Bytes kWhole = 65535;
/// Curves of up to this number of ops are kept whole.
constexpr std::size_t kMaxCurveOps = std::size_t{1} << 20;

/// Ops of the rank that ran, copies apart, through all steps.
std::size_t work_ops(const Timeline& timeline, Rank rank) {
  const Schedule& schedule = *timeline.schedule;
  std::size_t count = 0;
  for (int step = 0; step < timeline.steps; ++step)
    for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i)
      if (!is_copy(schedule.ops()[i].kind()) && timeline.end_of(i, step) >= 0) ++count;
  return count;
}

/// `part` of 65535 of the peak; exact for peaks below that.
Bytes bytes_of(std::uint16_t part, Bytes peak) {
  return multiply_divide(peak, part, kWhole);
}

}  // namespace

MemoryPyramid::MemoryPyramid(const std::vector<MemoryStep>& curve, Span span, std::size_t cells,
                             bool keep_curve)
    : span_{span.start, std::max(span.end, span.start + 1)} {
  for (const MemoryStep& step : curve) peak_ = std::max(peak_, step.bytes);
  const auto last = static_cast<std::uint64_t>(span_.length() - 1);
  while ((last >> shift_) + 1 > std::max<std::size_t>(cells, 1)) ++shift_;
  levels_.push_back({0, static_cast<std::size_t>(last >> shift_) + 1});
  if (peak_ > 0) add_cells(curve);
  if (keep_curve) curve_ = curve;
}

void MemoryPyramid::add_cells(const std::vector<MemoryStep>& curve) {
  std::size_t total = 0;
  for (std::size_t count = levels_.front().count;; count = (count + 1) / 2) {
    total += count;
    if (count == 1) break;
  }
  cells_.assign(total, {65535, 0});
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const Ticks start = std::max(curve[i].time, span_.start) - span_.start;
    const Ticks end = std::min(i + 1 < curve.size() ? curve[i + 1].time : span_.end, span_.end) - span_.start;
    if (start >= end) continue;
    const Bytes bytes = std::max<Bytes>(curve[i].bytes, 0);
    const double part = static_cast<double>(bytes) * kWhole / static_cast<double>(peak_);
    const auto least = static_cast<std::uint16_t>(std::floor(part));
    const auto most = static_cast<std::uint16_t>(std::min(std::ceil(part), 65535.0));
    for (Ticks cell = start >> shift_; cell <= (end - 1) >> shift_; ++cell) {
      Cell& own = cells_[static_cast<std::size_t>(cell)];
      own.least = std::min(own.least, least);
      own.most = std::max(own.most, most);
    }
  }
  while (levels_.back().count > 1) add_level();
}

void MemoryPyramid::add_level() {
  const Level below = levels_.back();
  const Level level{below.begin + below.count, (below.count + 1) / 2};
  for (std::size_t i = 0; i < level.count; ++i) {
    const Cell a = cells_[below.begin + 2 * i];
    const Cell b = cells_[below.begin + std::min(2 * i + 1, below.count - 1)];
    cells_[level.begin + i] = {std::min(a.least, b.least), std::max(a.most, b.most)};
  }
  levels_.push_back(level);
}

Extent MemoryPyramid::of_curve(double from, double to, std::size_t& at) const {
  while (at + 1 < curve_.size() && static_cast<double>(curve_[at + 1].time) <= from) ++at;
  Extent extent{curve_[at].bytes, curve_[at].bytes};
  for (std::size_t i = at + 1; i < curve_.size() && static_cast<double>(curve_[i].time) < to; ++i) {
    extent.least = std::min(extent.least, curve_[i].bytes);
    extent.most = std::max(extent.most, curve_[i].bytes);
  }
  return extent;
}

Extent MemoryPyramid::of_cells(const Level& level, double from, double to) const {
  const auto first = std::min(static_cast<std::size_t>(from), level.count - 1);
  Cell all = cells_[level.begin + first];
  for (std::size_t i = first + 1; i < level.count && static_cast<double>(i) < to; ++i) {
    all.least = std::min(all.least, cells_[level.begin + i].least);
    all.most = std::max(all.most, cells_[level.begin + i].most);
  }
  return {bytes_of(all.least, peak_), bytes_of(all.most, peak_)};
}

void MemoryPyramid::extents(TimeRange range, std::span<Extent> out) const {
  std::fill(out.begin(), out.end(), Extent{});
  if (cells_.empty() || range.length() <= 0) return;
  const int bins = static_cast<int>(out.size());
  const double width = range.length() / bins;
  double cell = std::ldexp(1.0, shift_);
  const bool exact = width < 2 * cell && !curve_.empty();
  std::size_t l = 0;
  for (; l + 1 < levels_.size() && 2 * cell <= width; ++l) cell *= 2;
  const auto begin = static_cast<double>(span_.start);
  const auto end = static_cast<double>(span_.end);
  std::size_t at = 0;
  if (exact) {
    const auto later = std::upper_bound(
        curve_.begin(), curve_.end(), range.start,
        [](double time, const MemoryStep& step) { return time < static_cast<double>(step.time); });
    at = static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, later - curve_.begin() - 1));
  }
  for (int i = 0; i < bins; ++i) {
    const double from = std::max(range.start + i * width, begin);
    const double to = std::min(range.start + (i + 1) * width, end);
    if (from >= to) continue;
    out[static_cast<std::size_t>(i)] =
        exact ? of_curve(from, to, at) : of_cells(levels_[l], (from - begin) / cell, (to - begin) / cell);
  }
}

std::size_t MemoryPyramid::memory_bytes() const {
  return sizeof(*this) + cells_.capacity() * sizeof(Cell) + curve_.capacity() * sizeof(MemoryStep);
}

MemoryTrack::MemoryTrack(const Timeline& timeline, const MemoryModel& memory, Span span) {
  const bool keep_curves = timeline.start.size() <= kMaxCurveOps;
  each_memory_curve(timeline, memory, [&](Rank rank, const std::vector<MemoryStep>& curve) {
    ranks_.emplace_back(curve, span, std::max<std::size_t>(work_ops(timeline, rank) / 2, 1), keep_curves);
    peak_ = std::max(peak_, ranks_.back().peak());
  });
}

std::size_t MemoryTrack::memory_bytes() const {
  std::size_t bytes = 0;
  for (const MemoryPyramid& rank : ranks_) bytes += rank.memory_bytes();
  return bytes;
}

}  // namespace pipeloom::tracks
