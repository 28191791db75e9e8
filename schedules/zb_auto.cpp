// ZB-auto: F, I and W in an order found for given times and a memory limit. With a limit of p activations it is the zero-bubble paper's
// ZB-1p, with 2p its ZB-2p.
//
// Source: Qi et al., "Zero Bubble Pipeline Parallelism" (2023, arXiv 2401.10241), section 4 and appendix B. The order is played forward
// in time (zb_auto_order.hpp) in eight ways, and the first cheapest is taken; cost is the longest time from a rank's first start to its
// last end, which is what a step takes when no rank waits for the others before its optimizer.
//
// p = 4, m = 8, F = I = W, a limit of 8 microbatches; every op takes one column (two characters):
//
//   rank 0  F0F1F2F3F4F5F6I0F7W0I1W1I2W2I3W3I4W4I5W5I6W6I7W7
//   rank 1    F0F1F2F3F4I0F5I1F6I2F7I3W0I4W1I5W2I6W3I7W4W5W6W7
//   rank 2      F0F1F2I0F3I1F4I2F5I3F6I4F7I5W0I6W1I7W2W3W4W5W6W7
//   rank 3        F0I0F1I1F2I2F3I3F4I4F5I5F6I6F7I7W0W1W2W3W4W5W6W7
//
// Requires: any p, m. A limit below p microbatches gives poor orders: ranks then run nearly one microbatch at a time.
//
// Closed forms, equal stages, no transfers, F = I = W, a limit of k >= p microbatches: max_window
// max(3m + max(0, 2p - 1 - k), 2m + 2p - 1) F: zb-h1's for k = p, the work alone from k = 2p - 1 on.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedules/activation_limit.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/kind_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"
#include "schedules/zb_auto_order.hpp"

