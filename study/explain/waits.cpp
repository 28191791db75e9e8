#include "study/explain/waits.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "study/explain/robust.hpp"

namespace pipeloom::study::explain {
namespace {

/// What one link's messages say: how much later than predicted they came.
struct LinkSamples {
  std::vector<double> waited;  // of messages that an idle rank waited for
  std::vector<double> first;   // of these before the first entries of ranks, whose step may have begun late
  std::vector<double>
      due;  // of these where the rank was idle when they should have come: the rank's pauses make none of them
  std::vector<double> bounds;     // of others: no more than this
  double smallest = 1e300;        // of all
  double smallest_later = 1e300;  // of those before entries that are not their rank's first
  double latency = 0;             // predicted, largest
  double pause = 0;               // taken off all of these
};

/// The latency that a link adds, and how sure it is.
struct Added {
  double value = 0;
  double error = 0;
  bool known = false;
};

constexpr double kSmallPart = 0.002;  // of a usual op: less is none
constexpr double kJittery = 0.05;     // spread of latencies

/// What the first entries of a rank say of a link counts unless later messages took much less than it does step after step: then the rank
/// began its steps late.
void take_first(LinkSamples& of) {
  constexpr double kMuchLess = 0.4;
  if (of.first.empty()) return;
  const bool was_late =
      of.first.size() > 1 && of.smallest_later + of.latency < kMuchLess * (median_of(of.first) + of.latency);
  for (const double late : of.first) {
    if (was_late) {
      of.bounds.push_back(late);
      continue;
    }
    of.waited.push_back(late);
    of.due.push_back(late);
  }
}

std::vector<LinkSamples> take_samples(const Wiring& wiring, const Residuals& base,
                                      const std::vector<MeasuredStep>& steps,
                                      const std::vector<RankGaps>& gaps, Ticks tau) {
  std::vector<LinkSamples> samples(wiring.links.size());
  for (const MeasuredStep& step : steps)
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      const std::uint32_t previous = step.order.previous[e];
      const Ticks ready = step.times.start[e] - tau * wiring.receives[e] - base.late[e];
      const Ticks lane =
          previous == Wiring::kNone ? 0 : step.times.end[previous] + tau * wiring.sends[previous];
      const bool waited = ready - lane > gaps[wiring.rank[e].at()].most;
      double least = 1e300;
      std::uint32_t binding = 0;
      for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i) {
        const Message& message = wiring.messages[i];
        const Ticks arrival =
            step.times.end[message.producer] + tau * wiring.sends[message.producer] + message.latency;
        const double late = static_cast<double>(ready - arrival);
        LinkSamples& of = samples[message.link];
        of.smallest = std::min(of.smallest, late);
        if (previous != Wiring::kNone) of.smallest_later = std::min(of.smallest_later, late);
        of.latency = std::max(of.latency, static_cast<double>(message.latency));
        of.bounds.push_back(late);
        if (late >= least) continue;
        least = late;
        binding = message.link;
      }
      if (!waited || least == 1e300) continue;
      LinkSamples& of = samples[binding];
      of.bounds.pop_back();
      if (previous == Wiring::kNone) {
        of.first.push_back(least);
        continue;
      }
      of.waited.push_back(least);
      if (least <= static_cast<double>(ready - lane)) of.due.push_back(least);
    }
  for (LinkSamples& of : samples) take_first(of);
  return samples;
}

/// [rank]: what it pauses after a wait as well as between entries: as much of its usual pause as messages seem late by, over most links where most
/// ranks pause, else over those to it. Takes it off the samples.
std::vector<Ticks> take_pauses(const Wiring& wiring, std::vector<LinkSamples>& links,
                               const std::vector<RankGaps>& gaps) {
  std::vector<double> late;
  std::vector<double> least(gaps.size(), 1e300);
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (links[i].waited.empty()) continue;
    late.push_back(median_of(links[i].waited));
    double& of = least[wiring.links[i].to.at()];
    of = std::min(of, late.back());
  }
  const auto paused = std::count_if(gaps.begin(), gaps.end(), [](const RankGaps& of) { return of.paused; });
  const bool most = 2 * static_cast<std::size_t>(paused) >= gaps.size();
  const double usual = median_of(std::move(late));
  std::vector<Ticks> pauses;
  for (std::size_t r = 0; r < gaps.size(); ++r)
    pauses.push_back(std::llround(std::clamp(most ? usual : least[r], 0.0, gaps[r].mean)));
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto pause = static_cast<double>(pauses[wiring.links[i].to.at()]);
    links[i].smallest -= pause;
    links[i].pause = pause;
    for (std::vector<double>* const samples : {&links[i].waited, &links[i].due, &links[i].bounds})
      for (double& of : *samples) of -= pause;
  }
  return pauses;
}

