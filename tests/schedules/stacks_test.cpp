// The orders that other stacks' own schedulers gave (tests/golden/stacks), by the names that their users write.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedules/generator.hpp"
#include "schedules/recorded.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::stacks_test {
namespace {

using nlohmann::json;

/// A stack's schedule, the name that gives its orders, and how many sizes were recorded: taken and refused.
struct Row {
  std::string stack;
  std::string schedule;
  std::string name;
  std::size_t orders;
  std::size_t refusals;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"bitpipe", "BitPipe", "bitpipe-direct", 5, 15},
      {"colossalai", "OneForwardOneBackward", "OneForwardOneBackward", 39, 16},
      {"colossalai", "Interleaved", "colossalai-interleaved", 41, 204},
      {"colossalai", "v_schedule", "v_schedule", 212, 0},
      {"deepspeed", "TrainSchedule", "TrainSchedule", 49, 0},
      {"deepspeed", "DualPipeVSchedule", "DualPipeVSchedule", 19, 33},
      {"dynapipe", "1F1B", "1f1b", 56, 0},
      {"dynapipe", "interleaved-1F1B", "dynapipe-interleaved", 53, 0},
      {"dynapipe", "wait-free-cyclic", "wait-free-cyclic", 58, 0},
      {"dynapipe", "wait-free-cyclic interleaved", "wait-free-cyclic", 60, 0},
      {"dynapipe", "wait-free-cyclic limit", "wait-free-cyclic", 262, 0},
      {"galvatron", "gpipe_forward_backward", "gpipe_forward_backward", 50, 0},
      {"galvatron", "pipedream_flush_forward_backward", "pipedream_flush_forward_backward", 51, 0},
      {"internevo", "PipelineScheduler", "PipelineScheduler", 55, 0},
      {"internevo", "InterleavedPipelineScheduler", "InterleavedPipelineScheduler", 43, 180},
      {"jaxpp", "GPipe", "GPipe", 42, 0},
      {"jaxpp", "Std1F1B", "Std1F1B", 47, 0},
      {"jaxpp", "Eager1F1B", "Eager1F1B", 54, 0},
      {"jaxpp", "ZeroBubble", "jaxpp-zero-bubble", 41, 13},
      {"jaxpp", "Interleaved1F1B", "jaxpp-interleaved-1f1b", 177, 50},
      {"jaxpp", "Interleaved1F1B fused", "jaxpp-interleaved-1f1b-fused", 195, 43},
      {"jaxpp", "KimiK2", "KimiK2", 171, 41},
      {"jaxpp", "DualPipeV", "jaxpp-dualpipe-v", 22, 27},
      {"maxtext", "circular delay1", "circular", 37, 179},
      {"maxtext", "circular delay2", "circular", 43, 198},
      {"megatron_core", "interleaved", "megatron-interleaved", 129, 0},
      {"megatron_core", "interleaved overlap_moe", "megatron-combined-1f1b", 129, 0},
      {"mindspore", "zero_bubble_v", "zero_bubble_v", 49, 0},
      {"nnscaler", "sched_gpipe", "sched_gpipe", 51, 0},
      {"nnscaler", "sched_1f1b", "sched_1f1b", 47, 0},
      {"nnscaler", "sched_1f1b_interleaved", "sched_1f1b_interleaved", 50, 178},
      {"paddle", "static FThenB", "FThenB", 53, 0},
      {"paddle", "static 1F1B", "paddle-1f1b", 46, 18},
      {"paddle", "static Eager1F1B", "paddle-eager-1f1b", 24, 29},
      {"paddle", "static ZBH1", "ZBH1", 44, 12},
      {"paddle", "static VPP", "VPP", 138, 50},
      {"paddle", "static VPP split_backward", "VPP-split_backward", 11, 0},
      {"paddle", "static ZBVPP", "paddle-zbvpp", 7, 215},
      {"paddle", "dynamic PipelineParallel", "PipelineParallel", 50, 0},
      {"paddle", "dynamic WithInterleave", "PipelineParallelWithInterleave", 61, 96},
      {"paddle", "dynamic WithInterleave overlap", "PipelineParallelWithInterleave-overlap", 76, 107},
      {"paddle", "dynamic WithInterleave best_unbalanced", "PipelineParallelWithInterleave-best_unbalanced",
       66, 107},
      {"paddle", "dynamic InterleaveFthenB", "InterleaveFthenB", 9, 40},
      {"paddle", "dynamic VPPFhenBInBalancedMemory", "VPPFhenBInBalancedMemory", 54, 1},
      {"paddle", "dynamic DualPipeVParallel", "DualPipeVParallel", 28, 31},
      {"vescale", "v_schedule", "v_schedule", 110, 0},
  };
  return kRows;
}

