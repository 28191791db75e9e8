#include "study/explain/clocks.hpp"

#include <algorithm>
#include <cmath>

namespace pipeloom::study::explain {
namespace {

/// What the messages of one link say.
struct LinkGap {
  Ticks smallest = kMaxTicks;  // from the producer's lane to the consumer, over the predicted latency
  int waited = 0;              // messages near it that an idle rank waited for
  Ticks least = kMaxTicks;     // from a producer's end to its consumer's start
};

/// fn(link, gap, what the consumer's rank was idle before it, the consumer's start - the producer's end).
template <class Fn>
void for_each_gap(const Wiring& wiring, const std::vector<MeasuredStep>& steps, Ticks tau, Fn&& fn) {
  for (const MeasuredStep& step : steps)
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      const std::uint32_t previous = step.order.previous[e];
      const Ticks ready = step.times.start[e] - tau * wiring.receives[e];
      const Ticks idle = previous == Wiring::kNone
                             ? kMaxTicks
                             : ready - step.times.end[previous] - tau * wiring.sends[previous];
      for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i) {
        const Message& message = wiring.messages[i];
        const Ticks left = step.times.end[message.producer];
        fn(message.link, ready - left - tau * wiring.sends[message.producer] - message.latency, idle,
           step.times.start[e] - left);
      }
    }
}

std::vector<LinkGap> gaps_of(const Wiring& wiring, const std::vector<MeasuredStep>& steps, Ticks tau) {
  std::vector<LinkGap> gaps(wiring.links.size());
  const Ticks usual = usual_time(steps);
  for_each_gap(wiring, steps, tau, [&](std::uint32_t link, Ticks gap, Ticks, Ticks raw) {
    gaps[link].smallest = std::min(gaps[link].smallest, gap);
    gaps[link].least = std::min(gaps[link].least, raw);
  });
  for_each_gap(wiring, steps, tau, [&](std::uint32_t link, Ticks gap, Ticks idle, Ticks) {
    if (idle > usual / 100 && gap <= gaps[link].smallest + usual / 10) ++gaps[link].waited;
  });
  return gaps;
}

/// As the files have them, or over what is predicted.
std::vector<ClockGap> clock_gaps(const Wiring& wiring, const std::vector<LinkGap>& gaps,
                                 Ticks LinkGap::*gap) {
  std::vector<ClockGap> out;
  for (std::size_t i = 0; i < gaps.size(); ++i)
    if (gaps[i].*gap != kMaxTicks)
      out.push_back({wiring.links[i].from, wiring.links[i].to, gaps[i].*gap, gaps[i].waited});
  return out;
}

}  // namespace

Clocks find_clocks(const Wiring& wiring, const std::vector<MeasuredStep>& steps, Ticks rank_time,
                   bool known_apart) {
  Clocks clocks;
  const std::vector<LinkGap> gaps = gaps_of(wiring, steps, rank_time);
  const std::vector<ClockGap> raw = clock_gaps(wiring, gaps, &LinkGap::least);
  clocks.apart = known_apart || settle_clocks(wiring.ranks, raw, usual_time(steps) / 100).moved;
  if (clocks.apart) {
    const std::vector<ClockGap> late = clock_gaps(wiring, gaps, &LinkGap::smallest);
    static_cast<ClockOffsets&>(clocks) = follow_pairs(wiring.ranks, pairs_of(late));
    clocks.uncertain = spread_of_offsets(wiring.ranks, raw, clocks.offset);
  } else {
    clocks.offset.assign(static_cast<std::size_t>(wiring.ranks), 0);
  }
  return clocks;
}

bool are_apart(const Wiring& wiring, const std::vector<Ticks>& added, Ticks small) {
  constexpr double kSame = 0.1;
  std::vector<Ticks> latency(wiring.links.size(), 0);
  for (const Message& message : wiring.messages)
    latency[message.link] = std::max(latency[message.link], message.latency);
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (latency[i] + added[i] >= -small) continue;
    const std::size_t back = opposite(wiring, i);
    if (back < added.size() && std::abs(static_cast<double>(added[i] + added[back])) <=
                                   kSame * std::abs(static_cast<double>(added[i])))
      return true;
  }
  return false;
}

void align(const Wiring& wiring, const Clocks& clocks, std::vector<MeasuredStep>& steps) {
  for (MeasuredStep& step : steps) {
    Times& times = step.times;
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      times.start[e] -= clocks.offset[wiring.rank[e].at()];
      times.end[e] -= clocks.offset[wiring.rank[e].at()];
    }
    const Ticks first = *std::min_element(times.start.begin(), times.start.end());
    for (Ticks& start : times.start) start -= first;
    for (Ticks& end : times.end) end -= first;
  }
}

}  // namespace pipeloom::study::explain