/// How far single latencies of a link spread, as a part of them; nothing of too few.
std::optional<double> spread_of(const LinkSamples& link) {
  if (link.waited.size() < 4) return std::nullopt;
  const double middle = median_of(link.waited);
  const double whole = middle + link.latency;
  if (whole <= 0) return std::nullopt;
  std::vector<double> deviations;
  for (const double late : link.waited) deviations.push_back(std::abs(late - middle));
  return 1.4826 * median_of(deviations) / whole;
}

/// The median over links.
double usual_spread(const std::vector<LinkSamples>& links) {
  std::vector<double> spreads;
  for (const LinkSamples& link : links)
    if (const auto spread = spread_of(link)) spreads.push_back(*spread);
  return median_of(spreads);
}

/// Messages that nobody waited for are the early ones: the median of the others alone is too late. The likeliest median of latencies
/// whose logs spread by `spread`, where `bounds` say of some no more than that they were not longer.
double likeliest_median(const std::vector<double>& latencies, const std::vector<double>& bounds,
                        double spread) {
  double middle = 0;
  for (const double latency : latencies) middle += std::log(latency) / static_cast<double>(latencies.size());
  // Newton's steps on the slope of the log likelihood, which falls everywhere.
  for (int round = 0; round < 20; ++round) {
    double slope = 0;
    double curve = 0;
    for (const double latency : latencies) {
      slope += (std::log(latency) - middle) / spread;
      curve += 1;
    }
    for (const double bound : bounds) {
      const double z = (std::log(bound) - middle) / spread;
      if (z > 6) continue;
      const double below = std::max(std::erfc(-z / std::numbers::sqrt2) / 2, 1e-300);
      const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
      const double rate = z < -30 ? -z : density / below;
      slope -= rate;
      curve += rate * (z + rate);
    }
    const double step = spread * slope / curve;
    middle += std::clamp(step, -spread, spread);
    if (std::abs(step) < 1e-6) break;
  }
  return std::exp(middle);
}

/// What link's messages of a cluster add, where single latencies spread.
double jittery_value(const LinkSamples& link, const std::vector<double>& cluster, double spread) {
  std::vector<double> latencies;
  for (const double late : cluster)
    if (late + link.latency > 0) latencies.push_back(late + link.latency);
  if (latencies.size() < 2) return median_of(cluster);
  std::vector<double> bounds;
  for (const double bound : link.bounds)
    if (bound + link.latency > 0) bounds.push_back(bound + link.latency);
  return likeliest_median(latencies, bounds, spread) - link.latency;
}

/// Whether the earliest message says that the link takes no such time: no message is faster than its link, but for jitter (more than four spreads of 30 %) and
/// for what its rank paused less.
bool is_refuted(const LinkSamples& link, double value, double small) {
  constexpr double kMost = 4;
  const double earliest = std::max(link.smallest + link.latency + link.pause, 0.0);
  return value + link.latency > kMost * earliest + 5 * small;
}

/// Of the messages that were waited for those that chance alone may have made as late as they are over the earliest of all.
std::vector<double> cluster_of(const LinkSamples& link, double spread, double small) {
  const double whole = std::max(median_of(link.waited) + link.latency, 0.0);
  const double width = std::max(small, 8 * spread * whole);
  std::vector<double> cluster;
  for (const double late : link.waited)
    if (late <= link.smallest + width) cluster.push_back(late);
  return cluster;
}

/// What single latencies of this link spread by: as those of all do, or as its own where these lie much closer together: what makes messages
/// late by a time, not by a part, leaves a slow link's as close as others'. A few that are close to each other and far from the rest are so by chance.
double spread_for(const LinkSamples& link, double usual, double small) {
  constexpr double kCloser = 0.3;
  const auto own = spread_of(link);
  if (!own || *own >= kCloser * usual) return usual;
  return 2 * cluster_of(link, *own, small).size() >= link.waited.size() ? *own : usual;
}

