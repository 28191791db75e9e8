#include "study/explain/pauses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "study/explain/ops/op_candidates.hpp"
#include "study/explain/robust.hpp"

namespace pipeloom::study::explain {
namespace {

constexpr double kSmallWait = 0.002;  // of a usual op: less is no wait
constexpr double kTinyPart = 0.0001;  // less is no gap
constexpr std::size_t kFewest = 6;    // gaps that say how long a rank pauses
constexpr double kLongest = 12;       // medians: longer ones are single pauses
constexpr double kAlikePauses = 2.5;  // means of ranks that pause alike
constexpr double kMadeUp = 1.2;       // of a pause: ranges that end early are not shorter by more
constexpr double kMostAlike = 0.75;   // of the ranks

struct Found {
  std::vector<double> free;                      // before entries without messages
  std::vector<std::pair<Ticks, double>> before;  // for how long messages were there, and the gap
};

/// The gaps before entries whose messages were there longest: those of slow links came later than the others.
std::vector<double> earliest(std::vector<std::pair<Ticks, double>> before) {
  std::sort(before.rbegin(), before.rend());
  before.resize(std::min(before.size(), std::max(kFewest, before.size() / 2)));
  std::vector<double> gaps;
  for (const auto& of : before) gaps.push_back(of.second);
  return gaps;
}

/// When the rank of an entry is free for it.
std::optional<Ticks> free_at(const Wiring& wiring, const MeasuredStep& step, std::size_t e, Ticks tau) {
  const std::uint32_t previous = step.order.previous[e];
  if (previous == Wiring::kNone) return std::nullopt;
  return step.times.end[previous] + tau * wiring.sends[previous];
}

std::vector<Found> gaps_of_ranks(const Wiring& wiring, const Residuals& base,
                                 const std::vector<MeasuredStep>& steps, Ticks tau, Ticks small) {
  std::vector<Found> found(static_cast<std::size_t>(wiring.ranks));
  for (const MeasuredStep& step : steps)
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      const std::optional<Ticks> free = free_at(wiring, step, e, tau);
      if (!free) continue;
      Ticks least =
          kMaxTicks;  // that a message was there before the rank was free, beyond what makes it early
      for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i) {
        const Message& message = wiring.messages[i];
        const Ticks there = step.times.end[message.producer] + tau * wiring.sends[message.producer] +
                            message.latency + std::max(message.latency, small);
        least = std::min(least, *free - there);
      }
      Found& of = found[wiring.rank[e].at()];
      const bool alone = wiring.message_begin[e] == wiring.message_begin[e + 1];
      const Ticks gap = step.times.start[e] - tau * wiring.receives[e] - base.late[e] - *free;
      if (alone)
        of.free.push_back(static_cast<double>(gap));
      else if (least >= 0)
        of.before.emplace_back(least, static_cast<double>(gap));
    }
  return found;
}

RankGaps rank_gaps(std::vector<double> gaps, double small, double tiny) {
  RankGaps out{.most = std::llround(small)};
  if (gaps.size() < kFewest) return out;
  std::sort(gaps.begin(), gaps.end());
  const double median = median_of(gaps);
  if (median <= tiny) return out;
  out.paused = true;
  double count = 0;
  for (const double gap : gaps) {
    if (gap > kLongest * median) break;
    out.mean += gap;
    ++count;
  }
  out.mean = std::max(0.0, out.mean / count);
  out.most =
      std::max<Ticks>(out.most, std::llround(std::min(2 * gaps[gaps.size() * 9 / 10], kLongest * median)));
  return out;
}

/// What ranks are idle for before entries, beside what is found. [step][entry]
struct IdleTimes {
  std::vector<std::vector<Ticks>> later;
  std::vector<std::vector<bool>> free;  ///< it waited for nothing, and no hiccup came before it
};

IdleTimes idle_times(const Wiring& wiring, const Residuals& base, const std::vector<MeasuredStep>& steps,
                     const Findings& findings) {
  const std::vector<Ticks> added = added_of(wiring, findings.waits.links, ~std::uint64_t{0});
  const Ticks tau = findings.waits.rank_time;
  IdleTimes out;
  for (const MeasuredStep& step : steps) {
    std::vector<Ticks> duration(wiring.entries());
    for (std::size_t e = 0; e < wiring.entries(); ++e) duration[e] = step.times.end[e] - step.times.start[e];
    const World world{&step.order, duration, added, tau, nullptr};
    std::vector<Ticks>& later = out.later.emplace_back(residuals_of(wiring, world, step.times).late);
    std::vector<bool>& is_free = out.free.emplace_back(wiring.entries(), false);
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      const std::optional<Ticks> free = free_at(wiring, step, e, tau);
      is_free[e] = free && step.times.start[e] - tau * wiring.receives[e] - later[e] <= *free;
      later[e] = std::max<Ticks>(0, later[e] - base.late[e]);
      if (!is_free[e]) later[e] = std::min(later[e], findings.waits.after_wait[wiring.rank[e].at()]);
    }
  }
  for (const Hiccup& hiccup : findings.hiccups)
    for (const Hiccup::Place& place : hiccup.places) {
      if (place.later == 0) continue;
      out.later[static_cast<std::size_t>(place.step)][place.entry] = 0;
      out.free[static_cast<std::size_t>(place.step)][place.entry] = false;
    }
  return out;
}

