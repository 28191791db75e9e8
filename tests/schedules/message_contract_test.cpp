// Message plans on every schedule.

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/kinds.hpp"
#include "sim/messages/message_plans.hpp"
#include "sim/messages/program_engine.hpp"
#include "sim/text.hpp"
#include "sim/torch/lowering.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::message_contract_test {
namespace {

using Queues = std::shared_ptr<const Schedule>;
using Rule = ReceivePlacement::Rule;

/// Calls fn(generator, params, schedule) for every legal point of a grid.
template <class Fn>
void for_each_schedule(Fn&& fn) {
  for (const Generator& generator : runnable())
    for (const int p : {1, 2, 3, 4, 5, 8})
      for (const int m : {1, 2, 3, 4, 5, 6, 8, 9, 12, 16})
        for (int v = generator.requirements.min_chunks;
             v <= std::min(generator.requirements.max_chunks, p <= 4 ? 4 : 2); ++v)
          for (const Params& params :
               flavours(generator, {.ranks = p, .microbatches = m, .chunks = v}, {0, 1, 3, 5, 9})) {
            if (!refusal(generator, params).empty() || is_slow(generator, params)) continue;
            INFO(describe(generator, params));
            fn(generator, params, std::make_shared<const Schedule>(make(generator, params)));
          }
}

std::set<std::string> codes_of(const Program& program) {
  std::set<std::string> codes;
  for (const Diagnostic& found : check_program(program)) codes.insert(found.code);
  return codes;
}

Costs unequal_costs(const Schedule& schedule, Ticks delay) {
  Costs costs = uniform_costs(
      schedule.placement(),
      {.forward = 5, .backward = 9, .backward_input = 6, .backward_weight = 4, .copy = 2, .delay = delay});
  costs.duration[index_of(OpKind::Forward)].back() += 3;
  return costs;
}

/// Nothing if the program hangs.
std::optional<Timeline> times_of(const Program& program, const Costs& costs) {
  auto outcome = run_program(program, costs, {});
  if (std::holds_alternative<ProgramHang>(outcome)) return std::nullopt;
  return std::get<ProgramRun>(std::move(outcome)).timeline;
}

/// Every entry starts no sooner than where messages keep no rank waiting.
bool is_never_sooner(const Timeline& times, const Timeline& free) {
  for (std::size_t i = 0; i < times.start.size(); ++i)
    if (times.start[i] < free.start[i]) return false;
  return true;
}

/// Whether messages pair if activations and gradients have communicators of their own.
bool pairs_by_direction(const Program& program) {
  const MessageTable& messages = program.messages();
  std::map<std::tuple<Rank, Rank, bool>, std::array<std::vector<MessageId>, 2>> order;
  for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank)
    for (const auto& [code, index] : program.instructions(rank)) {
      if (code != Program::Code::Post) continue;
      for (const Endpoint& end : program.batch(index)) {
        const MessageInfo& message = messages[end.message];
        order[{message.from_rank, message.to_rank, message.is_forward()}][end.is_send ? 1 : 0].push_back(
            end.message);
      }
    }
  return std::all_of(order.begin(), order.end(),
                     [](const auto& pair) { return pair.second[0] == pair.second[1]; });
}

/// A rank's list as a lowered row would have it: waits left out.
std::string row_of(const Program& program, Rank rank) {
  const MessageTable& messages = program.messages();
  std::string text;
  for (const auto& [code, index] : program.instructions(rank)) {
    if (code == Program::Code::Wait) continue;
    const auto ops = program.schedule().ops();
    // Two entries that run in turn are written as one.
    if (code == Program::Code::Run && index > 0 && ops[index - std::size_t{1}].in_turn()) continue;
    text += text.empty() ? "" : " ";
    if (code == Program::Code::Run) {
      std::size_t last = index + std::size_t{1};
      while (ops[last - 1].joined() || ops[last - 1].in_turn()) ++last;
      text += entry_text(program.schedule(), index, last);
      continue;
    }
    const Endpoint end = program.batch(index)[0];
    const MessageInfo& message = messages[end.message];
    const bool forwards = message.is_forward();
    const auto kind = end.is_send ? (forwards ? ActionKind::SendForward : ActionKind::SendBackward)
                                  : (forwards ? ActionKind::RecvForward : ActionKind::RecvBackward);
    const Slot own = end.is_send ? message.from : message.to;
    text += to_text(Action(message.producer).as(kind, program.schedule().placement().stage_of(own)));
  }
  return text;
}

std::string without_parameters(std::span<const Action> row) {
  ActionLists kept;
  kept.begin_rank();
  for_each_cell(row, [&](std::size_t first, std::size_t last) {
    if (!is_of_stage(row[first].kind())) kept.add_cell(row.subspan(first, last - first));
  });
  return row_text(kept.row(Rank(0)));
}

}  // namespace

TEST_CASE("plans: receives where their senders ran, or some entries ahead, are sound on every schedule") {
  for_each_schedule([](const Generator&, const Params&, const Queues& schedule) {
    const Costs costs = unequal_costs(*schedule, 2);
    const Timeline free = simulate(schedule, costs);
    for (const ReceivePlacement placement :
         {ReceivePlacement{Rule::AtSender}, {Rule::Ahead, 0}, {Rule::Ahead, 1}, {Rule::Ahead, 3}}) {
      const Program program = async_plan(schedule, placement);
      CHECK(codes_of(program).empty());
      const auto times = times_of(program, costs);
      REQUIRE(times.has_value());
      CHECK(is_never_sooner(*times, free));
    }
    // Receives posted before everything else never keep a sender waiting.
    const auto eager = times_of(async_plan(schedule, {Rule::Ahead, kMaxIndex}), costs);
    REQUIRE(eager.has_value());
    CHECK(eager->start == free.start);
    CHECK(eager->end == free.end);
  });
}

