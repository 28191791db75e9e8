#include "sim/analysis/critical_path.hpp"

#include <algorithm>
#include <functional>

#include "sim/analysis/entry_edges.hpp"
#include "sim/engine/fixed_order.hpp"

namespace pipeloom {
namespace {

using Edge = EntryEdges::Edge;

/// The edge whose tensor, or whose end, comes last; of several the first, which is the one that stays on the rank.
class LastEdge {
 public:
  explicit LastEdge(const Timeline& timeline) : timeline_(timeline) {}
  void operator()(const Edge& edge) {
    const Ticks ready = edge.lag + (edge.from == EntryEdges::kStart ? 0 : timeline_.start_of(edge.from));
    if (any_ && ready <= ready_) return;
    any_ = true;
    from_ = edge.from;
    ready_ = ready;
  }
  [[nodiscard]] std::size_t from() const { return from_; }
  [[nodiscard]] Ticks ready() const { return ready_; }

 private:
  const Timeline& timeline_;
  bool any_ = false;
  std::size_t from_ = EntryEdges::kStart;
  Ticks ready_ = 0;
};

}  // namespace

CriticalPath critical_path(const Timeline& timeline, const Costs& costs) {
  const EntryEdges edges(*timeline.schedule, costs);
  CriticalPath path;
  LastEdge end(timeline);
  edges.into_end(std::ref(end));
  path.length = std::max(Ticks{0}, end.ready());
  for (std::size_t entry = end.from(); entry != EntryEdges::kStart;) {
    path.entries.push_back(entry);
    LastEdge last(timeline);
    edges.queue_into(entry, std::ref(last));
    edges.data_into(entry, std::ref(last));
    entry = last.from();
  }
  std::reverse(path.entries.begin(), path.entries.end());
  return path;
}

/// Earliest starts in an order that has every entry after those it waits for, latest starts in the opposite order: no entry that
/// waits may be pushed.
std::vector<Ticks> slack(const Timeline& timeline, const Costs& costs) {
  const Schedule& schedule = *timeline.schedule;
  const EntryEdges edges(schedule, costs);
  const std::vector<std::uint32_t> order = entries_by_level(schedule);
  const auto edges_into = [&](std::size_t entry, auto&& fn) {
    edges.queue_into(entry, fn);
    edges.data_into(entry, fn);
  };
  std::vector<Ticks> earliest(schedule.num_ops(), 0);  // [first op]
  const auto ready = [&](const Edge& edge) {
    return edge.from == EntryEdges::kStart ? edge.lag : earliest[edge.from] + edge.lag;
  };
  for (const std::uint32_t v : order)
    edges_into(v, [&](const Edge& edge) { earliest[v] = std::max(earliest[v], ready(edge)); });
  Ticks end = 0;
  edges.into_end([&](const Edge& edge) { end = std::max(end, ready(edge)); });

  std::vector<Ticks> latest(schedule.num_ops(), end);
  edges.into_end([&](const Edge& edge) { latest[edge.from] = end - edge.lag; });
  for (auto v = order.rbegin(); v != order.rend(); ++v)
    edges_into(*v, [&](const Edge& edge) {
      if (edge.from != EntryEdges::kStart)
        latest[edge.from] = std::min(latest[edge.from], latest[*v] - edge.lag);
    });
  std::vector<Ticks>& slack = latest;
  for_each_entry(schedule, 0, schedule.num_ops(), [&](std::size_t first, std::size_t last) {
    std::fill(slack.begin() + static_cast<std::ptrdiff_t>(first),
              slack.begin() + static_cast<std::ptrdiff_t>(last), latest[first] - earliest[first]);
  });
  return slack;
}

}  // namespace pipeloom
