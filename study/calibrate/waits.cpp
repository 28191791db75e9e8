#include "study/calibrate/waits.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "sim/base/tick_sum.hpp"
#include "study/calibrate/pairs.hpp"
#include "study/calibrate/statistics.hpp"
#include "study/explain/clocks.hpp"
#include "study/explain/model.hpp"
#include "study/explain/robust.hpp"
#include "study/explain/waits.hpp"

namespace pipeloom::study::calibrate {
namespace {

using cost::sample_of;
using explain::MeasuredStep;
using explain::Message;
using explain::Wiring;

constexpr double kSmallPart = 0.002;  // of a usual op: less is no idle time
constexpr double kQuartiles = 1.349;  // quartile distance / sigma of a normal distribution

/// Entries, and what they wait for, with no latency yet.
Wiring wire(const Timeline& timeline) {
  return explain::wire(*timeline.schedule,
                       {.timeline = timeline,
                        .costs = std::make_shared<const Costs>(uniform_costs(
                            timeline.schedule->placement(), {.forward = 1, .backward = 1, .delay = 0}))});
}

std::vector<MeasuredStep> steps_of(const Timeline& timeline, const Wiring& wiring) {
  std::vector<MeasuredStep> steps;
  for (int s = 0; s < timeline.steps; ++s) {
    explain::Times times;
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      Ticks start = kMaxTicks;
      Ticks end = -kMaxTicks;
      for (std::size_t i = wiring.part_begin[e]; i < wiring.part_begin[e + 1]; ++i) {
        start = std::min(start, timeline.start_of(i, s));
        end = std::max(end, timeline.end_of(i, s));
      }
      times.start.push_back(start);
      times.end.push_back(end);
    }
    MeasuredStep step{.times = std::move(times), .order = {}};
    step.order = explain::order_by(wiring, step.times.start);
    steps.push_back(std::move(step));
  }
  return steps;
}

std::span<const Message> messages_of(const Wiring& wiring, std::size_t e) {
  return std::span(wiring.messages)
      .subspan(wiring.message_begin[e], wiring.message_begin[e + 1] - wiring.message_begin[e]);
}

/// [link]: the smallest time from a producer's end to its consumer's start.
std::vector<Ticks> smallest_gaps(const Wiring& wiring, const std::vector<MeasuredStep>& steps) {
  std::vector<Ticks> smallest(wiring.links.size(), kMaxTicks);
  for (const MeasuredStep& step : steps)
    for (std::size_t e = 0; e < wiring.entries(); ++e)
      for (const Message& message : messages_of(wiring, e))
        smallest[message.link] =
            std::min(smallest[message.link], step.times.start[e] - step.times.end[message.producer]);
  return smallest;
}

/// Offsets are halves of differences if latencies are the same both ways; where only one way is known, the other links' usual one.
void guess_latencies(Wiring& wiring, const std::vector<MeasuredStep>& steps) {
  const std::vector<Ticks> smallest = smallest_gaps(wiring, steps);
  std::vector<double> both;
  for (std::size_t i = 0; i < wiring.links.size(); ++i) {
    const explain::Link back{wiring.links[i].to, wiring.links[i].from};
    const auto other = std::find(wiring.links.begin(), wiring.links.end(), back);
    if (other == wiring.links.end()) continue;
    both.push_back((static_cast<double>(smallest[i]) +
                    static_cast<double>(smallest[static_cast<std::size_t>(other - wiring.links.begin())])) /
                   2);
  }
  const Ticks usual = std::max<Ticks>(0, std::llround(explain::median_of(std::move(both))));
  for (Message& message : wiring.messages) message.latency = usual;
}

void add(ClockFit& fit, const explain::Clocks& clocks) {
  if (!clocks.apart) return;
  fit.apart = true;
  fit.offset = clocks.offset;
  fit.uncertain = std::max(fit.uncertain, clocks.uncertain);
  fit.loose = clocks.loose;
}

/// Takes offsets off, of each step by itself where clocks begin anew in each; those of the last step are kept then.
ClockFit align_clocks(Wiring& wiring, std::vector<MeasuredStep>& steps, bool by_step) {
  ClockFit fit;
  fit.offset.assign(static_cast<std::size_t>(wiring.ranks), 0);
  const auto align_all = [&](std::vector<MeasuredStep>& some) {
    guess_latencies(wiring, some);
    const explain::Clocks clocks = explain::find_clocks(wiring, some, 0, by_step);
    explain::align(wiring, clocks, some);
    add(fit, clocks);
  };
  if (!by_step) {
    align_all(steps);
    return fit;
  }
  for (MeasuredStep& step : steps) {
    std::vector<MeasuredStep> one;
    one.push_back(std::move(step));
    align_all(one);
    step = std::move(one.front());
  }
  return fit;
}

/// fn(entry, the one before it, the gap between them) of entries that waited for nothing.
template <class Fn>
void for_each_back_to_back(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                           const std::vector<Ticks>& smallest, Fn&& fn) {
  for (const MeasuredStep& step : steps)
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      const std::uint32_t previous = step.order.previous[e];
      if (previous == Wiring::kNone) continue;
      const Ticks free = step.times.end[previous];
      const auto messages = messages_of(wiring, e);
      const bool all_there = std::all_of(messages.begin(), messages.end(), [&](const Message& message) {
        return step.times.end[message.producer] + smallest[message.link] <= free;
      });
      if (all_there) fn(e, previous, step.times.start[e] - free);
    }
}

