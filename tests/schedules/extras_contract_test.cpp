// Recomputation and offload, which any schedule may have: for every registered schedule and all small p, m, v.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::extras_contract_test {
namespace {

/// Every legal p to 8, m to 24, v to 4 of every schedule and variant.
void for_each_schedule(const std::function<void(const Schedule&)>& fn) {
  for (const Generator& generator : all()) {
    const Requirements& needs = generator.requirements;
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 24; ++m)
        for (int v = 1; v <= 4; ++v)
          for (const std::string& variant : variants_of(generator)) {
            Params params{.ranks = p, .microbatches = m, .chunks = v, .options = {.variant = variant}};
            params.options.slices = equal_slices(needs.default_slices);
            params.options.updates = needs.default_updates;
            if (needs.takes.has(Option::Waves)) params.options.waves = std::max(1, v / 2);
            if (!refusal(generator, params).empty() || is_slow(generator, params)) continue;
            INFO(fmt::format("{} {} p = {}, m = {}, v = {}", generator.name, variant, p, m, v));
            fn(make(generator, params));
          }
  }
}

std::size_t count(const Schedule& schedule, OpKind kind) {
  const auto ops = schedule.ops();
  return static_cast<std::size_t>(
      std::count_if(ops.begin(), ops.end(), [kind](Op op) { return op.kind() == kind; }));
}

/// A stash of 1 of 10 bytes, copies of 2 ticks.
Totals totals_of(const Schedule& schedule, Ticks copy = 2, Ticks recompute = 3) {
  Costs costs = uniform_costs(
      schedule.placement(),
      {.forward = 3, .backward = 7, .backward_input = 4, .backward_weight = 3, .copy = copy, .delay = 1});
  std::fill(costs.duration[index_of(OpKind::Recompute)].begin(),
            costs.duration[index_of(OpKind::Recompute)].end(), recompute);
  MemoryModel memory = default_memory(schedule.placement());
  std::fill(memory.activation.begin(), memory.activation.end(), 10);
  std::fill(memory.stash.begin(), memory.stash.end(), 1);
  Simulator simulator;
  return std::get<Totals>(simulator.evaluate(schedule, costs, memory));
}

std::string queue_of(const Schedule& schedule, int rank) {
  return queue_text(schedule, Rank(rank));
}

}  // namespace

TEST_CASE("full recomputation runs every forward again, right before its backward") {
  const Schedule schedule = with_recompute(parse_schedule("0F0 0F1 0B0 0I1 0W1 | 1F0 1B0 1F1 1I1 1W1"));
  CHECK(queue_of(schedule, 0) == "0F0 0F1 0R0 0B0 0R1 0I1 0W1");
  CHECK(queue_of(schedule, 1) == "1F0 1R0 1B0 1F1 1R1 1I1 1W1");
}

TEST_CASE("the window keeps the first passes of what a rank has outstanding") {
  // 1F1B with p = 3: rank 0 has 3 outstanding, so of F0 F1 F2 | F3 F4 F5 it keeps 0, 1, 3, 4; rank 1 has 2 and keeps both.
  const Schedule plain = make(*find("1f1b").generator, {.ranks = 3, .microbatches = 6});
  const Schedule schedule = with_recompute(plain, {.keep = 2});
  CHECK(queue_of(schedule, 0) == "0F0 0F1 0F2 0B0 0F3 0B1 0F4 0R2 0B2 0F5 0B3 0B4 0R5 0B5");
  CHECK(queue_of(schedule, 1) == queue_of(plain, 1));
  CHECK(with_recompute(plain, {.keep = 3}) == plain);
}

TEST_CASE("stages that the options name take part, others do not") {
  const Schedule plain = parse_schedule("0F0 0F1 0F2 0B0 0B1 0B2 | 1F0 1B0 1F1 1B1 1F2 1B2");
  const Schedule recomputed = with_recompute(plain, {.stages = {1}});
  CHECK(queue_of(recomputed, 0) == queue_of(plain, 0));
  CHECK(queue_of(recomputed, 1) == "1F0 1R0 1B0 1F1 1R1 1B1 1F2 1R2 1B2");
  // Of rank 0's window of three the first is kept; rank 1 takes no part, though its window has one alone.
  CHECK(queue_of(with_recompute(plain, {.keep = 1, .stages = {0}}), 0) == "0F0 0F1 0F2 0B0 0R1 0B1 0R2 0B2");
  const Schedule copied = with_offload(plain, {.chunks = {}, .min_gap = 0, .stages = {1}});
  CHECK(queue_of(copied, 0) == queue_of(plain, 0));
  CHECK(count(copied, OpKind::Offload) == 3);
}