namespace pipeloom::schedules {
namespace {

constexpr std::string_view kAll = "all";
/// An order that costs more than this over the one of p microbatches is poor.
constexpr double kPoor = 1.05;

std::optional<ZbAutoOrder> find_order(const Params& params, const Terms& terms,
                                      const std::vector<Bytes>& limit) {
  ZbAutoSearch search(terms, params.microbatches, limit);
  if (params.options.variant.empty() || params.options.variant == kAll) return search.best();
  const auto* const named = std::find(kZbAutoNames.begin(), kZbAutoNames.end(), params.options.variant);
  return search.play(static_cast<std::size_t>(named - kZbAutoNames.begin()));
}

/// The smallest whole number of microbatches up to `most` whose order is `wanted`; `most` if none is below. Orders get cheaper with the
/// limit but for small steps back, so halving finds it.
template <class Wanted>
int least_microbatches(const Params& params, const Terms& terms, int most, const Wanted& wanted) {
  const Placement placement = linear_placement(params);
  int low = 0;
  int high = most;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    const auto limit = limit_of_microbatches(middle * kUnitScale, placement, terms.memory);
    (wanted(find_order(params, terms, limit.bytes)) ? high : low) = middle;
  }
  return high;
}

/// So many microbatches of microbatch_bytes(), which looks at the first ranks, that every rank has room for all of its own.
int room_for_all(const Params& params, const Terms& terms) {
  const Bytes each = microbatch_bytes(linear_placement(params), terms.memory);
  const double largest = static_cast<double>(std::ranges::max(terms.memory.activation));
  const double all = std::ceil(params.microbatches * largest / static_cast<double>(std::max<Bytes>(each, 1)));
  return std::max(params.ranks, static_cast<int>(std::min(all, static_cast<double>(kMaxIndex))));
}

[[noreturn]] void refuse(const Params& params, const Terms& terms, const ActivationLimit& limit) {
  if (microbatch_bytes(linear_placement(params), terms.memory) == 0) {  // no number of them is room
    const auto largest = std::ranges::max_element(terms.memory.activation);
    const auto rank = static_cast<int>(largest - terms.memory.activation.begin());
    throw without_room("zb-auto", limit, terms.memory, Rank(rank), *largest);
  }
  const int least = least_microbatches(params, terms, room_for_all(params, terms),
                                       [](const auto& order) { return order.has_value(); });
  throw ScheduleError(
      fmt::format("zb-auto has no order within {}; the least limit that has one is {}: set "
                  "options.memory_limit.microbatches = {}",
                  limit.text, microbatches_text(least, linear_placement(params), terms.memory), least));
}

/// Below p microbatches: what the limit costs, and which one would do.
void warn_about_poor_order(const Params& params, const Terms& terms, const ActivationLimit& limit, Ticks cost,
                           Emission& emission) {
  const auto plenty =
      limit_of_microbatches(params.ranks * kUnitScale, linear_placement(params), terms.memory);
  if (*std::min_element(limit.bytes.begin(), limit.bytes.end()) >= plenty.bytes.front()) return;
  const auto good = find_order(params, terms, plenty.bytes);
  const auto is_good = [&](const std::optional<ZbAutoOrder>& order) {
    return order && static_cast<double>(order->cost) <= kPoor * static_cast<double>(good->cost);
  };
  if (!good || static_cast<double>(cost) <= kPoor * static_cast<double>(good->cost)) return;
  const int least = least_microbatches(params, terms, params.ranks, is_good);
  emission.warnings.push_back(
      fmt::format("zb-auto gives a poor order within {}: ranks run nearly one microbatch at a time, and the "
                  "longest window is "
                  "{:.2f} times that of {}, the cheapest limit for a good one; take a schedule for little "
                  "memory (v-half, "
                  "v-min) or raise the limit",
                  limit.text, static_cast<double>(cost) / static_cast<double>(good->cost),
                  microbatches_text(least, linear_placement(params), terms.memory)));
}

Schedule emit(const Params& params, const Terms& terms, Emission& emission) {
  require_summable(params, terms);
  const ActivationLimit limit = activation_limit(params, linear_placement(params), terms.memory);
  const auto order = find_order(params, terms, limit.bytes);
  if (!order) refuse(params, terms, limit);
  emission.limit = limit.text;
  emission.setting = kZbAutoNames[order->setting];
  warn_about_poor_order(params, terms, limit, order->cost, emission);
  return schedule_of_kinds(order->queues, params);
}

/// k of the limit, where it is a whole number of microbatches.
std::optional<std::int64_t> whole_microbatches(const Params& params) {
  if (!params.options.memory_limit.given()) return params.ranks;
  const auto count = params.options.memory_limit.microbatches;
  if (!count || *count % kUnitScale != 0) return std::nullopt;
  return *count / kUnitScale;
}

std::vector<ClosedForm> closed_forms() {
  return {time_form("max_window", "max(3m + max(0, 2p - 1 - k), 2m + 2p - 1) F",
                    "equal stages, no transfers, F = I = W, a limit of k >= p microbatches (p by default)",
                    [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                      const std::int64_t p = params.ranks;
                      const std::int64_t m = params.microbatches;
                      const auto k = whole_microbatches(params);
                      if (!k || *k < p || !equal_passes(costs)) return std::nullopt;
                      return std::max(3 * m + std::max<std::int64_t>(0, 2 * p - 1 - *k), 2 * m + 2 * p - 1) *
                             costs.forward;
                    })};
}

std::vector<std::string> variants() {
  std::vector<std::string> names = {std::string(kAll)};
  names.insert(names.end(), kZbAutoNames.begin(), kZbAutoNames.end());
  return names;
}

/// The paper's name for a limit of `times` p microbatches.
Alias paper_name(const char* name, int times) {
  return {name, "zero bubble", [times](Params& params) {
            params.options.memory_limit =
                MemoryLimit{.bytes = {}, .microbatches = Scale{times} * params.ranks * kUnitScale};
          }};
}

}  // namespace

Generator zb_auto() {
  return {
      .name = "zb-auto",
      .aliases = {paper_name("zb-1p", 1), paper_name("zb-2p", 2)},
      .summary = "zero bubble in an order found for given times and memory",
      .source =
          "Qi et al. 2023, Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 4 and appendix B",
      .when_to_use =
          "Times of F, I and W are known (costs.*) and memory is between p and 2p activations of a stage, or "
          "more: "
          "the idle time falls as the limit (options.memory_limit, memory.limit_bytes) grows. Unequal stages "
          "and slow "
          "links are taken into account. Below p activations take v-half or v-min.",
      .requirements = {.splits_backward = true,
                       .takes = {Option::MemoryLimit},
                       .needs_terms = true,
                       .variants = variants(),
                       .text = "any ranks, any microbatches"},
      .closed_forms = closed_forms(),
      .placement = linear_placement,
      .emit = emit,
      .effort = {.per_op = 0.2e-6},
  };
}

}  // namespace pipeloom::schedules
