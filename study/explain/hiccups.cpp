#include "study/explain/hiccups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/explain/ops/cause_times.hpp"
#include "study/explain/robust.hpp"

namespace pipeloom::study::explain {
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