/// By the op before, the op after and the messages of both.
using Gaps = std::map<std::tuple<OpKind, OpKind, int>, std::vector<Ticks>>;

/// In medians of gaps: longer ones are single pauses.
constexpr Ticks kLongest = 12;

/// Whether every step has such pauses, so that the next run has them too.
bool pauses_often(const Gaps& found, std::size_t steps) {
  if (steps < 2) return false;
  std::ptrdiff_t pauses = 0;
  for (const auto& [name, gaps] : found) {
    const Ticks median = sample_of(gaps).median;
    if (median <= 0) continue;
    pauses += std::count_if(gaps.begin(), gaps.end(), [&](Ticks gap) { return gap > kLongest * median; });
  }
  return pauses >= static_cast<std::ptrdiff_t>(steps);
}

/// Their mean, which is what a rank loses by them, without single long pauses unless they are `often`. REQUIRES: not empty.
Ticks mean_gap(std::vector<Ticks> gaps, bool often) {
  const Ticks median = sample_of(gaps).median;
  if (median <= 0) return median;
  if (!often) std::erase_if(gaps, [&](Ticks gap) { return gap > kLongest * median; });
  TickSum sum;
  for (const Ticks gap : gaps) sum += TickSum::times(gap, 1);
  return static_cast<Ticks>(sum.value() / static_cast<std::int64_t>(gaps.size()));
}

/// What lies between any two entries lies between those that have no messages, and is no more than what lies between others.
Ticks between_any(const Gaps& found, bool often) {
  std::optional<Ticks> without;
  Ticks most = kMaxTicks;
  for (const auto& [name, gaps] : found) {
    if (gaps.size() < kFewest) continue;
    const Ticks mean = mean_gap(gaps, often);
    most = std::min(most, mean);
    if (std::get<2>(name) == 0) without = std::min(without.value_or(kMaxTicks), mean);
  }
  return without ? std::max<Ticks>(0, std::min(*without, most)) : 0;
}

/// Whether gaps come to much more than as many of their medians do: then ranks lose more by them than the mean of one says, for whoever waits loses the longest.
bool are_uneven(const Gaps& found) {
  constexpr double kMuchMore = 1.1;
  double all = 0;
  double medians = 0;
  for (const auto& [name, gaps] : found) {
    const Ticks median = sample_of(gaps).median;
    if (median <= 0 || gaps.size() < kFewest) continue;
    medians += static_cast<double>(median) * static_cast<double>(gaps.size());
    for (const Ticks gap : gaps) all += static_cast<double>(gap);
  }
  return all > kMuchMore * medians;
}

/// A rank that is idle for longer than this was not only between two entries.
Ticks longest_gap(const Gaps& found) {
  std::vector<Ticks> all;
  for (const auto& [name, gaps] : found) all.insert(all.end(), gaps.begin(), gaps.end());
  if (all.size() < kFewest) return 0;
  std::sort(all.begin(), all.end());
  return std::max<Ticks>(0, std::min(2 * all[all.size() * 9 / 10], kLongest * all[all.size() / 2]));
}

/// Such that all gaps together are as long as they are: where kinds differ, no other number gives a rank its time.
Ticks time_per_message(const Gaps& found, bool often, Ticks between) {
  TickSum time;
  std::int64_t messages = 0;
  for (const auto& [name, gaps] : found) {
    const int each = std::get<2>(name);
    if (each == 0) continue;
    const auto count = static_cast<std::int64_t>(gaps.size());
    time += TickSum::times(mean_gap(gaps, often) - between, count);
    messages += each * count;
  }
  if (messages < static_cast<std::int64_t>(kFewest)) return 0;
  return static_cast<Ticks>(std::max<TickSum::Wide>(0, time.value()) / messages);
}

