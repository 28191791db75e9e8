// Vocabulary parallelism: orders against the authors' rule, what S and T wait for by hand and against a reference that reads it again, and
// what is refused.

#include <pipeloom/error.hpp>
#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include <pipeloom/simulate.hpp>
#include "schedules/recorded.hpp"
#include "sim/analysis/bounds.hpp"
#include "sim/analysis/critical_path.hpp"
#include "sim/analysis/dag.hpp"
#include "sim/analysis/entry_chains.hpp"
#include "sim/analysis/idle_causes.hpp"
#include "sim/analysis/metrics.hpp"
#include "sim/analysis/validate.hpp"
#include "sim/engine/wait_for.hpp"
#include "sim/memory.hpp"
#include "sim/messages/program.hpp"
#include "sim/tensor_index.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/reference_times.hpp"

namespace pipeloom::vocab_test {
namespace {

using namespace schedules;

Schedule made(const std::string& name, const Params& params, const UniformCosts& uniform = {}) {
  const Generator& generator = *find(name).generator;
  Emission said;
  return make(generator, params, uniform_terms(generator.placement(params), uniform), said);
}

std::vector<std::string> codes_of(const Schedule& schedule) {
  std::vector<std::string> codes;
  for (const Diagnostic& one : validate(schedule)) codes.push_back(one.code);
  return codes;
}

/// F 3, B 5; S and T as given by stage. No transfers.
Costs costs_of(const Schedule& schedule, std::vector<Ticks> output, std::vector<Ticks> output_weight) {
  Costs costs = uniform_costs(schedule.placement(), {.forward = 3, .backward = 5});
  costs.duration[index_of(OpKind::Output)] = std::move(output);
  costs.duration[index_of(OpKind::OutputWeight)] = std::move(output_weight);
  return costs;
}

Ticks end_of(const Timeline& timeline, const std::string& text) {
  const Op wanted = parse_op(text).value();
  const auto ops = timeline.schedule->ops();
  const auto found = std::find(ops.begin(), ops.end(), wanted);
  REQUIRE(found != ops.end());
  return timeline.end_of(static_cast<std::size_t>(found - ops.begin()));
}

/// Two ranks, one microbatch.
constexpr const char* kOneSum = "0F0 0S0 0T0 0B0 | 1F0 1S0 1B0 1T0";
constexpr const char* kTwoSums = "0F0 0S0 0T0 0B0 | 1F0 1S0 1T0 1B0";

}  // namespace

TEST_CASE("vocab: orders of four ranks, by the authors' rule read by hand") {
  // B >= 2 F: all ranks but the third from below have their output passes behind B, and each has one more of them in its warm-up than the
  // one below, but for that one.
  CHECK(made("vocab-1", {.ranks = 4, .microbatches = 4}) ==
        parse_schedule("0F0 0F1 0F2 0F3 0S0 0T0 0S1 0T1 0S2 0T2 0S3 0T3 0B0 0B1 0B2 0B3 | "
                       "1F0 1F1 1F2 1S0 1F3 1T0 1S1 1T1 1S2 1T2 1S3 1B0 1T3 1B1 1B2 1B3 | "
                       "2F0 2F1 2S0 2F2 2T0 2S1 2F3 2T1 2S2 2B0 2T2 2S3 2B1 2T3 2B2 2B3 | "
                       "3F0 3S0 3F1 3T0 3S1 3F2 3B0 3T1 3S2 3F3 3B1 3T2 3S3 3B2 3T3 3B3"));
  CHECK(made("vocab-2", {.ranks = 4, .microbatches = 4}) ==
        parse_schedule("0F0 0F1 0F2 0F3 0S0 0T0 0S1 0T1 0S2 0T2 0S3 0B0 0T3 0B1 0B2 0B3 | "
                       "1F0 1F1 1F2 1S0 1F3 1T0 1S1 1T1 1S2 1B0 1T2 1S3 1B1 1T3 1B2 1B3 | "
                       "2F0 2F1 2S0 2F2 2T0 2S1 2B0 2T1 2S2 2F3 2B1 2T2 2S3 2B2 2T3 2B3 | "
                       "3F0 3S0 3F1 3B0 3T0 3S1 3F2 3B1 3T1 3S2 3F3 3B2 3T2 3S3 3B3 3T3"));
  // B = F: the second from below cannot go down by F twice, so rank 0 has an output pass less before its first B.
  const Schedule equal = made("vocab-2", {.ranks = 4, .microbatches = 4}, {.forward = 1, .backward = 1});
  CHECK(queue_text(equal, Rank(0)) == "0F0 0F1 0F2 0F3 0S0 0T0 0S1 0T1 0S2 0B0 0T2 0S3 0B1 0T3 0B2 0B3");
}

TEST_CASE("vocab: the interlaced order of four ranks, by the authors' rule read by hand") {
  CHECK(
      made("vocab-interlaced", {.ranks = 4, .microbatches = 6}) ==
      parse_schedule(
          "0F0 0F1 0F2 0F3 0F4 0F5 0S0 0T0 0S1 0T1 0S2 0T2 0S3 0T3 0B0 0S4 0T4 0B1 0S5 0T5 0B2 0B3 0B4 0B5 | "
          "1F0 1F1 1F2 1F3 1F4 1S0 1T0 1S1 1T1 1S2 1T2 1B0 1S3 1T3 1B1 1F5 1S4 1T4 1B2 1S5 1T5 1B3 1B4 1B5 | "
          "2F0 2F1 2F2 2F3 2S0 2T0 2S1 2T1 2B0 2S2 2T2 2B1 2S3 2T3 2F4 2B2 2S4 2T4 2F5 2B3 2S5 2T5 2B4 2B5 | "
          "3F0 3F1 3F2 3S0 3T0 3B0 3S1 3T1 3B1 3S2 3T2 3B2 3F3 3S3 3T3 3B3 3F4 3S4 3T4 3B4 3F5 3S5 3T5 3B5"));
}

TEST_CASE("vocab: S waits for the last stage, T for all S, the last backward for one sum or two") {
  for (const bool two_sums : {false, true}) {
    const auto schedule = std::make_shared<const Schedule>(parse_schedule(two_sums ? kTwoSums : kOneSum));
    CHECK(turning_kind(*schedule) == (two_sums ? OpKind::OutputWeight : OpKind::Output));
    const Costs costs = costs_of(*schedule, {2, 7}, {4, 1});
    const Timeline timeline = simulate(schedule, costs);
    // F of both: 3, 6. S: 6 + 2 on rank 0, 6 + 7 = 13 on rank 1. T needs both: 13 + 4 and, on rank 1, 13 + 1 or behind its B.
    CHECK(end_of(timeline, "0S0") == 8);
    CHECK(end_of(timeline, "1S0") == 13);
    CHECK(end_of(timeline, "0T0") == 17);
    // One sum: B of rank 1 from 13 on; two: from the later T on, 17.
    CHECK(end_of(timeline, "1B0") == (two_sums ? 22 : 18));
    CHECK(end_of(timeline, "1T0") == (two_sums ? 14 : 19));
    CHECK(end_of(timeline, "0B0") == (two_sums ? 27 : 23));
    CHECK(lower_bound(*schedule, costs, {}).value == (two_sums ? 27 : 23));
    // The critical path goes through the rank whose part of the sum ended last.
    const CriticalPath path = critical_path(timeline, costs);
    CHECK(path.length == (two_sums ? 27 : 23));
  }
}

TEST_CASE("vocab: on a V every stage has a share, and both of a rank count") {
  const auto schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 3F0 0S0 3S0 3B0 0T0 3T0 0B0 | 1F0 2F0 1S0 2S0 1T0 2T0 2B0 1B0"));
  CHECK(codes_of(*schedule).empty());
  const Costs costs = costs_of(*schedule, {1, 1, 1, 1}, {1, 1, 1, 1});
  const Timeline timeline = simulate(schedule, costs);
  // F: 3, 6, 9, 12. Each rank has two S behind it: 14. B of stage 3 ends at 19, T of rank 1 at 16.
  CHECK(end_of(timeline, "3F0") == 12);
  CHECK(end_of(timeline, "2S0") == 14);
  CHECK(end_of(timeline, "3B0") == 19);
  CHECK(end_of(timeline, "2T0") == 16);
  CHECK(end_of(timeline, "2B0") == 24);
}

TEST_CASE("vocab: random exchanges in queues give the reference's times, or hang where it does") {
  test::Random random(20250310);
  int ran = 0;
  int hung = 0;
  for (int round = 0; round < 600; ++round) {
    const char* const names[] = {"vocab-1", "vocab-2", "vocab-interlaced"};
    const Schedule plain =
        made(names[random.below(3)], {.ranks = 1 + random.below(5), .microbatches = 1 + random.below(6)});
    ScheduleBuilder out = builder_like(plain);
    for (Rank rank{0}; rank < Rank(plain.ranks()); ++rank) {
      std::vector<Op> queue(plain.queue(rank).begin(), plain.queue(rank).end());
      for (int swaps = random.below(4); swaps > 0; --swaps) {
        const auto at = static_cast<std::size_t>(random.below(static_cast<int>(queue.size()) - 1));
        std::swap(queue[at], queue[at + 1]);
      }
      out.begin_rank(rank);
      for (const Op op : queue) out.add(op);
    }
    const auto schedule = std::make_shared<const Schedule>(std::move(out).build());
    if (!validate_structure(*schedule).empty()) continue;
    const Costs costs = test::random_costs(random, *schedule);
    const auto expected = test::reference_times(*schedule, costs, {});
    INFO(queue_text(*schedule, Rank(0)));
    CHECK(find_hang(*schedule).has_value() == !expected.has_value());
    if (!expected) {
      ++hung;
      CHECK(describe(*find_hang(*schedule), *schedule).find("waits at") != std::string::npos);
      continue;
    }
    ++ran;
    const Timeline timeline = simulate(schedule, costs);
    CHECK(timeline.start == expected->start);
    CHECK(timeline.end == expected->end);
    CHECK(lower_bound(*schedule, costs, {}).value <= span_of(timeline).length());
    CHECK(critical_path(timeline, costs).length == span_of(timeline).length());
    const auto causes = idle_causes(timeline, costs);
    const Metrics metrics = measure(timeline, costs, default_memory(schedule->placement()), {});
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank)
      CHECK(causes[rank.at()].total() == metrics.ranks[rank.at()].idle);
  }
  CHECK(ran > 200);
  CHECK(hung > 20);
}