TEST_CASE("a group's backward is recomputed in front of the group") {
  const Schedule schedule = with_recompute(parse_schedule("0F0 (0F1;0B0)OVERLAP_F_B 0B1"));
  CHECK(queue_of(schedule, 0) == "0F0 0R0 (0F1;0B0)OVERLAP_F_B 0R1 0B1");
}

TEST_CASE("copies stand behind the forward and ahead of the backward") {
  const Schedule plain = parse_schedule("0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3");
  CHECK(queue_of(with_offload(plain, {.chunks = {}, .prefetch = 1, .min_gap = 3}), 0) ==
        "0F0 0O0 0F1 0O1 0F2 0O2 0L0 0F3 0O3 0L1 0B0 0L2 0B1 0L3 0B2 0B3");
  // Prefetched as early as can be: right behind its own offload.
  CHECK(queue_of(with_offload(parse_schedule("0F0 0F1 0B1 0B0"), {.chunks = {}, .prefetch = 9, .min_gap = 2}),
                 0) == "0F0 0O0 0L0 0F1 0B1 0B0");
}

TEST_CASE("only the longest-lived chunks go if the rule says so") {
  const Schedule plain =
      make(*find("interleaved-1f1b").generator, {.ranks = 2, .microbatches = 4, .chunks = 2});
  const Schedule schedule = with_offload(plain, {.chunks = 1});
  for (const Op op : schedule.ops())
    if (is_copy(op.kind())) CHECK(op.stage() < Stage(2));  // chunk 0 of ranks 0 and 1
  CHECK(count(schedule, OpKind::Offload) > 0);
  CHECK(with_offload(plain, {.chunks = 0}) == plain);
}

TEST_CASE("a reload comes before the recomputation that needs it") {
  const Schedule schedule =
      with_offload(with_recompute(parse_schedule("0F0 0F1 0B1 0B0")), {.chunks = {}, .min_gap = 3});
  CHECK(queue_of(schedule, 0) == "0F0 0O0 0F1 0R1 0L0 0B1 0R0 0B0");
}

TEST_CASE("every schedule with recomputation: legal, running, and never more memory") {
  for_each_schedule([](const Schedule& plain) {
    const Totals without = totals_of(plain);
    for (const int keep : {0, 1, 2}) {
      const Schedule schedule = with_recompute(plain, {.keep = keep});
      REQUIRE(validate(schedule).empty());
      if (keep == 0) REQUIRE(count(schedule, OpKind::Recompute) == count(schedule, OpKind::Forward));
      const Totals totals = totals_of(schedule);
      REQUIRE(totals.makespan >= without.makespan);
      REQUIRE(totals.peak_live == without.peak_live);
      for (std::size_t r = 0; r < totals.busy.size(); ++r)
        REQUIRE(totals.peak_activation_bytes[r] <= without.peak_activation_bytes[r]);
    }
  });
}

TEST_CASE("every schedule with offload: legal and running, and free copies change nothing but memory") {
  for_each_schedule([](const Schedule& plain) {
    const Totals without = totals_of(plain);
    for (const OffloadOption& rule :
         {OffloadOption{}, OffloadOption{.chunks = 1, .prefetch = 0, .min_gap = 0}}) {
      const Schedule schedule = with_offload(plain, rule);
      REQUIRE(validate(schedule).empty());
      REQUIRE(count(schedule, OpKind::Offload) == count(schedule, OpKind::Reload));
      REQUIRE(totals_of(schedule).makespan >= without.makespan);
      const Totals free = totals_of(schedule, 0);
      REQUIRE(free.makespan == without.makespan);
      for (std::size_t r = 0; r < free.busy.size(); ++r)
        REQUIRE(free.peak_activation_bytes[r] <= without.peak_activation_bytes[r]);
    }
    const Schedule both = with_offload(with_recompute(plain), {.chunks = {}, .min_gap = 1});
    REQUIRE(validate(both).empty());
    REQUIRE(totals_of(both).makespan >= without.makespan);
  });
}

}  // namespace pipeloom::schedules::extras_contract_test
