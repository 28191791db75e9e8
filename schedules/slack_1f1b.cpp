// Slack 1F1B: each rank stays enough forwards ahead of the next one to hide a slow link between them; F, I and W in an order played with the
// run's own times.
//
// Source: Wu et al., PipeMorph (NSDI 2026), and the policies of its pipeline simulator (ready_order.hpp). Variant `ready` is the one by
// which the authors' simulations and runs were planned; `warm-up` sets the slack by hand, before a rank's first I:
// x(p-1) = 1, x(r) = x(r+1) + 2 + ceil(c(r) / F(r)) forwards, c(r) the delay of the link between r and r + 1. The slackness
// x(r) - x(r+1) hides delays of about (x(r) - x(r+1) - 2) F. Under a memory limit of A microbatches on rank 0 the warm-up falls from A to 1
// in steps of div (p-1), one more in the first mod (p-1) of them.
//
// p = 4, m = 8, F = I = W; every op takes one column (two characters):
//
//   rank 0  F0F1F2F3F4F5F6I0F7I1W0I2W1I3W2I4W3I5W4I6W5I7W6W7
//   rank 1    F0F1F2F3F4I0F5I1F6I2F7I3W0I4W1I5W2I6W3I7W4W5W6W7
//   rank 2      F0F1F2I0F3I1F4I2F5I3F6I4F7I5W0I6W1I7W2W3W4W5W6W7
//   rank 3        F0I0F1I1F2I2F3I3F4I4F5I5F6I6F7I7W0W1W2W3W4W5W6W7
//
// Requires: any p, m, and room for one microbatch on every rank.
//
// Closed forms, equal stages, F = I = W, transfers of L, a multiple of F, no limit: max_window max(3m F, (2m + 2p - 1) F + 2(p - 1) L): the work alone,
// however slow the links are, from some m on. Variant `warm-up`: the same for L = 0.

#include <algorithm>

#include "schedules/activation_limit.hpp"
#include "schedules/closed_form.hpp"
#include "schedules/kind_order.hpp"
#include "schedules/placements.hpp"
#include "schedules/ready_order.hpp"
#include "schedules/registry.hpp"

namespace pipeloom::schedules {
namespace {

constexpr const char* kReady = "ready";
constexpr const char* kWarmUp = "warm-up";

bool has_fixed_warmup(const Params& params) {
  return params.options.variant == kWarmUp;
}

/// ceil(c / F) of the link from rank r to r + 1, with c the slower of its two directions; at most m.
int slack_of_link(const Costs& costs, std::size_t rank, int microbatches) {
  const Ticks delay = std::max(costs.forward_delay[rank + 1], costs.backward_delay[rank]);
  const Ticks forward = costs.duration[index_of(OpKind::Forward)][rank] + costs.entry;
  if (delay == 0) return 0;
  if (forward == 0) return microbatches;
  return static_cast<int>(std::min<Ticks>((delay - 1) / forward + 1, microbatches));
}

/// x(r) without a limit, from the last rank upward.
std::vector<int> slack_warmup(const Params& params, const Costs& costs) {
  std::vector<int> warmup(static_cast<std::size_t>(params.ranks), 1);
  for (std::size_t r = warmup.size() - 1; r-- > 0;)
    warmup[r] =
        std::min(params.microbatches, warmup[r + 1] + 2 + slack_of_link(costs, r, params.microbatches));
  return warmup;
}

/// x(r) where rank 0 may hold `most` microbatches: as even steps as there are, down to 1.
std::vector<int> even_warmup(const Params& params, int most) {
  std::vector<int> warmup(static_cast<std::size_t>(params.ranks), most);
  const int steps = params.ranks - 1;
  for (int r = 1; r < params.ranks; ++r) {
    const int drop = (most - 1) / steps + (r <= (most - 1) % steps ? 1 : 0);
    warmup[static_cast<std::size_t>(r)] = warmup[static_cast<std::size_t>(r) - 1] - drop;
  }
  return warmup;
}

/// Number of microbatches for which each rank has room. Throws ScheduleError if a rank has room for none.
std::vector<int> rooms(const Params& params, const MemoryModel& memory, const ActivationLimit& limit) {
  std::vector<int> room;
  for (Rank rank{0}; rank < Rank(params.ranks); ++rank) {
    room.push_back(room_for(memory, rank, limit.bytes[rank.at()], params.microbatches));
    const Bytes held = memory.activation[rank.at()];
    if (room.back() == 0)
      throw without_room("slack-1f1b", limit, memory, rank,
                         std::max(held, held - memory.released_at_input[rank.at()]));
  }
  return room;
}

Schedule emit(const Params& params, const Terms& terms, Emission& emission) {
  require_summable(params, terms);
  ReadyRule rule;
  if (has_fixed_warmup(params)) rule.warmup = slack_warmup(params, terms.costs);
  emission.limit = "no limit";
  if (params.options.memory_limit.given() || !terms.memory.limit.empty()) {
    const ActivationLimit limit = activation_limit(params, linear_placement(params), terms.memory);
    const std::vector<int> room = rooms(params, terms.memory, limit);
    emission.limit = limit.text;
    rule.limit = limit.bytes;
    if (has_fixed_warmup(params)) {
      rule.warmup = even_warmup(params, room_for(terms.memory, Rank(0), limit.bytes.front(), kMaxIndex));
      // A rank that has less room than the rule wants keeps the later ranks from running further ahead.
      int most = params.microbatches;
      for (std::size_t r = 0; r < room.size(); ++r)
        rule.warmup[r] = most = std::min({most, rule.warmup[r], room[r]});
    }
  }
  return schedule_of_kinds(ready_order(terms, params.microbatches, rule), params);
}

/// max(3m F, (2m + 2p - 1) F + 2(p - 1) L)
Value slack_window(const Params& params, const UniformCosts& costs, Rank) {
  const std::int64_t p = params.ranks;
  const std::int64_t m = params.microbatches;
  if (!equal_passes(costs) || costs.forward == 0 || params.options.memory_limit.given()) return std::nullopt;
  if (costs.delay > 0 && (has_fixed_warmup(params) || costs.delay % costs.forward != 0)) return std::nullopt;
  return std::max(3 * m * costs.forward, (2 * m + 2 * p - 1) * costs.forward + 2 * (p - 1) * costs.delay);
}

}  // namespace

Generator slack_1f1b() {
  return {
      .name = "slack-1f1b",
      .aliases = {{.name = "pipemorph", .dialect = "PipeMorph"}},
      .summary = "split backward far enough ahead of the next rank that slow links are hidden",
      .source = "Wu et al., PipeMorph, NSDI 2026: slackness of warm-ups, and the policies of its simulator",
      .when_to_use =
          "Links between ranks are slow or differ, and there is memory to spare: each rank runs ahead of the "
          "next by what the delay takes, so that a long step costs its work alone. Times, latencies and a "
          "limit (options.memory_limit, memory.limit_bytes) are taken into account. Without a limit W's wait "
          "for the end, and ranks hold what W needs of all microbatches.",
      .requirements = {.splits_backward = true,
                       .takes = {Option::MemoryLimit},
                       .default_memory_limit = "no limit",
                       .needs_terms = true,
                       .variants = {kReady, kWarmUp},
                       .text = "any ranks, any microbatches"},
      .closed_forms = {latency_form(
          "max_window", "max(3m F, (2m + 2p - 1) F + 2(p - 1) L)",
          "equal stages, F = I = W, no limit, L a multiple of F (variant warm-up: 0)", slack_window)},
      .placement = linear_placement,
      .emit = emit,
  };
}

}  // namespace pipeloom::schedules
