// The shares that LaneIndex answers.

#include <limits>

#include "gui/model/detail/lane_index.hpp"
#include "gui/model/detail/lane_walk.hpp"

namespace pipeloom::gui {
namespace {

/// Ops that are walked rather than looked up in the pyramid: per bin, where that is exact and as cheap; and where a bin is finer than a
/// cell, as long as it stays cheap.
constexpr std::size_t kWalkedPerBin = 2;
constexpr std::size_t kMostWalkedPerBin = 16;

}  // namespace

void LaneIndex::shares(Rank rank, TimeRange range, int bins, std::vector<BusyShares>& out, Lane lane) const {
  static_assert(sizeof(BusyShares) == kOpKinds * sizeof(float));
  out.assign(static_cast<std::size_t>(bins), BusyShares{});
  const Row& own = row(rank, lane);
  if (own.ops == 0 || !(range.length() > 0)) return;
  const StepSlice seen = steps(rank, range.start, range.end, lane);
  std::size_t ops = 0;
  for (int step = seen.first; step < seen.last; ++step)
    ops += visible(rank, range.start, range.end, step, lane).size();
  const LaneChannels channels(*timeline_->schedule, lane);
  const bool fine = range.length() / bins < own.busy.cell();
  if (ops > static_cast<std::size_t>(bins) * (fine ? kMostWalkedPerBin : kWalkedPerBin))
    return own.busy.shares(range, bins, channels.places(), out.front().of.data(), kOpKinds);
  if (ops > 0) walk_shares(rank, range, bins, out, lane);
}

void LaneIndex::walk_shares(Rank rank, TimeRange range, int bins, std::vector<BusyShares>& out,
                            Lane lane) const {
  const StepSlice seen = steps(rank, range.start, range.end, lane);
  const LaneChannels channels(*timeline_->schedule, lane);
  BinAdder adder(range, bins, out.front().of.data(), kOpKinds);
  const auto add = [&](Ticks start, Ticks end, OpKind kind, std::size_t of) {
    adder.add(static_cast<double>(start), static_cast<double>(end), index_of(kind), of);
  };
  const auto gap = [&](Ticks start, Ticks end) {
    adder.gap(static_cast<double>(start), static_cast<double>(end));
  };
  Walk walk(*this, lane);
  Ticks until = std::numeric_limits<Ticks>::min();
  for (int step = seen.first; step < seen.last; ++step) {
    const OpSlice all = queue(rank, step);
    OpSlice slice = visible(rank, range.start, range.end, step, lane);
    if (slice.empty()) continue;
    // Whole groups only.
    while (slice.first > all.first && op_at(slice.first - 1).joined()) --slice.first;
    while (slice.last < all.last && op_at(slice.last - 1).joined()) ++slice.last;
    walk(slice, row(rank, lane).ordered, until, add, gap);
  }
  adder.gap(static_cast<double>(until), range.end);
  adder.finish(channels.places());
}

}  // namespace pipeloom::gui