/// The gaps before one entry in the steps in which it waited for nothing, and the messages of the entries around them.
struct GapsBefore {
  std::vector<Ticks> gaps;
  int messages = 0;
};

/// [entry]: the gaps before it are longer than those before others with as many messages, in every step: time is lost before this one and not between any two
/// (lost_time.hpp).
std::vector<bool> lose_time(const std::vector<GapsBefore>& before, std::size_t steps, Ticks small) {
  std::map<int, std::vector<Ticks>> with_messages;
  for (const GapsBefore& of : before)
    with_messages[of.messages].insert(with_messages[of.messages].end(), of.gaps.begin(), of.gaps.end());
  const double far = steps > 1 ? 4 : kLongest;  // spreads: of one step nothing tells what repeats
  std::vector<bool> out(before.size(), false);
  for (auto& [messages, all] : with_messages) {
    if (all.size() < kFewest * steps) continue;
    const Ticks usual = sample_of(all).median;
    for (Ticks& gap : all) gap = std::abs(gap - usual);
    const double least =
        std::max(static_cast<double>(small), far * kOfNormal * static_cast<double>(sample_of(all).median));
    for (std::size_t e = 0; e < out.size(); ++e) {
      if (before[e].messages != messages || 4 * before[e].gaps.size() < 3 * steps) continue;
      const Ticks median = sample_of(before[e].gaps).median;
      out[e] = static_cast<double>(median - usual) > least && repeats(before[e].gaps, median);
    }
  }
  return out;
}

/// Returns how long a rank may be idle between entries that wait for nothing.
Ticks find_rank_time(const Wiring& wiring, const std::vector<MeasuredStep>& steps, Waits& out) {
  const std::vector<Ticks> smallest = smallest_gaps(wiring, steps);
  std::vector<GapsBefore> before_entry(wiring.entries());
  for_each_back_to_back(wiring, steps, smallest, [&](std::size_t e, std::uint32_t previous, Ticks gap) {
    before_entry[e].gaps.push_back(gap);
    before_entry[e].messages = wiring.sends[previous] + wiring.receives[e];
  });
  const auto small = static_cast<Ticks>(kLeastLost * static_cast<double>(explain::usual_time(steps)));
  const std::vector<bool> loses = lose_time(before_entry, steps.size(), small);
  Gaps gaps;
  for_each_back_to_back(wiring, steps, smallest, [&](std::size_t e, std::uint32_t previous, Ticks gap) {
    if (loses[e]) return;
    const int messages = wiring.sends[previous] + wiring.receives[e];
    const OpKind before = wiring.parts_of(previous).back().op.kind();
    const OpKind after = wiring.parts_of(e).front().op.kind();
    gaps[{before, after, messages}].push_back(gap);
  });
  const bool often = pauses_often(gaps, steps.size());
  out.between = between_any(gaps, often);
  out.rank_time = time_per_message(gaps, often, out.between);
  out.uneven = are_uneven(gaps);
  const Ticks longest = longest_gap(gaps);
  for (auto& [name, found] : gaps) {
    const auto& [before, after, messages] = name;
    out.back_to_back.push_back({before, after, messages, sample_of(std::move(found))});
  }
  return std::max<Ticks>(0, longest - out.between);
}

/// What one link's messages say.
struct LinkSamples {
  struct Waited {
    Ticks time = 0;
    int step = 0;
    std::size_t entry = 0;  ///< that waited
  };
  std::vector<Waited> waited;
  Ticks smallest = kMaxTicks;
  std::size_t messages = 0;  ///< of all steps

  [[nodiscard]] std::vector<Ticks> times() const {
    std::vector<Ticks> out;
    for (const Waited& one : waited) out.push_back(one.time);
    return out;
  }
  /// True if one entry of several alone waits: that may be time that its rank loses before it.
  [[nodiscard]] bool is_of_one_entry(std::size_t steps) const {
    return messages > steps &&
           std::ranges::all_of(waited, [&](const Waited& one) { return one.entry == waited.front().entry; });
  }
};

