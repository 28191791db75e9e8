#include <algorithm>

#include <pipeloom/simulate.hpp>

namespace pipeloom {
namespace {

Span span_of_range(const Timeline& timeline, std::size_t begin, std::size_t end, int step) {
  if (begin == end) return {};
  const auto at = [&](std::size_t op) { return static_cast<std::ptrdiff_t>(timeline.index(step, op)); };
  return {*std::min_element(timeline.start.begin() + at(begin), timeline.start.begin() + at(end)),
          *std::max_element(timeline.end.begin() + at(begin), timeline.end.begin() + at(end))};
}

}  // namespace

Span span_of(const Timeline& timeline, int step) {
  return span_of_range(timeline, 0, timeline.schedule->num_ops(), step);
}

Span span_of(const Timeline& timeline, Rank rank, int step) {
  return span_of_range(timeline, timeline.schedule->queue_begin(rank), timeline.schedule->queue_end(rank),
                       step);
}

}  // namespace pipeloom