json records_of(const std::string& stack) {
  return json::parse(recorded::read_text("stacks/" + stack + ".json"))["schedules"];
}

/// A recorded case: [p, m, v, hash, makespan, peaks, setting]; the last where the schedule has one.
Params params_of(const Row& row, const json& one) {
  Params params{.ranks = one[0], .microbatches = one[1], .chunks = one[2]};
  if (row.stack == "megatron_core") params.options.group_size = one[6].get<int>();
  if (row.schedule == "wait-free-cyclic limit")
    params.options.memory_limit.microbatches = one[6].get<Scale>() * kUnitScale;
  // What bitpipe counts are the four chunks of a rank, of which two are another copy of the model.
  if (row.stack == "bitpipe") params.chunks = 2;
  return params;
}

/// [F, I, W, message] of a schedule that looks at them, else F 1, B 2, I 1, W 1.
UniformCosts costs_of(const Row& row, const json& one) {
  if (row.schedule != "v_schedule")
    return {.forward = 1, .backward = 2, .backward_input = 1, .backward_weight = 1};
  const std::vector<Ticks> times = one[6];
  return {.forward = times[0],
          .backward = times[1] + times[2],
          .backward_input = times[1],
          .backward_weight = times[2],
          .delay = times[3]};
}

Schedule made(const Row& row, Params params, const UniformCosts& costs) {
  const auto [generator, alias] = find(row.name);
  if (alias != nullptr && alias->defaults) alias->defaults(params);
  if (const std::string reason = refusal(*generator, params); !reason.empty())
    throw ScheduleError({}, reason);
  const Placement placement = generator->placement(params);
  Emission unused;
  return make(*generator, params, {uniform_costs(placement, costs), default_memory(placement)}, unused);
}

std::string hash_of(const Schedule& schedule) {
  std::string text;
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    text += (rank == Rank(0) ? "" : "\n") + queue_text(schedule, rank);
  return recorded::sha256(text).substr(0, 16);
}

/// The records' clock: F 1, B 2, I 1, W 1 in every pass, free messages, a pair takes both.
void check_times(const json& one, const Schedule& schedule) {
  const UniformCosts costs{.forward = 1, .backward = 2, .backward_input = 1, .backward_weight = 1};
  const Totals totals = recorded::evaluate(schedule, uniform_costs(schedule.placement(), costs));
  CHECK(totals.makespan == one[4].get<Ticks>());
  CHECK(totals.peak_live == one[5].get<std::vector<std::int32_t>>());
}

}  // namespace

TEST_CASE("other stacks: every recorded schedule has a name", "[schedules]") {
  std::set<std::pair<std::string, std::string>> named;
  std::set<std::string> stacks;
  for (const Row& row : rows()) {
    named.insert({row.stack, row.schedule});
    stacks.insert(row.stack);
  }
  for (const std::string& stack : stacks) {
    const json records = records_of(stack);
    for (const auto& [schedule, cases] : records.items()) {
      INFO(stack << ' ' << schedule);
      CHECK(named.contains({stack, schedule}));
    }
  }
}

TEST_CASE("other stacks: the recorded orders, op by op, with their times and peaks", "[schedules]") {
  for (const Row& row : rows()) {
    const json cases = records_of(row.stack)[row.schedule]["orders"];
    SECTION(fmt::format("{} {}: {} orders by the name {}", row.stack, row.schedule, cases.size(), row.name)) {
      CHECK(cases.size() == row.orders);
      for (const json& one : cases) {
        INFO("p = " << one[0] << ", m = " << one[1] << ", v = " << one[2]);
        const Schedule schedule = made(row, params_of(row, one), costs_of(row, one));
        CHECK(hash_of(schedule) == one[3]);
        check_times(one, schedule);
      }
    }
  }
}

TEST_CASE("other stacks: the sizes that a stack refuses are refused by its name", "[schedules]") {
  for (const Row& row : rows()) {
    std::size_t refused = 0;
    const json refusals = records_of(row.stack)[row.schedule]["refused"];
    for (const auto& [error, sizes] : refusals.items())
      for (const json& one : sizes) {
        INFO(row.stack << ' ' << row.schedule << ", p = " << one[0] << ", m = " << one[1]
                       << ", v = " << one[2]);
        CHECK_THROWS_AS(made(row, params_of(row, one), costs_of(row, one)), ScheduleError);
        ++refused;
      }
    INFO(row.stack << ' ' << row.schedule);
    CHECK(refused == row.refusals);
  }
}

}  // namespace pipeloom::schedules::stacks_test
