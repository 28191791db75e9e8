// Orders that were searched for, as everything behind them takes them: validation, memory at every instant, messages without tags, PyTorch's
// file and its loader, and real layers on threads.

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "executor/layers/gradient_check.hpp"
#include "executor/run/run.hpp"
#include "executor/small_layers.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/torch_csv.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/orders/designs/design.hpp"
#include "sim/orders/entries/entry_search.hpp"
#include "sim/orders/search/search.hpp"
#include "sim/torch/lowering.hpp"
#include "support/catch.hpp"
#include "support/message_pairs.hpp"
#include "support/random_problem.hpp"
#include "support/torch_run.hpp"

namespace pipeloom::executor::searched_orders_test {
namespace {

/// 50 of them: 2 to 4 ranks with one to four stages each, unequal times, links and memory, a limit in two of three, and pairs that take less than
/// their ops in one of three.
struct Drawn {
  Placement placement;
  Terms terms;
  std::vector<Bytes> limit;
  int microbatches = 0;
  Schedule schedule;
};

Placement drawn_placement(test::Random& random) {
  const int ranks = 2 + random.below(3);
  switch (random.below(5)) {
    case 0:
      return Placement::linear(ranks);
    case 1:
      return Placement::loop(ranks, 2);
    case 2:
      return Placement::wave(ranks, 2);
    case 3:
      return Placement::wave(ranks, 4);
    default: {
      // Any map that leaves no rank without a stage.
      std::vector<Rank> slots;
      for (int rank = 0; rank < ranks; ++rank) slots.emplace_back(rank);
      for (int more = random.below(3); more > 0; --more) slots.emplace_back(random.below(ranks));
      const int stages = static_cast<int>(slots.size());
      return Placement::custom(ranks, stages, 1, std::move(slots));
    }
  }
}

Terms drawn_terms(const Placement& placement, test::Random& random) {
  Terms terms = uniform_terms(placement, {.delay = random.below(4)});
  for (const OpKind kind : {OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight, OpKind::Backward})
    for (Ticks& duration : terms.costs.duration[index_of(kind)]) duration = random.between(1, 9);
  for (std::size_t s = 0; s < terms.memory.activation.size(); ++s) {
    terms.memory.activation[s] = random.between(2, 5);
    terms.memory.released_at_input[s] = random.between(0, 2);
  }
  return terms;
}

/// Of a design of which nothing may change but the order, and its entries.
std::optional<orders::EntryStart> searched_entries(const orders::Problem& problem, std::uint64_t seed) {
  orders::Design design{.layers = std::vector(problem.stages.size(), 1), .rank = {}};
  for (const orders::StageWork& stage : problem.stages) design.rank.push_back(stage.rank);
  auto found = orders::search_design(
      {design}, [&](const orders::Design&) { return std::optional(problem); },
      {.layers = false, .ranks = false, .stages = false, .work = 120'000, .seed = seed});
  if (!found) return std::nullopt;
  auto better = orders::search_entries(problem, {{found->order, found->design.copying.prefetch}},
                                       {.work = 60'000, .seed = seed});
  return better ? std::optional(std::move(better->best)) : std::nullopt;
}

std::optional<orders::Order> searched(const orders::Problem& problem, std::uint64_t seed) {
  if (!problem.pairs.empty()) {
    auto found = searched_entries(problem, seed);
    return found ? std::optional(std::move(found->order)) : std::nullopt;
  }
  auto found = search_order(problem, {}, {.work = 30'000, .seed = seed});
  return found ? std::optional(std::move(found->order)) : std::nullopt;
}

Drawn draw(std::uint64_t seed) {
  test::Random random(seed);
  const Placement placement = drawn_placement(random);
  Terms terms = drawn_terms(placement, random);
  std::vector<Bytes> limit;
  if (random.chance(67)) limit.assign(static_cast<std::size_t>(placement.ranks()), random.between(24, 48));
  const int microbatches = 2 + random.below(6);
  auto problem = orders::make_problem(
      placement, microbatches, terms, limit,
      random.chance(50) ? orders::Objective::Window : orders::Objective::Makespan, random.chance(80));
  terms.costs.overlap = {.rule = OverlapRule::Factor, .factor = kUnitScale * 6 / 10};
  if (seed % 3 == 0) orders::add_pairs(problem, placement, terms.costs);
  const auto order = searched(problem, seed);
  REQUIRE(order);
  return {placement, terms, limit, microbatches, schedule_of(problem, placement, *order)};
}

/// Some stages' activations go to the host, some stages' forwards run again, and where none does pairs may be made.
struct Relieved {
  Drawn drawn;
  bool is_recomputed = false;
};

Relieved draw_relieved(std::uint64_t seed) {
  test::Random random(seed);
  const Placement placement = drawn_placement(random);
  Terms terms = drawn_terms(placement, random);
  const int microbatches = 3 + random.below(5);
  const std::vector<Bytes> limit(static_cast<std::size_t>(placement.ranks()), random.between(24, 48));
  auto problem = orders::make_problem(placement, microbatches, terms, limit, orders::Objective::Makespan);
  OffloadOption offload;
  offload.on = true;
  offload.min_gap = 1;
  RecomputeOption again;
  for (std::size_t s = 0; s < problem.stages.size(); ++s) {
    orders::StageWork& work = problem.stages[s];
    if (seed % 2 == 0 && random.chance(50)) {
      again.stages.push_back(static_cast<int>(s));
      work.again = work.forward;
      work.input += work.again;
    }
    if (s > 0 && random.chance(50)) continue;
    offload.stages.push_back(static_cast<int>(s));
    work.is_copied = true;
    work.offload = work.reload = 1;
  }
  problem.least_gap = offload.min_gap;
  again.on = !again.stages.empty();
  terms.costs.overlap = {.rule = OverlapRule::Factor, .factor = kUnitScale * 6 / 10};
  if (!again.on) orders::add_pairs(problem, placement, terms.costs);
  const auto found = searched_entries(problem, seed);
  REQUIRE(found);
  offload.prefetch = found->prefetch;
  Schedule schedule = schedule_of(problem, placement, found->order);
  if (again.on) schedule = schedules::with_recompute(schedule, again);
  return {{placement, terms, limit, microbatches, schedules::with_offload(schedule, offload)}, again.on};
}

/// The most that the rank ever holds, op by op: F takes a stage's activation, I gives its part back, W or B the rest.
Bytes most_held(const Drawn& drawn, Rank rank) {
  const MemoryModel& memory = drawn.terms.memory;
  Bytes held = 0;
  Bytes most = 0;
  for (std::size_t i = drawn.schedule.queue_begin(rank); i < drawn.schedule.queue_end(rank); ++i) {
    const Op op = drawn.schedule.ops()[i];
    const std::size_t s = op.stage().at();
    if (op.kind() == OpKind::Forward) held += memory.activation[s];
    most = std::max(most, held);
    if (op.kind() == OpKind::BackwardInput) held -= memory.released_at_input[s];
    if (op.kind() == OpKind::BackwardWeight) held -= memory.activation[s] - memory.released_at_input[s];
    if (op.kind() == OpKind::Backward) held -= memory.activation[s];
  }
  CHECK(held == 0);
  return most;
}

Schedule through_csv(const Schedule& schedule) {
  std::ostringstream out;
  io::write_torch_csv(out, schedule);
  return io::read_torch_csv(out.str(), "order.csv").schedule;
}

/// What is wrong with the gradients of two steps on threads, with integers, whose sums are exact.
std::string wrong_gradients(const Drawn& drawn) {
  const LayersConfig config = small(Arithmetic::Integer);
  const Program program = async_plan(std::make_shared<const Schedule>(drawn.schedule), {});
  Layers layers(config);
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.checksums = true;
  options.timeout_seconds = 20;
  const RunResult run = run_on_cpu(program, layers, options);
  return first_mismatch(reference_of(config, sizes_of(drawn.schedule)),
                        collect_gradients(drawn.schedule, run.gradients));
}

}  // namespace

TEST_CASE(
    "50 searched orders: legal, within their limit, carried by PyTorch's file and loader, right gradients") {
  std::size_t limited = 0;
  std::size_t paired = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    INFO("seed " << seed);
    const Drawn drawn = draw(seed);
    const Schedule& schedule = drawn.schedule;
    CHECK(validate(schedule).empty());
    for (std::size_t r = 0; r < drawn.limit.size(); ++r)
      CHECK(most_held(drawn, Rank(static_cast<int>(r))) <= drawn.limit[r]);
    limited += drawn.limit.empty() ? 0U : 1U;
    paired += schedule.has_groups() ? 1U : 0U;
    const Schedule back = through_csv(schedule);
    CHECK(std::ranges::equal(back.ops(), schedule.ops()));
    const ActionLists lists = torch::lower(schedule);
    const Placement& placement = schedule.placement();
    CHECK(test::mispaired(lists, [&](Stage stage, Microbatch) { return placement.rank_of(stage); }) == "");
    const tests::TorchRun torch =
        tests::run_as_torch(lists, schedule.ranks(), schedule.stages(), schedule.microbatches());
    INFO(torch.why);
    CHECK(torch.end == tests::TorchRun::End::Right);
    CHECK(wrong_gradients(drawn) == "");
  }
  CHECK(limited >= 20);
  CHECK(paired >= 10);
}

TEST_CASE(
    "30 searched orders with copies, and with pairs or forwards that run again: legal, right gradients") {
  std::size_t copied = 0;
  std::size_t paired = 0;
  std::size_t again = 0;
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    INFO("seed " << seed);
    const auto [drawn, is_recomputed] = draw_relieved(seed);
    const Schedule& schedule = drawn.schedule;
    CHECK(validate(schedule).empty());
    copied += schedule.has_copies() ? 1U : 0U;
    paired += schedule.has_copies() && schedule.has_groups() ? 1U : 0U;
    again += schedule.has_copies() && is_recomputed ? 1U : 0U;
    CHECK(wrong_gradients(drawn) == "");
  }
  CHECK(copied >= 20);
  CHECK(paired >= 5);
  CHECK(again >= 5);
}

}  // namespace pipeloom::executor::searched_orders_test
