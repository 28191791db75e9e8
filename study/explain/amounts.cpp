#include "study/explain/amounts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <numbers>
#include <numeric>

#include "study/explain/ops/op_candidates.hpp"

namespace pipeloom::study::explain {
namespace {

__extension__ using Wide = __int128;

/// numerators / count, rounded so that they sum to `total`. REQUIRES: the exact quotients sum to within one each of it.
std::vector<Ticks> round_to_sum(const std::vector<Wide>& numerators, std::int64_t count, Ticks total) {
  std::vector<Ticks> rounded;
  std::vector<Wide> remainders;
  Wide sum = 0;
  for (const Wide numerator : numerators) {
    Wide quotient = numerator / count;
    if (quotient * count > numerator) --quotient;
    rounded.push_back(static_cast<Ticks>(quotient));
    remainders.push_back(numerator - quotient * count);
    sum += quotient;
  }
  std::vector<std::size_t> places(numerators.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  const Wide lacking = total - sum;
  for (Wide i = 0; i < lacking; ++i) ++rounded[places[static_cast<std::size_t>(i) % places.size()]];
  return rounded;
}

constexpr double kMostOff = 1;  // of sizes that hardly anything determines

/// From 0 to below 1.
double unit_draw(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11U) * 0x1p-53;
}

void draw_sizes(OpFindings& ops, std::mt19937_64& random) {
  std::vector<double> cells(ops.shift.size());
  for (double& of : cells) of = normal_draw(random);
  for (OpCause& cause : ops.causes) {
    const double off = cause.errors.empty()
                           ? cause.sd * normal_draw(random)
                           : std::inner_product(cells.begin(), cells.end(), cause.errors.begin(), 0.0);
    cause.set_size(cause.size() + std::clamp(off, -kMostOff, kMostOff));
  }
}

/// Shifts of cells so that these and `off` are together what they were.
void make_up_for(const Wiring& wiring, const OpFindings& found, OpFindings& off) {
  std::vector<bool> done(off.shift.size(), false);
  for (std::size_t e = 0; e < wiring.entries(); ++e) {
    const std::uint32_t cell = off.cell[e];
    if (done[cell] || wiring.predicted[e] == 0) continue;
    done[cell] = true;
    off.shift[cell] += log_factor_of(wiring, e, found.causes) - log_factor_of(wiring, e, off.causes);
  }
}

}  // namespace

std::vector<Ticks> shapley(int players, const std::vector<Ticks>& value) {
  if (players == 0) return {};
  std::vector<std::int64_t> factorial = {1};
  for (int i = 1; i <= players; ++i) factorial.push_back(factorial.back() * i);
  std::vector<Wide> sums(static_cast<std::size_t>(players), 0);
  const std::uint32_t sets = 1U << static_cast<unsigned>(players);
  for (std::uint32_t set = 0; set < sets; ++set) {
    const auto size = static_cast<std::size_t>(std::popcount(set));
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(players); ++i) {
      if ((set >> i & 1U) != 0) continue;
      const Wide weight = Wide{factorial[size]} * factorial[static_cast<std::size_t>(players) - size - 1];
      sums[i] += weight * (value[set | 1U << i] - value[set]);
    }
  }
  return round_to_sum(sums, factorial.back(), value[sets - 1] - value[0]);
}

std::vector<Ticks> divide_exactly(const std::vector<Ticks>& sums, std::int64_t count) {
  if (sums.empty()) return {};
  std::vector<Wide> numerators(sums.begin(), sums.end());
  Wide total = 0;
  for (const Wide sum : numerators) total += sum;
  const Wide exact = total >= 0 ? total / count : -((-total) / count);
  return round_to_sum(numerators, count, static_cast<Ticks>(exact));
}

Ticks waiting_of(const Explanation& explanation) {
  Ticks sum = 0;
  for (const Cause& cause : explanation.causes)
    if (cause.kind == CauseKind::Unexplained || cause.kind == CauseKind::Hiccup ||
        cause.kind == CauseKind::MessageTime || cause.kind == CauseKind::Link)
      sum += std::abs(cause.amount);
  return sum;
}

bool may_be_of_other_model(const Explanation& explanation) {
  constexpr double kWellExplained = 0.001;  // of the step
  return static_cast<double>(waiting_of(explanation)) >
         kWellExplained * static_cast<double>(explanation.measured);
}

double normal_draw(std::mt19937_64& random) {
  // Box and Muller's.
  const double radius = std::sqrt(-2 * std::log(1 - unit_draw(random)));
  return radius * std::cos(2 * std::numbers::pi * unit_draw(random));
}

Findings draw_findings(const Wiring& wiring, const Findings& findings, std::mt19937_64& random) {
  Findings off = findings;
  draw_sizes(off.ops, random);
  if (off.ops.cost_sigma > 0) make_up_for(wiring, findings.ops, off.ops);
  for (LinkCause& link : off.waits.links) link.added += std::llround(link.sd * normal_draw(random));
  for (Hiccup& hiccup : off.hiccups)
    for (Hiccup::Place& place : hiccup.places) {
      if (place.longer == 0) continue;
      const double op = off.ops.sigma * static_cast<double>(wiring.predicted[place.entry]);
      place.longer = std::max<Ticks>(0, place.longer + std::llround(op * normal_draw(random)));
    }
  return off;
}

}  // namespace pipeloom::study::explain