/// Of one rank, or of all: of those with their bit in `ranks`.
Pause pause_of(const Wiring& wiring, std::optional<Rank> rank, const IdleTimes& idle,
               const std::vector<bool>& ranks) {
  Pause out{.rank = rank};
  double sum = 0;
  double entries = 0;
  for (std::size_t s = 0; s < idle.later.size(); ++s) {
    std::vector<Ticks>& later = out.later.emplace_back(idle.later[s].size(), Ticks{0});
    for (std::size_t e = 0; e < later.size(); ++e) {
      if (!ranks[wiring.rank[e].at()]) continue;
      later[e] = idle.later[s][e];
      if (!idle.free[s][e]) continue;
      sum += static_cast<double>(later[e]);
      ++entries;
    }
  }
  out.each = entries > 0 ? std::llround(sum / entries) : 0;
  return out;
}

}  // namespace

std::vector<RankGaps> find_gaps(const Wiring& wiring, const Residuals& base,
                                const std::vector<MeasuredStep>& steps, Ticks rank_time) {
  const auto usual = static_cast<double>(usual_time(steps));
  std::vector<RankGaps> out;
  for (Found& of : gaps_of_ranks(wiring, base, steps, rank_time, std::llround(kSmallWait * usual)))
    out.push_back(rank_gaps(of.free.size() >= kFewest ? std::move(of.free) : earliest(std::move(of.before)),
                            kSmallWait * usual, kTinyPart * usual));
  return out;
}

std::vector<Pause> find_pauses(const Wiring& wiring, const Residuals& base,
                               const std::vector<MeasuredStep>& steps, const std::vector<RankGaps>& gaps,
                               const Findings& findings) {
  std::vector<double> means;
  for (const RankGaps& of : gaps)
    if (of.paused) means.push_back(of.mean);
  if (means.empty()) return {};
  const double middle = median_of(std::move(means));
  std::vector<bool> alike;
  for (const RankGaps& of : gaps)
    alike.push_back(of.paused && of.mean <= kAlikePauses * middle && of.mean * kAlikePauses >= middle);
  const auto same = static_cast<double>(std::count(alike.begin(), alike.end(), true));
  const bool common = gaps.size() > 1 && same >= kMostAlike * static_cast<double>(gaps.size());
  const IdleTimes idle = idle_times(wiring, base, steps, findings);
  std::vector<Pause> out;
  if (common) out.push_back(pause_of(wiring, std::nullopt, idle, alike));
  for (std::size_t r = 0; r < gaps.size(); ++r) {
    if (!gaps[r].paused || (common && alike[r])) continue;
    std::vector<bool> one(gaps.size(), false);
    one[r] = true;
    out.push_back(pause_of(wiring, Rank(static_cast<std::int32_t>(r)), idle, one));
  }
  std::erase_if(out, [](const Pause& pause) { return pause.each == 0; });
  return out;
}

std::optional<std::size_t> made_up_by(const Wiring& wiring, const Findings& findings, const OpCause& faster) {
  if (faster.size() >= 0 || faster.ops.microbatch) return std::nullopt;
  const std::span<const OpCause> alone(&faster, 1);
  for (std::size_t p = 0; p < findings.pauses.size(); ++p) {
    const Pause& pause = findings.pauses[p];
    double shorter = 0;
    double paused = 0;
    for (std::size_t e = 0; e < wiring.entries(); ++e) {
      if (wiring.predicted[e] == 0) continue;
      const double less =
          -std::expm1(log_factor_of(wiring, e, alone)) * static_cast<double>(wiring.predicted[e]);
      if (less <= 0) continue;
      shorter += less;
      if (!pause.rank || *pause.rank == wiring.rank[e]) paused += static_cast<double>(pause.each);
    }
    if (shorter > 0 && shorter <= kMadeUp * paused) return p;
  }
  return std::nullopt;
}

namespace {

constexpr double kSmallestPart = 0.05;  // of a usual op
constexpr double kSpreads = 5;          // of single ops
constexpr double kSpreadsOfGap = 12;
constexpr double kSpreadsOfLatency = 5;
constexpr double kMostJitter = 0.35;  // of logs: what is wider is no jitter of a latency
constexpr double kMostGaps = 0.1;     // of a rank's entries

/// What an entry's duration and start have too much.
struct Excess {
  std::vector<Ticks> longer;  // [entry]
  std::vector<Ticks> later;   // [entry]
};

Excess excess_of(const Wiring& wiring, const Times& predicted, const Residuals& base,
                 const MeasuredStep& step, const Findings& findings, const std::vector<double>& center) {
  Excess excess{std::vector<Ticks>(wiring.entries(), 0), {}};
  std::vector<Ticks> duration(wiring.entries());
  const double width = std::max(kSpreads * findings.ops.sigma, 0.005);
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    duration[e] = step.times.end[e] - step.times.start[e];
    const Ticks expected =
        std::llround(static_cast<double>(predicted.end[e] - predicted.start[e]) * std::exp(center[e]));
    if (static_cast<double>(duration[e]) > static_cast<double>(expected) * std::exp(width))
      excess.longer[e] = duration[e] - expected;
  }
  const std::vector<Ticks> added = added_of(wiring, findings.waits.links, ~std::uint64_t{0});
  const World world{&step.order, duration, added, findings.waits.rank_time, nullptr};
  excess.later = residuals_of(wiring, world, step.times).late;
  for (std::size_t e = 0; e < wiring.entries(); ++e) excess.later[e] -= base.late[e];
  return excess;
}

