#include "sim/tracks/message_track.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "sim/tracks/block_sums.hpp"

namespace pipeloom::tracks {
namespace {

constexpr std::array<std::uint8_t, 2> kPlaces = {0, 1};  // activation, gradient
constexpr std::size_t kMostMessagesPerBin = 8;

Span span_of_bars(std::span<const MessageBar> bars) {
  Span span{std::numeric_limits<Ticks>::max(), 0};
  for (const MessageBar& bar : bars) {
    span.start = std::min(span.start, bar.start);
    span.end = std::max(span.end, bar.end);
  }
  return bars.empty() ? Span{} : span;
}

/// Hands out every moment of the bars once per direction, and the gaps between them. Feed it bars in order of start.
template <class Add, class Gap>
class Cover {
 public:
  Cover(Ticks start, Add add, Gap gap) : until_(start), of_{start, start}, add_(add), gap_(gap) {}
  void take(const MessageBar& bar) {
    if (bar.start > until_) gap_(until_, bar.start);
    until_ = std::max(until_, bar.end);
    Ticks& covered = of_[bar.gradient ? 1 : 0];
    if (bar.end > covered) add_(std::max(bar.start, covered), bar.end, bar.gradient ? 1 : 0);
    covered = std::max(covered, bar.end);
  }
  [[nodiscard]] Ticks until() const { return until_; }

 private:
  Ticks until_;
  std::array<Ticks, 2> of_;
  Add add_;
  Gap gap_;
};

}  // namespace

MessageTrack::MessageTrack(std::span<const MessageBar> bars, int ranks) : bars_(bars) {
  rows_.resize(2 * static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < bars.size(); ++i) {
    rows_[bars[i].from.at() * 2].bars.push_back(static_cast<std::uint32_t>(i));
    rows_[bars[i].to.at() * 2 + 1].bars.push_back(static_cast<std::uint32_t>(i));
  }
  const Span span = span_of_bars(bars);
  Pyramid::Builder builder;
  for (Row& row : rows_)
    if (!row.bars.empty()) index_row(row, span, builder);
}

void MessageTrack::index_row(Row& row, Span span, Pyramid::Builder& builder) const {
  builder.begin(span, kPlaces.size(), row.bars.size() / 2);
  Cover cover(
      span.start, [&](Ticks start, Ticks end, std::size_t channel) { builder.add(start, end, channel); },
      [&](Ticks start, Ticks end) { builder.gap(start, end); });
  row.latest_end.reserve(row.bars.size());
  for (const std::uint32_t i : row.bars) {
    cover.take(bars_[i]);
    row.latest_end.push_back(cover.until());
  }
  builder.gap(cover.until(), span.end);
  row.busy = builder.take();
}

Slice MessageTrack::visible(std::size_t row, TimeRange range) const {
  const Row& own = rows_[row];
  const std::size_t first = first_that(0, own.bars.size(), [&](std::size_t i) {
    return static_cast<double>(own.latest_end[i]) > range.start;
  });
  return {first, first_that(first, own.bars.size(), [&](std::size_t i) {
            return static_cast<double>(bars_[own.bars[i]].start) >= range.end;
          })};
}

void MessageTrack::shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const {
  const Row& own = rows_[row];
  if (own.bars.empty() || !(range.length() > 0)) return;
  const Slice seen = visible(row, range);
  if (seen.empty()) return;
  const bool fine = range.length() / bins < own.busy.cell();
  if (seen.size() > static_cast<std::size_t>(bins) * (fine ? kMostMessagesPerBin : 1))
    return own.busy.shares(range, bins, kPlaces, out.data(), kPlaces.size());
  BinAdder adder(range, bins, out.data(), kPlaces.size());
  Cover cover(
      std::numeric_limits<Ticks>::min(),
      [&](Ticks start, Ticks end, std::size_t place) {
        adder.add(static_cast<double>(start), static_cast<double>(end), place);
      },
      [&](Ticks start, Ticks end) { adder.gap(static_cast<double>(start), static_cast<double>(end)); });
  for (std::size_t i = seen.first; i < seen.last; ++i) cover.take(bars_[own.bars[i]]);
  adder.gap(static_cast<double>(cover.until()), range.end);
  adder.finish(kPlaces);
}

void MessageTrack::exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const {
  const Slice seen = visible(row, {static_cast<double>(from), static_cast<double>(to)});
  Cover cover(
      from, [&](Ticks start, Ticks end, std::size_t place) { out[place] += overlap(start, end, from, to); },
      [](Ticks, Ticks) {});
  for (std::size_t i = seen.first; i < seen.last; ++i) cover.take(bars_[rows_[row].bars[i]]);
}

}  // namespace pipeloom::tracks
