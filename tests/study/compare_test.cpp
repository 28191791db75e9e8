#include "study/compare/compare.hpp"

#include <fmt/format.h>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/config.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/compare/compare_rule.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"

namespace compare_test {

using namespace pipeloom;
using namespace pipeloom::study;

namespace {

constexpr Ticks kUnit = 1'000'000'000;

Timeline run(const char* text) {
  const auto schedule = std::make_shared<const Schedule>(parse_schedule(text));
  return simulate(schedule, cost::resolve({}, *schedule).costs);
}

std::vector<std::vector<IdleSpan>> idle_of(const Timeline& timeline) {
  std::vector<std::vector<IdleSpan>> idle;
  const Costs costs = cost::resolve({}, *timeline.schedule).costs;
  for (Rank rank{0}; rank < Rank(timeline.schedule->ranks()); ++rank)
    idle.push_back(idle_spans(timeline, costs, rank));
  return idle;
}

// F 1, B 2, I 1, W 1.
const char* const kOneForwardOneBackward = "0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1";
const char* const kSplit = "0F0 0F1 0I0 0W0 0I1 0W1 | 1F0 1I0 1F1 1I1 1W0 1W1";

double ratio_of(std::string_view metric, const RunNumbers& run) {
  return std::get<double>(*metric_named(metric)->get(run));
}

/// A run of which nothing but this is known.
Run titled(const char* title, const Timeline& timeline) {
  Run run;
  run.title = title;
  run.schedule = timeline.schedule;
  run.timeline = timeline;
  return run;
}

}  // namespace

TEST_CASE("facts come from the timeline alone") {
  // rank 0: F0 0-1, F1 1-2, B0 4-6, B1 7-9; rank 1: F0 1-2, B0 2-4, F1 4-5, B1 5-7.
  const Timeline timeline = run(kOneForwardOneBackward);
  const TimelineFacts facts = facts_of(timeline);
  CHECK(facts.makespan == 9 * kUnit);
  CHECK(facts.busy == 12 * kUnit);
  CHECK(facts.idle == 6 * kUnit);
  CHECK(ratio_of("bubble_ratio", {nullptr, &timeline}) == Approx(6.0 / 18));
  CHECK(ratio_of("bubble_overhead", {nullptr, &timeline}) == Approx(0.5));
}

TEST_CASE("an op is matched with what does the same, wherever it stands") {
  const Timeline a = run(kOneForwardOneBackward);
  const Timeline b = run(kSplit);
  const auto match = match_ops(*a.schedule, *b.schedule);
  for (std::size_t op = 0; op < match.size(); ++op) {
    const OpKind kind = b.schedule->ops()[op].kind();
    if (kind == OpKind::Forward)
      CHECK(a.schedule->ops()[match[op]] == b.schedule->ops()[op]);
    else
      CHECK(match[op] == kUnmatched);
  }
  const OpComparison ops = compare_ops(a, b, 0, 0);
  CHECK(ops.matched == 4);
  CHECK(ops.only_a == 4);
  CHECK(ops.only_b == 8);
  CHECK_FALSE(ops.durations_differ);
}

TEST_CASE("splitting the backward shortens the step, and the words say where") {
  const Timeline a = run(kOneForwardOneBackward);
  const Timeline b = run(kSplit);
  // rank 1: F0 1-2, I0 2-3, F1 3-4, I1 4-5, W0 5-6, W1 6-7; rank 0: F0 F1 0-2, I0 3-4, W0 4-5, I1 5-6, W1 6-7.
  const Run one = titled("1f1b", a);
  const Run other = titled("split", b);
  const Run* const sides[] = {&one, &other};
  const auto rows = compare_metrics(sides);
  CHECK(rows[0].name == "makespan");
  CHECK(rows[0].values == std::vector<std::optional<double>>{9.0 * kUnit, 7.0 * kUnit});
  CHECK(*rows[0].relative(1) == Approx(7.0 / 9 - 1));
  // makespan, bubble_ratio, bubble_overhead, busy, idle; of memory and bounds nobody knows anything.
  CHECK(rows.size() == 5);
  const auto idle_a = idle_of(a);
  const auto idle_b = idle_of(b);
  // 6 idle before, 2 after: on each rank one less wait at an end and one less in between.
  CHECK(cause_totals(idle_a).total.total() == 6 * kUnit);
  CHECK(cause_totals(idle_b).total.total() == 2 * kUnit);
  const std::string text = explain_idle(cause_totals(idle_a), cause_totals(idle_b), TimeUnit::Unit);
  CHECK(text.starts_with("idle time is 4.0 units less: most of it "));
  CHECK(work_difference(a, b).empty());
}

TEST_CASE("differences are ranked, tinted, and nothing that differs is grey") {
  const Timeline a = run("0F0 0F1 0F2");
  Timeline b = a;
  b.end[0] += 2 * kUnit;  // one op takes 3 instead of 1, and pushes the others by 2
  for (const std::size_t op : {1U, 2U}) {
    b.start[op] += 2 * kUnit;
    b.end[op] += 2 * kUnit;
  }
  b.end[2] += kUnit / 100;
  const OpComparison ops = compare_ops(a, b, 0, 0);
  CHECK(ops.durations_differ);
  CHECK(ops.largest_difference == 2 * kUnit);
  REQUIRE(ops.largest.size() == 3);
  CHECK(ops.largest[0].in_b == 0);
  CHECK(ops.largest[1].in_b == 2);
  CHECK(tints(a, b, ops, 0, 0) == std::vector<std::int8_t>{127, 0, 1});
  CHECK(work_difference(a, b) ==
        "total work differs: 3.0 vs 5.01; the same ops take other times: another model, machine or "
        "measurement");
}

TEST_CASE("work that differs is said with what makes it comparable, or why nothing does") {
  const Timeline two = run("0F0 0B0 | 1F0 1B0");
  // Stages that take as long, but there are twice as many: the model was cut, and the costs were not.
  CHECK(work_difference(two, run("0F0 0B0 | 1F0 1B0 | 2F0 2B0 | 3F0 3B0")) ==
        "total work differs: 6.0 vs 12.0; 2 stages against 4 with the same times: set costs.per to \"model\" "
        "(or "
        "\"rank\"), so that both cut one model");
  CHECK(work_difference(two, run("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1")) ==
        "total work differs: 6.0 vs 12.0; 1 microbatch against 2, which are different steps: give both as "
        "many");
  CHECK(work_difference(two, run("0F0 | 1F0")) ==
        "total work differs: 6.0 vs 2.0; one has kinds of ops that the other lacks, such as recomputation");
}

TEST_CASE("ops of different parts of the model are not matched") {
  const Timeline two = run("0F0 0B0 | 1F0 1B0");
  const Timeline four = run("0F0 0B0 | 1F0 1B0 | 2F0 2B0 | 3F0 3B0");
  CHECK(different_parts(*two.schedule, *four.schedule) ==
        "a stage is 1/2 of the model in one and 1/4 in the other");
  const OpComparison ops = compare_ops(two, four, 0, 0);
  CHECK(ops.matched == 0);
  CHECK(ops.only_a == 4);
  CHECK(ops.only_b == 8);
  CHECK(ops.largest.empty());
}

TEST_CASE("a limit that holds shows what is left") {
  const Timeline a = run(kOneForwardOneBackward);
  Metrics metrics;
  metrics.ranks.resize(2);
  metrics.ranks[1].memory.peak_bytes = 70;
  MemoryModel memory;
  memory.limit = {75, 80};  // rank 0 holds nothing: rank 1 has least left
  Run one = titled("a", a);
  one.metrics = metrics;
  one.memory = std::make_shared<const MemoryModel>(memory);
  const Run other = titled("b", a);
  const Run* const runs[] = {&one, &other};
  const auto rows = compare_metrics(runs);
  CHECK(rows.back().name == "headroom_bytes");
  CHECK(rows.back().values == std::vector<std::optional<double>>{10.0, std::nullopt});
}

TEST_CASE("clocks that are apart are found and set right") {
  const Timeline a = run(kOneForwardOneBackward);
  Timeline b = a;
  for (std::size_t op = b.schedule->queue_begin(Rank(1)); op < b.schedule->queue_end(Rank(1)); ++op) {
    b.start[op] += 5 * kUnit;
    b.end[op] += 5 * kUnit;
  }
  const auto offsets = clock_offsets(a, b, compare_ops(a, b, 0, 0));
  CHECK(offsets[1] - offsets[0] == 5 * kUnit);
  const Timeline again = with_offsets(b, offsets);
  CHECK(again.start == a.start);
  CHECK(again.end == a.end);
}

TEST_CASE("slices of a rank that a schedule gives to replicas are matched on the same rank") {
  // Two replicas: microbatch 0 runs down, 1 runs up.
  const Timeline a = run("0F0 1F1 1B1 0B0 | 0F1 1F0 1B0 0B1");
  const auto match = match_ops(*a.schedule, *a.schedule);
  for (std::size_t op = 0; op < match.size(); ++op) CHECK(match[op] == op);
}

TEST_CASE("ZB-H1 against 1F1B, p = 4, m = 8") {
  // F 1, B 2, I 1, W 1: 1F1B takes (m + p - 1) (F + B) = 33; ZB-H1 m (F + I + W) + (p - 1) (F + I - W) = 27.
  const auto evaluate = [](const char* schedule) {
    io::Config config = io::read_run_config(
        io::Document::parse(fmt::format(R"({{"schedule": "{}", "ranks": 4, "microbatches": 8}})", schedule),
                            "c")
            .root());
    return study::evaluate(config);
  };
  const Run a = evaluate("1f1b");
  const Run b = evaluate("zb-h1");
  const RunNumbers sides[] = {{&*a.metrics, &a.timeline}, {&*b.metrics, &b.timeline}};
  const auto rows = compare_metrics(sides);
  CHECK(rows[0].values == std::vector<std::optional<double>>{33.0 * kUnit, 27.0 * kUnit});
  CHECK(*rows[0].relative(1) == Approx(-6.0 / 33));
  // 4 ranks of 24 work each.
  CHECK(rows[3].values == std::vector<std::optional<double>>{96.0 * kUnit, 96.0 * kUnit});
  CHECK(rows[4].values == std::vector<std::optional<double>>{36.0 * kUnit, 12.0 * kUnit});
  // All F are in both, no B is: 32 and 32, and twice as many I and W.
  const OpComparison ops = compare_ops(a.timeline, b.timeline, 0, 0);
  CHECK(ops.matched == 32);
  CHECK(ops.only_a == 32);
  CHECK(ops.only_b == 64);

  const auto breaks_rule = [&](const char* text) {
    return breaks(parse_compare_rule(text, Where{"--fail-if"}), rows, 1, TimeUnit::Unit);
  };
  CHECK(breaks_rule("makespan<-18%"));  // -18.18 %
  CHECK_FALSE(breaks_rule("makespan < -18.2%"));
  CHECK(breaks_rule("makespan<=-6"));
  CHECK_FALSE(breaks_rule("makespan<-6"));
  CHECK(breaks_rule("makespan>=27"));
  CHECK_FALSE(breaks_rule("makespan>27"));
  CHECK_FALSE(breaks_rule("busy>+0%"));
}

TEST_CASE("a rule that is none, and a metric that nobody knows, are refused") {
  const auto why = [](const char* text) {
    try {
      (void)parse_compare_rule(text, Where{"--fail-if"});
    } catch (const InputError& error) {
      return error.line();
    }
    return std::string("read");
  };
  CHECK(why("makespan") ==
        "--fail-if: error: found 'makespan'; a rule is METRIC > NUMBER, such as makespan>+1%");
  CHECK(why("makespan>") == "--fail-if: error: found '' as the number; allowed are 12.5, +1% and +3");
  CHECK(why("makespan>nan").find("found 'nan'") != std::string::npos);
  CHECK(why("makespam>1").find("did you mean 'makespan'?") != std::string::npos);
  const Timeline a = run(kOneForwardOneBackward);
  const Run one = titled("a", a);
  const Run other = titled("b", a);
  const Run* const sides[] = {&one, &other};
  CHECK_THROWS_AS(
      breaks(parse_compare_rule("peak_bytes>1", Where{}), compare_all_metrics(sides), 1, TimeUnit::Unit),
      InputError);
}

TEST_CASE("abstract and real times are told apart, sizes of seconds are not") {
  const Timeline a = run(kOneForwardOneBackward);
  Timeline ms = a;
  ms.unit = TimeUnit::Millisecond;
  Timeline us = a;
  us.unit = TimeUnit::Microsecond;
  CHECK(clock_difference(a, ms) ==
        "times cannot be compared: abstract units here, ms there; set costs.time_unit");
  CHECK(clock_difference(ms, us).empty());
  const Run one = titled("a", a);
  const Run other = titled("ms", ms);
  const Run* const sides[] = {&one, &other};
  const auto rows = compare_metrics(sides);
  CHECK_FALSE(rows[0].values[1]);
  CHECK(rows[1].values[1] == rows[1].values[0]);
}

TEST_CASE("every metric and every idle cause can be compared and be a rule") {
  const Timeline a = run(kOneForwardOneBackward);
  const Timeline b = run(kSplit);
  const auto idle_a = idle_of(a);
  const auto idle_b = idle_of(b);
  Run one = titled("a", a);
  one.idle = idle_a;
  Run other = titled("b", b);
  other.idle = idle_b;
  const Run* const runs[] = {&one, &other};
  const auto rows = compare_all_metrics(runs);
  double causes = 0;
  double idle = 0;
  for (const MetricRow& row : rows) {
    if (row.name.starts_with("idle.")) causes += *row.values[0];
    if (row.name == "idle") idle = *row.values[0];
    if (row.name == "num_ops") CHECK_FALSE(row.values[0]);  // no metrics there
  }
  CHECK(causes == idle);
  CHECK_NOTHROW(parse_compare_rule("idle.cooldown>+1%", {}));
  CHECK_NOTHROW(parse_compare_rule("window_bubble_ratio > 0.5", {}));
}

TEST_CASE("which idle cause changed on which rank") {
  CauseTotals a;
  CauseTotals b;
  a.of_rank = {{.warmup = 3, .cooldown = 5}, {.warmup = 1}};
  b.of_rank = {{.warmup = 3, .cooldown = 1}, {.warmup = 2, .transfer = 6}};
  const auto changes = cause_changes(a, b);
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].cause == IdleCause::Transfer);
  CHECK(changes[0].rank == 1);
  CHECK(changes[0].change() == 6);
  CHECK(changes[1].cause == IdleCause::Cooldown);
  CHECK(changes[1].change() == -4);
  CHECK(cause_changes(a, b, 1).size() == 1);
  b.of_rank.pop_back();
  CHECK(cause_changes(a, b).empty());
}

