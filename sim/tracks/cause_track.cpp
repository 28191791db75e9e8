#include "sim/tracks/cause_track.hpp"

#include <algorithm>
#include <array>

#include "sim/tracks/pyramid.hpp"

namespace pipeloom::tracks {
namespace {

constexpr std::array<std::uint8_t, kIdleCauses> kCausePlaces = {0, 1, 2, 3, 4, 5};

std::size_t place_of(const IdleSpan& span) {
  return static_cast<std::size_t>(span.cause);
}

auto whole_spans(const std::vector<IdleSpan>& spans) {
  return [&spans](auto& sums, std::size_t i) { sums[place_of(spans[i])] += spans[i].end - spans[i].start; };
}

}  // namespace

CauseTrack::CauseTrack(std::span<const std::vector<IdleSpan>> idle) : idle_(idle) {
  before_.reserve(idle.size());
  for (const std::vector<IdleSpan>& spans : idle) before_.emplace_back(spans.size(), whole_spans(spans));
}

Slice CauseTrack::visible(std::size_t row, TimeRange range) const {
  const std::vector<IdleSpan>& spans = idle_[row];
  const std::size_t first = first_that(
      0, spans.size(), [&](std::size_t i) { return static_cast<double>(spans[i].end) > range.start; });
  return {first, first_that(first, spans.size(),
                            [&](std::size_t i) { return static_cast<double>(spans[i].start) >= range.end; })};
}

void CauseTrack::shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const {
  BinAdder adder(range, bins, out.data(), kIdleCauses);
  double until = range.start;
  const Slice seen = visible(row, range);
  for (std::size_t i = seen.first; i < seen.last; ++i) {
    const IdleSpan& span = idle_[row][i];
    const auto start = static_cast<double>(span.start);
    if (start > until) adder.gap(until, start);
    until = static_cast<double>(span.end);
    adder.add(start, until, place_of(span));
  }
  if (until < range.end) adder.gap(until, range.end);
  adder.finish(kCausePlaces);
}

void CauseTrack::exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const {
  const std::vector<IdleSpan>& spans = idle_[row];
  const std::size_t first = first_that(0, spans.size(), [&](std::size_t i) { return spans[i].end > from; });
  const std::size_t last = first_that(0, spans.size(), [&](std::size_t i) { return spans[i].start >= to; });
  if (last <= first) return;
  const Sums low = before_[row].up_to(first, whole_spans(spans));
  const Sums high = before_[row].up_to(last, whole_spans(spans));
  for (std::size_t cause = 0; cause < kIdleCauses; ++cause) out[cause] += high[cause] - low[cause];
  // Gaps do not overlap, so only the first and the last can stick out.
  out[place_of(spans[first])] -= std::max<Ticks>(0, from - spans[first].start);
  out[place_of(spans[last - 1])] -= std::max<Ticks>(0, spans[last - 1].end - to);
}

}  // namespace pipeloom::tracks