/// Of an entry that messages of several links arrive at, the last producer's counts: whose latency is longer shows as later than its own
/// smallest one then.
std::vector<LinkSamples> latency_samples(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                                         const Waits& waits, Ticks least_idle) {
  std::vector<LinkSamples> samples(wiring.links.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MeasuredStep& step = steps[s];
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      const auto free = [&](std::uint32_t entry) {
        return step.times.end[entry] + waits.between + waits.rank_time * wiring.sends[entry];
      };
      const Ticks ready = step.times.start[e] - waits.rank_time * wiring.receives[e];
      const std::uint32_t previous = step.order.previous[e];
      const bool waited = previous == Wiring::kNone || ready - free(previous) > least_idle;
      const Message* last = nullptr;
      for (const Message& message : messages_of(wiring, e)) {
        LinkSamples& of = samples[message.link];
        of.smallest = std::min(of.smallest, ready - free(message.producer));
        ++of.messages;
        if (last == nullptr || free(message.producer) > free(last->producer)) last = &message;
      }
      if (!waited || last == nullptr) continue;
      samples[last->link].waited.push_back({ready - free(last->producer), static_cast<int>(s), e});
    }
  }
  return samples;
}

/// How far latencies of a link usually lie apart: the median over links.
double usual_spread(const std::vector<LinkSamples>& links) {
  std::vector<double> spreads;
  for (const LinkSamples& link : links)
    if (link.waited.size() >= kFewest)
      spreads.push_back(static_cast<double>(sample_of(link.times()).spread) / kQuartiles);
  return explain::median_of(std::move(spreads));
}

/// Medians of the samples of the first half of the steps, and of the second.
std::vector<Ticks> halves_of(const LinkSamples& of, std::size_t steps) {
  if (steps < 2) return {};
  std::vector<Ticks> first;
  std::vector<Ticks> second;
  for (const LinkSamples::Waited& one : of.waited)
    (2 * static_cast<std::size_t>(one.step) < steps ? first : second).push_back(one.time);
  if (first.empty() || second.empty()) return {};
  return {sample_of(std::move(first)).median, sample_of(std::move(second)).median};
}

/// Whether both halves lie on the side of `more` over `usual`, at least half as far.
bool agree(const std::vector<Ticks>& halves, Ticks more, Ticks usual) {
  return !halves.empty() && std::all_of(halves.begin(), halves.end(), [&](Ticks half) {
    return more > 0 ? 2 * (half - usual) >= more : 2 * (half - usual) <= more;
  });
}

/// Without those that lie farther from the smallest than `width`, which waited for something else. Latencies that jitter do so by a part of them: of a
/// link whose smallest is longer than the usual one, it is as much wider, up to twice this smallest: of 32 that spread
/// by 30 % the longest is 3.5 times the smallest.
LinkSamples near_smallest(const LinkSamples& of, Ticks usual, Ticks width) {
  if (of.waited.empty()) return of;
  const double longer = static_cast<double>(of.smallest) / static_cast<double>(usual);
  const double wider = std::min(2 * static_cast<double>(of.smallest), longer * static_cast<double>(width));
  const Ticks most = of.smallest + std::max(width, static_cast<Ticks>(wider));
  LinkSamples near = of;
  std::erase_if(near.waited, [most](const LinkSamples::Waited& one) { return one.time > most; });
  return near;
}

/// True if the link's other direction takes as long, and several entries waited for it.
bool is_confirmed_by_other_way(const Wiring& wiring, const std::vector<LinkSamples>& samples,
                               std::size_t link, std::size_t steps, Ticks width) {
  const explain::Link way{wiring.links[link].to, wiring.links[link].from};
  const auto found = std::ranges::find(wiring.links, way);
  if (found == wiring.links.end()) return false;
  const LinkSamples& back = samples[static_cast<std::size_t>(found - wiring.links.begin())];
  if (back.waited.empty() || back.is_of_one_entry(steps)) return false;
  return std::abs(sample_of(samples[link].times()).median - sample_of(back.times()).median) <= width;
}