TEST_CASE("plans: deferred receives at most mispair, and not on linear ranks") {
  std::set<std::string> mispaired;
  for_each_schedule([&](const Generator& generator, const Params& params, const Queues& schedule) {
    const auto codes = codes_of(async_plan(schedule, {Rule::BeforeUse}));
    if (codes.empty()) return;
    CHECK(codes == std::set<std::string>{"mispaired"});
    CHECK(schedule->placement() != Placement::linear(params.ranks));
    // Hanayo's waves take turns in an order of their own, within a direction too; so do last chunks whose backwards come early
    // and waves of more than two chunks.
    const bool in_turns_of_its_own = params.options.waves.value_or(1) > 1 ||
                                     params.options.variant == "early-last-chunk" ||
                                     (generator.name == "zbvpp" && params.chunks > 2);
    if (!in_turns_of_its_own) CHECK(pairs_by_direction(async_plan(schedule, {Rule::BeforeUse})));
    mispaired.insert(generator.name);
  });
  // A V, or a loop of two ranks: activations and gradients go from one rank to the same other one.
  CHECK(mispaired.count("zbv") == 1);
  CHECK(mispaired.count("dualpipe-v") == 1);
}

TEST_CASE("plans: asynchronous programs are what PyTorch's lowering writes") {
  for_each_schedule([](const Generator&, const Params&, const Queues& schedule) {
    const ActionLists at_sender = torch::lower(*schedule, {.target = torch::Target::V210});
    const ActionLists deferred =
        torch::lower(*schedule, {.target = torch::Target::V213, .defer_receives = true});
    const Program first = async_plan(schedule, {Rule::AtSender});
    const Program second = async_plan(schedule, {Rule::BeforeUse});
    for (Rank rank{0}; rank < Rank(schedule->ranks()); ++rank) {
      CHECK(row_of(first, rank) == without_parameters(at_sender.row(rank)));
      CHECK(row_of(second, rank) == without_parameters(deferred.row(rank)));
    }
  });
}

TEST_CASE("plans: a group between entries pairs on every schedule, and may hang") {
  for_each_schedule([](const Generator& generator, const Params&, const Queues& schedule) {
    const Program program = entry_blocking(schedule);
    CHECK(codes_of(program).empty());
    const Costs costs = unequal_costs(*schedule, 2);
    const auto times = times_of(program, costs);
    if (times) CHECK(is_never_sooner(*times, simulate(schedule, costs)));
    for (const char* name : {"gpipe", "1f1b", "1f1b-overlap", "eager-1f1b", "zb-h1", "seq-1f1b"})
      if (generator.name == name && schedule->placement() == Placement::linear(schedule->ranks()))
        CHECK(times.has_value());
  });
}

TEST_CASE("plans: what frameworks prescribe is sound on their schedules") {
  std::set<std::string> with_messages;
  for_each_schedule([&](const Generator& generator, const Params& params, const Queues& schedule) {
    if (!generator.messages) return;
    const Costs costs = unequal_costs(*schedule, 2);
    const Timeline free = simulate(schedule, costs);
    for (const MessageStyle style :
         {MessageStyle::Blocking, MessageStyle::Overlap, MessageStyle::OverlapFlush}) {
      const auto program = generator.messages(params, schedule, style);
      if (!program) continue;
      with_messages.insert(generator.name);
      // Interleaving on two ranks, where both neighbours are one.
      const bool refused = params.ranks == 2 && params.chunks > 1 && style == MessageStyle::Blocking &&
                           generator.requirements.takes.has(Option::GroupSize);
      const auto codes = codes_of(*program);
      if (refused && !codes.empty()) {
        CHECK(codes == std::set<std::string>{"mispaired"});
        continue;
      }
      CHECK(codes.empty());
      const auto times = times_of(*program, costs);
      REQUIRE(times.has_value());
      CHECK(is_never_sooner(*times, free));
    }
  });
  CHECK(with_messages.size() >= 5);
}

TEST_CASE("plans: recomputation, copies and forwards alone fit into them") {
  for_each_schedule([](const Generator& generator, const Params& params, const Queues& plain) {
    std::vector<Queues> variations = {std::make_shared<const Schedule>(forward_only(*plain))};
    if (plain->slices() == 1 && params.updates() == 1) {
      variations.push_back(std::make_shared<const Schedule>(with_recompute(*plain)));
      variations.push_back(std::make_shared<const Schedule>(with_offload(*plain, {})));
    }
    for (const Queues& schedule : variations) {
      CHECK(codes_of(entry_blocking(schedule)).empty());
      CHECK(codes_of(async_plan(schedule, {Rule::AtSender})).empty());
      CHECK(codes_of(async_plan(schedule, {Rule::Ahead, 1})).empty());
      if (!generator.messages || params.ranks == 2) continue;
      for (const MessageStyle style :
           {MessageStyle::Blocking, MessageStyle::Overlap, MessageStyle::OverlapFlush}) {
        const auto program = generator.messages(params, schedule, style);
        if (!program) continue;
        CHECK(codes_of(*program).empty());
        CHECK(times_of(*program, unequal_costs(*schedule, 1)).has_value());
      }
    }
  });
}

}  // namespace pipeloom::schedules::message_contract_test