Added added_by(const LinkSamples& link, double spread, double small) {
  Added added;
  const std::vector<double> cluster = cluster_of(link, spread, small);
  if (cluster.empty() || (cluster.size() == 1 && link.waited.size() > 1)) return added;
  added.known = true;
  added.value = spread > kJittery ? jittery_value(link, cluster, spread) : median_of(cluster);
  if (is_refuted(link, added.value, small)) return {};
  const double part = 1.25 * spread / std::sqrt(static_cast<double>(cluster.size()));
  added.error = part * std::max(added.value + link.latency, 0.0);
  if (std::abs(added.value) < std::max(5 * small, 5 * part * link.latency)) added.value = 0;
  return added;
}

bool agree(const Added& a, const Added& b, double small) {
  const double error = 3 * std::hypot(a.error, b.error);
  return std::abs(a.value - b.value) <=
         std::max({5 * small, error, 0.02 * std::max(std::abs(a.value), std::abs(b.value))});
}

/// What messages must show.
struct LeastShown {
  double small = 0;     ///< ticks
  std::size_t due = 0;  ///< messages
};

/// [link]. A link whose messages always found a busy rank when they were due is slow if it is by as much as that of the other direction, and the rank does not pause: what stops
/// ranks does not do that.
std::vector<Added> added_by_links(const Wiring& wiring, const std::vector<LinkSamples>& samples,
                                  const std::vector<RankGaps>& gaps, const std::vector<double>& jitter,
                                  const LeastShown& least) {
  constexpr std::size_t kFewest = 3;
  std::vector<Added> added;
  std::vector<Added> busy;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Added all = added_by(samples[i], jitter[i], least.small);
    const bool is_due = samples[i].due.size() >= least.due;
    added.push_back(is_due ? all : Added{});
    busy.push_back(is_due || gaps[wiring.links[i].to.at()].paused ? Added{} : all);
  }
  const std::vector<Added> due = added;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t back = opposite(wiring, i);
    if (!busy[i].known || busy[i].value <= 0 || back >= samples.size()) continue;
    const bool both =
        busy[back].known && std::min(samples[i].waited.size(), samples[back].waited.size()) >= kFewest;
    const Added& other = both ? busy[back] : due[back];
    if (other.known && other.value > 0 && agree(busy[i], other, least.small)) added[i] = busy[i];
  }
  return added;
}

/// One cause for all links, if nearly all agree.
std::optional<LinkCause> common_cause(const std::vector<Added>& added, double small) {
  std::vector<double> values;
  for (const Added& of : added)
    if (of.known) values.push_back(of.value);
  if (values.size() < 4) return std::nullopt;
  const Added middle{.value = median_of(values), .error = 0, .known = true};
  if (middle.value == 0) return std::nullopt;
  std::size_t same = 0;
  double errors = 0;
  for (const Added& of : added) {
    if (!of.known || !agree(of, middle, small)) continue;
    ++same;
    errors = std::hypot(errors, of.error);
  }
  if (static_cast<double>(same) < 0.85 * static_cast<double>(values.size())) return std::nullopt;
  return LinkCause{.link = std::nullopt,
                   .both_ways = true,
                   .added = std::llround(middle.value),
                   .sd = errors / static_cast<double>(same)};
}

}  // namespace

std::size_t opposite(const Wiring& wiring, std::size_t link) {
  const Link back{wiring.links[link].to, wiring.links[link].from};
  return static_cast<std::size_t>(std::find(wiring.links.begin(), wiring.links.end(), back) -
                                  wiring.links.begin());
}

Ticks small_wait(const std::vector<MeasuredStep>& steps) {
  return std::llround(kSmallPart * static_cast<double>(usual_time(steps)));
}

Ticks usual_time(const std::vector<MeasuredStep>& steps) {
  std::vector<double> times;
  for (std::size_t e = 0; e < steps[0].times.start.size(); ++e)
    times.push_back(static_cast<double>(steps[0].times.end[e] - steps[0].times.start[e]));
  return std::max<Ticks>(1, std::llround(median_of(times)));
}