void find_latencies(const Wiring& wiring, const std::vector<MeasuredStep>& steps, Ticks least_idle,
                    Waits& out) {
  std::vector<std::vector<Ticks>> halves;
  const auto small = static_cast<Ticks>(kSmallPart * static_cast<double>(explain::usual_time(steps)));
  std::vector<LinkSamples> samples = latency_samples(wiring, steps, out, std::max(small, least_idle));
  const auto width = std::max(small, static_cast<Ticks>(8 * usual_spread(samples)));
  std::vector<Ticks> smallest;
  for (const LinkSamples& of : samples)
    if (of.smallest > 0) smallest.push_back(of.smallest);
  const Ticks usual_smallest = std::max<Ticks>(1, sample_of(std::move(smallest)).median);
  for (LinkSamples& of : samples) of = near_smallest(of, usual_smallest, width);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    LinkSamples& of = samples[i];
    const bool is_doubtful = of.is_of_one_entry(steps.size()) &&
                             !is_confirmed_by_other_way(wiring, samples, i, steps.size(), width);
    // A message that its link explains is waited for in most steps.
    if (2 * of.waited.size() < steps.size() || is_doubtful) of.waited.clear();
    LinkLatency& link = out.links.emplace_back();
    link.from = wiring.links[i].from;
    link.to = wiring.links[i].to;
    halves.push_back(halves_of(of, steps.size()));
    link.latency = sample_of(of.times());
    link.latency.median = std::max<Ticks>(0, link.latency.median);
    link.most = std::max<Ticks>(0, of.smallest);
  }
  if (const auto usual = usual_latency(out.links); usual && steps.size() > 1)
    for (std::size_t i = 0; i < out.links.size(); ++i) {
      LinkLatency& link = out.links[i];
      link.confirmed = link.latency.count == 0 || agree(halves[i], link.latency.median - *usual, *usual);
    }
  std::sort(out.links.begin(), out.links.end(), [](const LinkLatency& a, const LinkLatency& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
}

/// [link]: what the costs file says of these.
std::vector<Ticks> kept_latencies(const Wiring& wiring, const std::vector<LinkLatency>& links, Ticks small) {
  const Ticks usual = usual_latency(links).value_or(0);
  const std::vector<LinkLatency> unusual = unusual_links(links, usual, small);
  std::vector<Ticks> latency;
  for (const explain::Link& link : wiring.links) {
    const auto own = std::find_if(unusual.begin(), unusual.end(), [&](const LinkLatency& one) {
      return one.from == link.from && one.to == link.to;
    });
    latency.push_back(own != unusual.end() ? own->latency.median : usual);
  }
  return latency;
}

}  // namespace

Waits find_waits(const Timeline& grouped, bool clocks_by_step) {
  Waits out;
  const Timeline timeline = with_parts_apart(grouped);
  Wiring wiring = wire(timeline);
  if (wiring.entries() == 0) return out;
  std::vector<MeasuredStep> steps = steps_of(timeline, wiring);
  out.clocks = align_clocks(wiring, steps, clocks_by_step);
  send_after_groups(*grouped.schedule, steps, wiring);
  for (const Ticks gap : smallest_gaps(wiring, steps)) out.clocks.early = std::max(out.clocks.early, -gap);
  const Ticks least_idle = find_rank_time(wiring, steps, out);
  find_latencies(wiring, steps, least_idle, out);
  for (const MeasuredStep& step : steps) out.step_times.push_back(explain::length_of(step.times));
  const auto small = static_cast<Ticks>(kSmallPart * static_cast<double>(explain::usual_time(steps)));
  out.lost = find_lost_time(wiring, steps,
                            {.latency = kept_latencies(wiring, out.links, small),
                             .between = out.between,
                             .rank_time = out.rank_time});
  return out;
}

std::optional<Ticks> usual_latency(const std::vector<LinkLatency>& links) {
  std::vector<Ticks> known;
  for (const LinkLatency& link : links)
    if (link.latency.count > 0) known.push_back(link.latency.median);
  if (known.empty()) return std::nullopt;
  std::sort(known.begin(), known.end());
  return known[(known.size() - 1) / 2];
}

std::vector<LinkLatency> unusual_links(const std::vector<LinkLatency>& links, Ticks usual, Ticks small) {
  const double z = z_of(links.size());
  std::vector<LinkLatency> out;
  for (const LinkLatency& link : links) {
    const bool known = link.latency.count > 0;
    const Ticks found = known ? link.latency.median : std::min(usual, link.most);
    const double sigma = static_cast<double>(link.latency.spread) / kQuartiles;
    const double error = known ? median_error(sigma, static_cast<double>(link.latency.count)) : 0;
    const double least = std::max({static_cast<double>(small), 0.02 * static_cast<double>(usual), z * error});
    if (static_cast<double>(std::abs(found - usual)) <= least || !link.confirmed) continue;
    out.push_back(link);
    out.back().latency.median = found;
  }
  return out;
}

}  // namespace pipeloom::study::calibrate
