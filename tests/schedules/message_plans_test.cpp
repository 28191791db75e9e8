// Recorded messages of Megatron-LM, DualPipe and DualPipeV, word by word, and the times that follow from them: once by a replay of
// ten lines, once by the program engine.

#include "sim/messages/message_plans.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schedules/recorded.hpp"
#include "schedules/recorded_messages.hpp"
#include "sim/kinds.hpp"
#include "sim/messages/program_engine.hpp"
#include "support/catch.hpp"

namespace pipeloom::message_plans_test {
namespace {

using recorded::canonical;
using recorded::replay;
using recorded::Words;
using recorded::words_of;
using schedules::MessageStyle;

Ticks entry_duration(const Schedule& schedule, const Costs& costs, std::size_t op) {
  const auto of = [&](std::size_t i) {
    return costs.duration[index_of(schedule.ops()[i].kind())][schedule.slot_of(schedule.ops()[i]).at()];
  };
  if (!schedule.ops()[op].joined()) return of(op);
  if (costs.overlap.rule == OverlapRule::Explicit)
    return costs.overlap.duration[schedule.slot_of(schedule.ops()[op]).at()];
  return of(op) + of(op + 1) - costs.overlap.saving;
}

/// The recorded makespan, twice.
void check_makespan(const Program& program, const Costs& costs, Ticks latency, Ticks expected) {
  CHECK(replay(
            program, [&](std::size_t op) { return entry_duration(program.schedule(), costs, op); },
            latency) == expected);
  const auto outcome = run_program(program, costs, {});
  REQUIRE(std::holds_alternative<ProgramRun>(outcome));
  CHECK(span_of(std::get<ProgramRun>(outcome).timeline).length() == expected);
}

nlohmann::json recording(const std::string& file) {
  return nlohmann::json::parse(recorded::read_text(file + ".json"));
}

/// What the schedule's generator says for this style. REQUIREs that it says something.
Program framework_program(const std::string& name, Params params, MessageStyle style) {
  const auto found = schedules::find(name);
  if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
  auto schedule = std::make_shared<const Schedule>(schedules::make(*found.generator, params));
  auto program = found.generator->messages(params, schedule, style);
  REQUIRE(program.has_value());
  return *std::move(program);
}

// Megatron-LM ------------------------------------------------------------------------------------------------------------

const std::map<std::string, MessageStyle> kStyles = {{"blocking", MessageStyle::Blocking},
                                                     {"overlap", MessageStyle::Overlap},
                                                     {"overlap_warmup_flush", MessageStyle::OverlapFlush}};

Program megatron_program(const nlohmann::json& one, const std::string& name, MessageStyle style) {
  Params params{.ranks = one["ranks"], .microbatches = one["microbatches"], .chunks = one["chunks_per_rank"]};
  if (name != "1f1b") params.options.group_size = one["group_size"].get<int>();
  return framework_program(name, params, style);
}

/// Every recorded makespan of every mode that was recorded; returns how many.
int check_megatron_times(const std::string& file, const std::string& name) {
  int checked = 0;
  for (const auto& one : recording("megatron/" + file))
    for (const auto& [mode, style] : kStyles) {
      if (!one["makespans"][0].contains("makespan_" + mode)) continue;
      INFO(one["ranks"] << " ranks, " << one["chunks_per_rank"] << " chunks, " << one["microbatches"]
                        << " microbatches, group size " << one["group_size"] << ", " << mode);
      const Program program = megatron_program(one, name, style);
      CHECK(check_program(program).empty());
      for (const auto& times : one["makespans"]) {
        const Overlap overlap = {
            .rule = OverlapRule::Saving, .duration = {}, .saving = times["overlap_saving"]};
        Costs costs = uniform_costs(
            program.schedule().placement(),
            {.forward = times["F"], .backward = times["B"], .delay = times["latency"], .overlap = overlap});
        costs.duration[index_of(OpKind::Forward)].back() += times["last_stage_extra"][0].get<Ticks>();
        costs.duration[index_of(OpKind::Backward)].back() += times["last_stage_extra"][1].get<Ticks>();
        check_makespan(program, costs, times["latency"], times["makespan_" + mode]);
        ++checked;
      }
    }
  return checked;
}

}  // namespace

TEST_CASE("megatron: recorded messages, word by word") {
  const auto file = recording("megatron/comm_events");
  REQUIRE(file.size() == 5);
  for (const auto& one : file) {
    const bool combined = one["combined"];
    INFO(one["mode"] << (combined ? " with pairs" : ""));
    const Program program = megatron_program(
        one, combined ? "megatron-combined-1f1b" : "megatron-interleaved", kStyles.at(one["mode"]));
    const Words words = {.ring = program.schedule().ranks()};
    REQUIRE(one["events"].size() == 4);
    for (Rank rank{0}; rank < Rank(4); ++rank)
      CHECK(words_of(program, rank, words) == canonical(one["events"][rank.at()]));
  }
}

TEST_CASE("megatron: recorded makespans of blocking and overlapped messages") {
  // Three cost sets each; two ranks have no blocking mode, pairs were not recorded with it.
  CHECK(check_megatron_times("1f1b", "1f1b") == 5 * 3);
  CHECK(check_megatron_times("interleaved", "megatron-interleaved") == (8 + 8 + 7) * 3);
  CHECK(check_megatron_times("interleaved_combined", "megatron-combined-1f1b") == (8 + 8) * 3);
}

TEST_CASE("megatron: blocking messages of two interleaved ranks are mispaired, overlapped ones are not") {
  const Params params{.ranks = 2, .microbatches = 4, .chunks = 2};
  for (const char* name : {"interleaved-1f1b", "interleaved-1f1b-overlap"}) {
    INFO(name);
    const auto found = check_program(framework_program(name, params, MessageStyle::Blocking));
    REQUIRE_FALSE(found.empty());
    for (const Diagnostic& one : found) CHECK(one.code == "mispaired");
    CHECK(check_program(framework_program(name, params, MessageStyle::Overlap)).empty());
    CHECK(check_program(framework_program(name, params, MessageStyle::OverlapFlush)).empty());
  }
}

TEST_CASE("megatron: without latency every mode takes (m v + p - 1)(F + B), for every N that it takes") {
  // F = 2, B = 3, a pair F + B. p to 6, v to 8, N from p to m, the last group with none or at least p microbatches.
  int checked = 0;
  for (const char* name : {"interleaved-1f1b", "interleaved-1f1b-overlap"})
    for (int p = 2; p <= 6; ++p)
      for (const int v : {2, 3, 8})
        for (int m = p; m <= 3 * p; ++m)
          for (int n = p; n <= m; ++n) {
            if (m % n > 0 && m % n < p) continue;
            INFO(fmt::format("{}, p = {}, v = {}, m = {}, N = {}", name, p, v, m, n));
            const Params params{.ranks = p, .microbatches = m, .chunks = v, .options = {.group_size = n}};
            for (const auto& [mode, style] : kStyles) {
              if (p == 2 && style == MessageStyle::Blocking) continue;
              const Program program = framework_program(name, params, style);
              CHECK(check_program(program).empty());
              const Costs costs =
                  uniform_costs(program.schedule().placement(), {.forward = 2, .backward = 3});
              const auto outcome = run_program(program, costs, {});
              REQUIRE(std::holds_alternative<ProgramRun>(outcome));
              CHECK(span_of(std::get<ProgramRun>(outcome).timeline).length() == (m * v + p - 1) * 5);
              ++checked;
            }
          }
  CHECK(checked > 1'000);
}

// DualPipe ---------------------------------------------------------------------------------------------------------------

namespace {

Program dualpipe_program(const nlohmann::json& one) {
  const bool is_v = one["schedule"] == "dualpipev";
  return framework_program(one["schedule"],
                           {.ranks = one["ranks"], .microbatches = one["chunks"], .chunks = is_v ? 2 : 1},
                           MessageStyle::Blocking);
}

/// Returns the number of rows.
int check_dualpipe_words(const std::string& file) {
  int rows = 0;
  for (const auto& one : recording("dualpipe/" + file)) {
    INFO(one["ranks"] << " ranks, " << one["chunks"] << " microbatches");
    const Program program = dualpipe_program(one);
    for (Rank rank{0}; rank < Rank(program.schedule().ranks()); ++rank, ++rows)
      CHECK(words_of(program, rank, {}) == one["events"][rank.at()].get<std::string>());
  }
  return rows;
}

/// Returns the number of makespans.
int check_dualpipe_times(const std::string& file) {
  int checked = 0;
  for (const auto& one : recording("dualpipe/" + file)) {
    INFO(one["ranks"] << " ranks, " << one["chunks"] << " microbatches");
    const Program program = dualpipe_program(one);
    CHECK(check_program(program).empty());
    for (const auto& times : one["makespans"]) {
      const Placement& placement = program.schedule().placement();
      const std::vector<Ticks> pair(static_cast<std::size_t>(placement.slots()), times["FB"].get<Ticks>());
      const Ticks backward = times["B"];
      const Ticks weight = times["W"];
      check_makespan(program,
                     uniform_costs(placement, {.forward = times["F"],
                                               .backward = backward,
                                               .backward_input = backward - weight,
                                               .backward_weight = weight,
                                               .delay = times["latency"],
                                               .overlap = {.rule = OverlapRule::Explicit, .duration = pair}}),
                     times["latency"], times["makespan_batched_rendezvous"]);
      ++checked;
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("dualpipe: recorded batches, word by word") {
  CHECK(check_dualpipe_words("dualpipe_comm_batches") == 4 + 8);
  CHECK(check_dualpipe_words("dualpipev_comm_batches") == 2 + 4);
}

TEST_CASE("dualpipe: recorded makespans of blocking batches") {
  CHECK(check_dualpipe_times("dualpipe_orders") == 8 * 4);
  CHECK(check_dualpipe_times("dualpipev_orders") == 7 * 4);
}

}  // namespace pipeloom::message_plans_test