TEST_CASE("vocab: a rank that waits for a sum is told whose part is missing") {
  // Rank 1's part of the second sum stands behind the backward that needs it.
  const Schedule schedule =
      parse_schedule("0F0 0F1 0S0 0T0 0S1 0T1 0B0 0B1 | 1F0 1F1 1S0 1T0 1B0 1S1 1B1 1T1");
  const auto hang = find_hang(schedule);
  REQUIRE(hang);
  CHECK(describe(*hang, schedule) == "rank 1 waits at 1B1 for 1T1 later in its own queue");
  // Rank 0 waits behind it, for a backward that has not run; of the sum over S nothing is missing.
  REQUIRE(hang->nodes.size() == 2);
  CHECK(hang->nodes[0].needs == backward(Stage(1), Microbatch(1)));
}

TEST_CASE("vocab: every stage has both of its passes, in their order") {
  CHECK(codes_of(parse_schedule("0F0 0S0 0B0 | 1F0 1S0 1B0 1T0")) ==
        std::vector<std::string>{"missing-output"});
  CHECK(codes_of(parse_schedule("0F0 0B0 | 1F0 1S0 1B0 1T0")) == std::vector<std::string>{"missing-output"});
  CHECK(codes_of(parse_schedule("0F0 0T0 0S0 0B0 | 1F0 1S0 1B0 1T0")) ==
        std::vector<std::string>{"output-order"});
  CHECK(codes_of(parse_schedule("0F0 (0S0;0T0)OVERLAP_F_B 0B0 | 1F0 1S0 1B0 1T0")) ==
        std::vector<std::string>{"dependent-group"});
}

TEST_CASE("vocab: logits are held in equal parts by all ranks, from S to T") {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule(kOneSum));
  MemoryModel memory = default_memory(schedule->placement());
  memory.activation = {10, 10};
  memory.logits = {0, 7};
  const Timeline timeline = simulate(schedule, costs_of(*schedule, {2, 7}, {4, 1}));
  // Of 7 bytes each of two stages holds 4. Rank 1 ends its backward before its T: 10 + 4 at most, then 4.
  const auto peaks = measure_memory(timeline, memory);
  CHECK(peaks[0].peak_bytes == 14);
  CHECK(peaks[1].peak_bytes == 14);
  CHECK(peaks[0].peak_activation_bytes == 10);
  CHECK(memory_curve(timeline, memory, Rank(1)).back().bytes == 0);
}

TEST_CASE("vocab: messages between two ranks cannot say what waits for all of them") {
  CHECK_THROWS_WITH(MessageTable(parse_schedule(kOneSum)), Catch::Contains("waits for all ranks at once"));
}

}  // namespace pipeloom::vocab_test