namespace {

/// What a gap is no less than but for a few: between entries that stand back to back. Nothing of too few.
std::optional<double> least_of(std::vector<double> gaps) {
  if (gaps.size() < 8) return std::nullopt;
  const auto place = static_cast<std::ptrdiff_t>(std::max<std::size_t>(2, gaps.size() / 40));
  std::nth_element(gaps.begin(), gaps.begin() + place, gaps.end());
  return std::max(0.0, gaps[static_cast<std::size_t>(place)]);
}

/// Per message, of entries that stand back to back, over what lies between those without any; nothing where too few send or receive.
std::optional<double> smallest_gap(const Wiring& wiring, const std::vector<MeasuredStep>& steps) {
  std::vector<double> without;
  std::vector<std::pair<double, int>> gaps;
  for (const MeasuredStep& step : steps)
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      const std::uint32_t previous = step.order.previous[e];
      if (previous == Wiring::kNone) continue;
      const int count = wiring.sends[previous] + wiring.receives[e];
      const auto gap = static_cast<double>(step.times.start[e] - step.times.end[previous]);
      if (count > 0)
        gaps.emplace_back(gap, count);
      else
        without.push_back(gap);
    }
  const double between = least_of(std::move(without)).value_or(0);
  std::vector<double> each;
  for (const auto& [gap, count] : gaps) each.push_back((gap - between) / count);
  return least_of(std::move(each));
}

}  // namespace

Ticks find_rank_time(const Wiring& wiring, const std::vector<MeasuredStep>& steps,
                     const std::vector<MeasuredStep>& predicted, Ticks rank_time) {
  const auto found = smallest_gap(wiring, steps);
  const auto before = smallest_gap(wiring, predicted);
  if (!found || !before) return rank_time;
  const auto known = static_cast<double>(rank_time);
  const double value = std::max(0.0, known + *found - *before);
  const auto small = static_cast<double>(small_wait(steps));
  return std::abs(value - known) < small ? rank_time : std::llround(value);
}

void find_links(const Wiring& wiring, const Residuals& base, const std::vector<MeasuredStep>& steps,
                const std::vector<RankGaps>& gaps, WaitFindings& waits) {
  std::vector<LinkSamples> samples = take_samples(wiring, base, steps, gaps, waits.rank_time);
  waits.after_wait = take_pauses(wiring, samples, gaps);
  const auto small = static_cast<double>(small_wait(steps));
  const double spread = usual_spread(samples);
  waits.jitter.clear();
  for (const LinkSamples& link : samples) waits.jitter.push_back(spread_for(link, spread, small));
  std::vector<Added> added =
      added_by_links(wiring, samples, gaps, waits.jitter, {small, (steps.size() + 1) / 2});
  std::vector<LinkCause>& causes = waits.links;
  if (const auto common = common_cause(added, small)) {
    causes.push_back(*common);
    for (Added& of : added) {
      if (!of.known) continue;
      const Added all{.value = static_cast<double>(common->added), .error = 0, .known = true};
      of.value = agree(of, all, small) ? 0 : of.value - all.value;
    }
  }
  std::vector<bool> done(added.size(), false);
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (done[i] || !added[i].known || added[i].value == 0) continue;
    LinkCause cause{.link = wiring.links[i],
                    .both_ways = false,
                    .added = std::llround(added[i].value),
                    .sd = added[i].error};
    const std::size_t other = opposite(wiring, i);
    if (other < added.size() && added[other].known && added[other].value != 0 &&
        agree(added[i], added[other], small)) {
      cause.both_ways = true;
      cause.added = std::llround((added[i].value + added[other].value) / 2);
      cause.sd = std::hypot(added[i].error, added[other].error) / 2;
      done[other] = true;
    }
    causes.push_back(cause);
  }
}

std::vector<Ticks> added_of(const Wiring& wiring, const std::vector<LinkCause>& causes, std::uint64_t on) {
  std::vector<Ticks> added(wiring.links.size(), 0);
  for (std::size_t c = 0; c < causes.size(); ++c) {
    if ((on >> c & 1U) == 0) continue;
    for (std::size_t i = 0; i < wiring.links.size(); ++i) {
      const Link link = wiring.links[i];
      const bool meant = !causes[c].link || *causes[c].link == link ||
                         (causes[c].both_ways && *causes[c].link == Link{link.to, link.from});
      if (meant) added[i] += causes[c].added;
    }
  }
  return added;
}

}  // namespace pipeloom::study::explain