TEST_CASE("idle time that only moved between causes is said to have") {
  CauseTotals a;
  CauseTotals b;
  a.total = IdleCauses{.warmup = 3 * kUnit, .cooldown = 5 * kUnit};
  b.total = IdleCauses{.warmup = 7 * kUnit, .cooldown = 1 * kUnit};
  CHECK(explain_idle(a, b, TimeUnit::Unit) == "idle time is the same, but warmup is 4.0 units more");
  CHECK(explain_idle(a, a, TimeUnit::Unit) == "idle time is the same");
}

TEST_CASE("sums over many ranks of long runs are right") {
  // 1,024 measured ranks: rank 0 works for 5 h, all others for the first half of it. Together that is 2^63 ps and more.
  constexpr int kRanks = 1024;
  const Ticks hours = 9'000 * ticks_per(TimeUnit::Second);
  ScheduleBuilder out(Placement::linear(kRanks), 1);
  for (Rank rank{0}; rank < Rank(kRanks); ++rank) {
    out.begin_rank(rank);
    out.add(Op(OpKind::Forward, Stage(rank.value()), Microbatch(0)));
  }
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(std::move(out).build());
  timeline.unit = TimeUnit::Second;
  timeline.start.assign(kRanks, 0);
  timeline.end.assign(kRanks, hours);
  timeline.end[0] = 2 * hours;
  // Idle: 1023 half runs of 1024 whole ones.
  const TimelineFacts facts = facts_of(timeline);
  CHECK(ratio_of("bubble_ratio", {nullptr, &timeline}) == Approx(1023.0 / 2048));
  CHECK(ratio_of("bubble_overhead", {nullptr, &timeline}) == Approx(1023.0 / 1025));
  CHECK(format_ticks(facts.busy, TimeUnit::Second) == "9225000.0");  // 1025 * 9000
  CHECK(format_ticks(facts.idle, TimeUnit::Second) == "9207000.0");
  const std::vector<std::vector<IdleSpan>> idle(kRanks, {{hours, 2 * hours, IdleCause::Cooldown}});
  const std::vector<std::vector<IdleSpan>> none(kRanks);
  CHECK(explain_idle(cause_totals(idle), cause_totals(none), TimeUnit::Second) ==
        "idle time is 9216000.0 s less: most of it cooldown, 9216000.0 s less, of which rank 0 has 9000.0 s "
        "less");
  Timeline twice = timeline;
  for (Ticks& end : twice.end) end *= 2;
  CHECK(work_difference(timeline, twice) ==
        "total work differs: 9225000.0 s vs 18450000.0 s; the same ops take other times: another model, "
        "machine or "
        "measurement");
}

TEST_CASE("a comparison says what a simulation says: one slow stage of 64") {
  // Stage 9 takes 1e9 units for each pass, the others none of note: 63 of 64 ranks stand still.
  const Run run = evaluate(io::read_run_config(io::Document::parse(
                                                   R"({"schedule": "1f1b", "ranks": 64, "microbatches": 1,
 "costs": {"forward": {"default": 1, "stages": {"9": 1e9}}, "backward": {"default": 1, "stages": {"9": 1e9}}}})",
                                                   "c")
                                                   .root()));
  CHECK(run.metrics->bubble_ratio == Approx(63.0 / 64).margin(1e-6));
  CHECK(ratio_of("bubble_ratio", {nullptr, &run.timeline}) == Approx(run.metrics->bubble_ratio));
}

}  // namespace compare_test
