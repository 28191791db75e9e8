#include "schedules/stack_rules.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "schedules/interleaved_order.hpp"
#include "schedules/nearest.hpp"

namespace pipeloom::schedules {
namespace {

bool takes_microbatches(const StackRule& rule, std::int64_t p, std::int64_t m) {
  if (m < rule.least_per_rank * p + rule.least_more) return false;
  if (rule.below_per_rank != 0 && m >= rule.below_per_rank * p) return false;
  if (rule.whole_rounds && m % p != 0) return false;
  return !rule.one_round || m == p;
}

/// "microbatches >= 2 ranks, a multiple of ranks"
std::string needed_microbatches(const StackRule& rule) {
  std::string text;
  const auto add = [&](const std::string& need) { text += (text.empty() ? "" : ", ") + need; };
  if (rule.one_round) add("microbatches = ranks");
  if (rule.whole_rounds) add("microbatches that are a multiple of ranks");
  if (rule.least_per_rank > 0) {
    const std::string ranks =
        rule.least_per_rank == 1 ? "ranks" : fmt::format("{} ranks", rule.least_per_rank);
    add(rule.least_more == 0 ? fmt::format("microbatches >= {}", ranks)
                             : fmt::format("microbatches >= {} - {}", ranks, -rule.least_more));
  }
  if (rule.below_per_rank > 0) add(fmt::format("microbatches < {} ranks", rule.below_per_rank));
  return text;
}

/// "needs at least 3 ranks; try 3", or "".
std::string refusal_of(const StackRule& rule, const Params& params) {
  if (params.ranks < rule.min_ranks) return fmt::format("at least {0} ranks; try {0}", rule.min_ranks);
  if (params.chunks < rule.min_chunks)
    return fmt::format("at least {0} chunks; try chunks = {0}", rule.min_chunks);
  if (takes_microbatches(rule, params.ranks, params.microbatches)) return "";
  const auto taken = [&](int m) { return takes_microbatches(rule, params.ranks, m); };
  return needed_microbatches(rule) + try_text(nearest(params.microbatches, {1, kMaxIndex}, taken));
}

void remainder_first(Params& params) {
  if (params.options.group_size) return;
  std::vector<int> sizes(static_cast<std::size_t>(params.microbatches / params.ranks), params.ranks);
  sizes.front() += params.microbatches % params.ranks;
  params.options.group_size = std::move(sizes);
}

}  // namespace

StackRule paddle_dynamic_groups() {
  return {.stack = "Paddle's dynamic graph",
          .least_per_rank = 2,
          .least_more = 0,
          .min_ranks = 3,
          .min_chunks = 2,
          .options = remainder_first};
}

std::function<void(Params&)> as_in_stack(std::string alias, const StackRule& rule) {
  return [alias = std::move(alias), rule](Params& params) {
    if (params.ranks < 1 || params.microbatches < 1) return;
    if (const std::string need = refusal_of(rule, params); !need.empty())
      throw ScheduleError(fmt::format("{} with ranks = {}, microbatches = {}: {} needs {}", alias,
                                      params.ranks, params.microbatches, rule.stack, need));
    if (params.options.variant.empty()) params.options.variant = rule.variant;
    if (rule.options != nullptr) rule.options(params);
  };
}

Alias alias_with_rounds(std::string name, const StackRule& rule) {
  const std::string stack(rule.stack);
  const auto both = [rounds = pytorch_rounds(name, stack), sizes = as_in_stack(name, rule)](Params& params) {
    rounds(params);
    sizes(params);
  };
  return {.name = std::move(name), .dialect = stack, .defaults = both};
}

}  // namespace pipeloom::schedules
