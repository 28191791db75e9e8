// V-adaptive: F, I and W on a V placement in an order searched for under any memory limit, from about a third of 1f1b's activations to as
// many as there are.
//
// Source: Qi et al., "Pipeline Parallelism with Controllable Memory" (2024, arXiv 2405.15362), the adaptive scheduler: building blocks,
// repeated, with their ends reworked, the cheapest at real times kept. Here they are where the search for orders begins (v_adaptive_order.hpp).
//
// p = 4, m = 8, F = I = W, a limit of 4 microbatches: no rank idles between its first and its last op, as in zbv's order.
//
// Variant short ends the search after its first part, a tenth of the time: the order is the same where that proves it the best.
//
// Requires: v = 2; any p, m. The search takes up to a second.
//
// Closed forms, equal stages, no transfers, F = I = W per chunk pass, a limit of k chunk passes (k even: whole microbatches), p < k <= 2p,
// m >= 2p: max_window (6m + max(0, 6p - 3k - 1)) F.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "schedules/activation_limit.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/placements.hpp"
#include "schedules/registry.hpp"
#include "schedules/v_adaptive_order.hpp"
#include "sim/orders/search/search.hpp"

namespace pipeloom::schedules {
namespace {

constexpr std::string_view kShort = "short";

/// The least limit of any rank, and the microbatches of the first two ranks that it is.
[[noreturn]] void refuse(const Params& params, const Terms& terms, const ActivationLimit& limit,
                         const LeastLimit& least) {
  const Bytes bytes = *std::max_element(least.bytes.begin(), least.bytes.end());
  const Bytes each = std::max<Bytes>(1, microbatch_bytes(v_placement(params), terms.memory));
  throw ScheduleError(
      fmt::format("v-adaptive has no order within {}; the least limit that has one is {} on every rank: set "
                  "options.memory_limit.microbatches = {}",
                  limit.text, activations_text(terms.memory, bytes), (bytes + each - 1) / each));
}

Schedule emit(const Params& params, const Terms& terms, Emission& emission) {
  require_summable(params, terms);
  const ActivationLimit limit = activation_limit(params, v_placement(params), terms.memory);
  const bool is_short = emission.may_end_early || params.options.variant == kShort;
  auto found = v_adaptive_order(terms, params.ranks, params.microbatches, limit.bytes, emission.progress,
                                is_short ? SearchPart::First : SearchPart::Whole);
  if (std::holds_alternative<SearchCancelled>(found)) throw Stopped();
  if (const auto* least = std::get_if<LeastLimit>(&found)) refuse(params, terms, limit, *least);
  auto& order = std::get<VAdaptiveOrder>(found);
  emission.limit = limit.text;
  emission.setting = order.origin;
  emission.ended_early = order.ended_early;
  return std::move(order.schedule);
}

/// k of the limit, where it is a whole number of microbatches of two passes.
std::optional<std::int64_t> whole_passes(const Params& params) {
  if (!params.options.memory_limit.given()) return std::int64_t{2} * params.ranks;
  const auto count = params.options.memory_limit.microbatches;
  if (!count || *count % kUnitScale != 0) return std::nullopt;
  return *count / kUnitScale * 2;
}

std::vector<ClosedForm> closed_forms() {
  return {time_form("max_window", "(6m + max(0, 6p - 3k - 1)) F, F per chunk pass",
                    "equal stages, no transfers, F = I = W, m >= 2p, a limit of k chunk passes (2p by "
                    "default), p < k <= 2p",
                    [](const Params& params, const UniformCosts& costs, Rank) -> Value {
                      const std::int64_t p = params.ranks;
                      const std::int64_t m = params.microbatches;
                      const auto k = whole_passes(params);
                      if (!k || *k <= p || *k > 2 * p || m < 2 * p || !equal_passes(costs))
                        return std::nullopt;
                      return (6 * m + std::max<std::int64_t>(0, 6 * p - 3 * *k - 1)) * costs.forward;
                    })};
}

}  // namespace

Generator v_adaptive() {
  return {
      .name = "v-adaptive",
      .aliases = {},
      .summary = "an order on a V searched for under any memory limit",
      .source =
          "Qi et al. 2024, Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, adaptive "
          "scheduler",
      .when_to_use =
          "Memory lies between what v-min, v-half and zbv hold, or times of F, I and W differ so much that "
          "their fixed "
          "orders idle. Never worse than they are where they fit the limit (options.memory_limit, "
          "memory.limit_bytes). "
          "The search takes up to a second for large runs; options.variant = short takes a tenth of it.",
      .requirements = {.min_chunks = 2,
                       .max_chunks = 2,
                       .default_chunks = 2,
                       .splits_backward = true,
                       .takes = {Option::MemoryLimit},
                       .needs_terms = true,
                       .slow_search = true,
                       .variants = {"whole", std::string(kShort)},
                       .text = "any ranks, any microbatches, chunks = 2"},
      .closed_forms = closed_forms(),
      .placement = v_placement,
      .emit = emit,
      .effort = {.per_op = 5e-6,
                 .per_searched_op = 1.5e-4,
                 .most_searched = 1,
                 .first_part = orders::kFirstPart,
                 .first_part_variant = kShort},
  };
}

}  // namespace pipeloom::schedules