/// What a gap must pass: spreads of those that are everywhere.
Ticks least_gap(const std::vector<Ticks>& later, Ticks small) {
  std::vector<double> gaps;
  for (const Ticks gap : later)
    if (gap > small / 50) gaps.push_back(static_cast<double>(gap));
  if (gaps.size() * 10 < later.size()) return small;
  std::sort(gaps.begin(), gaps.end());
  return std::max<Ticks>(small, std::llround(kSpreadsOfGap * gaps[gaps.size() / 2]));
}

/// [entry]: what a message that is late by chance alone may take longer.
std::vector<Ticks> usual_lateness(const Wiring& wiring, const WaitFindings& waits) {
  const std::vector<Ticks> added = added_of(wiring, waits.links, ~std::uint64_t{0});
  std::vector<Ticks> lateness(wiring.entries(), 0);
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    for (std::uint32_t i = wiring.message_begin[e]; i < wiring.message_begin[e + 1]; ++i) {
      const Message& message = wiring.messages[i];
      const auto latency = static_cast<double>(message.latency + added[message.link]);
      const double jitter = waits.jitter[message.link];
      const double late =
          std::max(std::expm1(kSpreadsOfLatency * std::min(jitter, kMostJitter)), kSpreadsOfLatency * jitter);
      lateness[e] = std::max<Ticks>(lateness[e], std::llround(late * latency));
    }
  return lateness;
}

/// [entry]: log of the time expected over the predicted one: causes and shift of its cell.
std::vector<double> centers(const Wiring& wiring, const OpFindings& ops) {
  std::vector<double> center(wiring.entries());
  for (std::size_t e = 0; e < wiring.entries(); ++e)
    center[e] = log_factor_of(wiring, e, ops.causes) + ops.shift[ops.cell[e]];
  return center;
}

}  // namespace

std::vector<Hiccup> find_hiccups(const Wiring& wiring, const Times& predicted, const Residuals& base,
                                 const std::vector<MeasuredStep>& steps, const Findings& findings,
                                 std::vector<std::string>& warnings) {
  const auto small = static_cast<Ticks>(kSmallestPart * static_cast<double>(usual_time(steps)));
  const std::vector<double> center = centers(wiring, findings.ops);
  const std::vector<Ticks> lateness = usual_lateness(wiring, findings.waits);
  std::vector<Hiccup> hiccups(static_cast<std::size_t>(wiring.ranks));
  std::vector<std::size_t> gaps(hiccups.size(), 0);
  std::vector<std::size_t> entries(hiccups.size(), 0);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Excess excess = excess_of(wiring, predicted, base, steps[s], findings, center);
    const Ticks least = least_gap(excess.later, small);
    for (std::uint32_t e = 0; e < wiring.entries(); ++e) {
      const std::size_t rank = wiring.rank[e].at();
      ++entries[rank];
      Hiccup::Place place{static_cast<int>(s), e, 0, 0};
      if (excess.longer[e] > small) place.longer = excess.longer[e];
      if (excess.later[e] > std::max(least, lateness[e])) {
        ++gaps[rank];
        place.later = excess.later[e];
      }
      if (place.longer != 0 || place.later != 0) hiccups[rank].places.push_back(place);
    }
  }
  std::vector<Hiccup> found;
  for (std::size_t r = 0; r < hiccups.size(); ++r) {
    hiccups[r].rank = Rank(static_cast<std::int32_t>(r));
    const double most =
        std::max(4.0 * static_cast<double>(steps.size()), kMostGaps * static_cast<double>(entries[r]));
    const bool everywhere = static_cast<double>(gaps[r]) > most;
    if (everywhere) {
      warnings.push_back(fmt::format(
          "rank {} waits before {} of its {} entries for longer than predicted: its messages may wait "
          "otherwise than the transfer model says",
          r, gaps[r], entries[r]));
      for (Hiccup::Place& place : hiccups[r].places) place.later = 0;
      std::erase_if(hiccups[r].places, [](const Hiccup::Place& place) { return place.longer == 0; });
    }
    if (!hiccups[r].places.empty()) found.push_back(std::move(hiccups[r]));
  }
  return found;
}

}  // namespace pipeloom::study::explain
