// The quick evaluation of many runs against study::evaluate(), text for text: every registered schedule, several shapes, every kind of
// cost, again and again on the same schedules, so that every way in which the evaluator finds a number is taken.

#include "study/sweep/run/evaluator.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "schedules/generator.hpp"
#include "sim/io/json/json_value.hpp"
#include "study/report/run_tables.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"
#include "support/run_config.hpp"
#include "support/temporary.hpp"

namespace evaluator_test {

using namespace pipeloom;
using sweep::Evaluator;
using sweep::Outcome;
using sweep::Status;
using test::config_of;

namespace {

std::vector<std::string> every_metric() {
  std::vector<std::string> names;
  for (const study::Metric& metric : study::asked_metrics()) names.emplace_back(metric.name);
  return names;
}

/// What the slow way says.
Outcome expected(const io::Config& config, const std::vector<std::string>& metrics,
                 const Limits& limits = {}) {
  Outcome out;
  try {
    const Run run = study::evaluate(config, limits);
    if (run.over_limit) {
      out.status = Status::OverMemory;
      out.error = study::over_limit_text(*run.over_limit, *run.memory);
    }
    for (const auto& name : metrics) out.metrics.push_back(study::text_of(study::find_metric(name), run));
  } catch (const Error& error) {
    out.status = study::status_of(error);
    out.error = error.line();
  }
  return out;
}

std::string text_of(const Outcome& outcome) {
  return fmt::format("{}: {} {}", name_of(outcome.status), fmt::join(outcome.metrics, " "), outcome.error);
}

Evaluator evaluator_of(std::vector<std::string> metrics, const Limits& limits = {}) {
  return {std::move(metrics), limits, Evaluator::make_cache()};
}

/// An array of `count` decimals between `low` and `low` + 3.
std::string decimals(test::Random& random, int count, int low) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{}.{}", i == 0 ? "" : ", ", low + random.below(4), random.below(10));
  return "[" + text + "]";
}

/// "costs" and "step" members of one kind; S stages, p ranks, m microbatches.
std::string some_costs(test::Random& random, int kind, int stages, int p, int m) {
  const auto number = [&random](int low) {
    return fmt::format("{}.{}", low + random.below(4), random.below(10));
  };
  const std::string times = fmt::format(R"("forward": {}, "backward_input": {}, "backward_weight": {})",
                                        number(1), number(1), number(1));
  switch (kind) {
    case 0:
      return "";
    case 1:
      return fmt::format(R"(, "costs": {{"time_unit": "ms", {}}})", times);
    case 2:
      return fmt::format(
          R"(, "costs": {{"forward": {}, "backward": {}, "rank_scale": {}, "transfer": {{"latency": {}}}}})",
          decimals(random, stages, 1), decimals(random, stages, 2), decimals(random, p, 1), number(0));
    case 3:
      return fmt::format(R"(, "costs": {{"per": "rank", "time_unit": "us", {}, "overlapped": {}}})", times,
                         number(3));
    case 4:
      return fmt::format(
          R"(, "costs": {{{}, "overlapped": {{"factor": 0.8}}, "transfer": {{"latency": 0.1, "ranks_per_node": 2, "intra": {{"latency": 0}}}}}})",
          times);
    case 5:
      return fmt::format(R"(, "costs": {{"forward": 1, "backward": 2, "microbatch_scale": {}}})",
                         decimals(random, m, 0));
    case 6:
      return fmt::format(R"(, "costs": {{{}, "overlapped": "sequential"}})", times);
    case 7:
      return R"(, "costs": {"forward": 0, "backward_input": 1, "backward_weight": 0, "overlapped": {"saving": 0.5}})";
    case 8:
      return fmt::format(
          R"(, "costs": {{{}}}, "step": {{"rule": "post-validation", "optimizer": {}, "count": 2}})", times,
          number(0));
    case 9:
      // Of single groups, among them some that take no time.
      return fmt::format(
          R"(, "costs": {{{}, "overlapped": {}, "exceptions": [{{"stage": {}, "overlapped": {}}}, {{"microbatch": {}, "overlapped": {}}}, {{"kind": "F", "microbatch": {}, "factor": 1.5}}]}})",
          times, number(3), random.below(stages), number(2), random.below(m), random.below(3),
          random.below(m));
    default:
      return R"(, "costs": {"forward": 1, "backward": 1, "backward_weight": 2})";  // I would be negative
  }
}
constexpr int kCostKinds = 11;

std::string some_memory(test::Random& random, int kind, int stages) {
  switch (kind) {
    case 0:
      return "";
    case 1:
      return R"(, "memory": {"activation_bytes": 10, "released_at_input": 3, "static_bytes": 7, "logits_bytes": 5})";
    case 2:
      return fmt::format(R"(, "memory": {{"activation_bytes": 10, "receive_bytes": 3, "limit_bytes": {}}})",
                         10 * (1 + random.below(8)));
    case 3: {
      std::string bytes;
      for (int s = 0; s < stages; ++s) bytes += fmt::format("{}{}", s == 0 ? "" : ", ", 1 + random.below(9));
      return fmt::format(R"(, "memory": {{"activation_bytes": [{}], "limit_bytes": {}}})", bytes,
                         5 * (1 + random.below(12)));
    }
    default:
      return R"(, "memory": {"activation_bytes": 1, "released_at_input": 2})";  // more than there is
  }
}
constexpr int kMemoryKinds = 5;

}  // namespace

TEST_CASE("the evaluator says what evaluate says: every schedule, shape, kind of costs and memory") {
  const auto metrics = every_metric();
  Evaluator evaluator = evaluator_of(metrics);
  test::Random random(42);
  Outcome found;
  int ok = 0;
  int over = 0;
  int illegal = 0;
  for (const auto& generator : schedules::all()) {
    auto variants = generator.requirements.variants;
    if (variants.empty()) variants = {""};
    for (const std::string& variant : variants)
      for (const auto& [p, m] : std::vector<std::pair<int, int>>{{1, 3}, {3, 5}, {4, 8}, {6, 12}}) {
        const int stages = p * schedules::default_chunks(generator.requirements, variant);
        for (int kind = 0; kind < 3 * kCostKinds; ++kind) {
          std::string text =
              fmt::format(R"({{"schedule": "{}", "ranks": {}, "microbatches": {}{}{})", generator.name, p, m,
                          some_costs(random, kind % kCostKinds, stages, p, m),
                          some_memory(random, random.below(kMemoryKinds), stages));
          if (!variant.empty()) text += fmt::format(R"(, "options": {{"variant": "{}"}})", variant);
          const io::Config config = config_of(text + "}");
          evaluator.evaluate(config, found);
          INFO(text);
          REQUIRE(text_of(found) == text_of(expected(config, metrics)));
          ok += found.status == Status::Ok ? 1 : 0;
          over += found.status == Status::OverMemory ? 1 : 0;
          illegal += found.status == Status::Illegal ? 1 : 0;
        }
      }
  }
  CHECK(ok > 1000);
  CHECK(over > 200);
  CHECK(illegal > 500);
}

TEST_CASE("an order that is found is found again for every cost and limit, and once for the same") {
  const auto metrics = every_metric();
  const auto cache = Evaluator::make_cache();
  Evaluator evaluator(metrics, {}, cache);
  Outcome found;
  for (int round = 0; round < 2; ++round)
    for (const char* forward : {"1", "1.5", "3"})
      for (const char* limit : {"4", "6.5", "8"}) {
        const io::Config config = config_of(fmt::format(
            R"({{"schedule": "zb-auto", "ranks": 4, "microbatches": 12, "options": {{"memory_limit": {{"microbatches": {}}}}}, )"
            R"("costs": {{"forward": {}, "backward_input": 1, "backward_weight": 1}}}})",
            limit, forward));
        evaluator.evaluate(config, found);
        INFO(forward << " " << limit);
        REQUIRE(text_of(found) == text_of(expected(config, metrics)));
      }
  CHECK(Evaluator::use_of(*cache).generated == 9);
}

TEST_CASE("options that change the queues: recomputation, offloading, slices, forwards only, groups") {
  const auto metrics = every_metric();
  Evaluator evaluator = evaluator_of(metrics);
  Outcome found;
  const char* const kCosts =
      R"("costs": {"forward": 1, "backward": 2, "backward_weight": 0.75, "recompute": 0.5, "offload": 0.25})";
  const char* const kMemory = R"("memory": {"activation_bytes": 10, "stash_bytes": 2, "limit_bytes": 35})";
  for (const char* schedule :
       {"1f1b", "interleaved-1f1b", "zb-h1", "seq-1f1b", "dualpipe-v", "gpipe", "hanayo", "pipedream-2bw"})
    for (const char* options :
         {R"("recompute": "full")", R"("recompute": {"keep": 2})", R"("offload": "all")",
          R"("offload": {"chunks": 1, "prefetch": 2})", R"("recompute": "full", "offload": "all")",
          R"("forward_only": true)", R"("forward_only": true, "recompute": "none")", R"("slices": 3)",
          R"("slices": [3, 2, 1])", R"("group_size": 5)", R"("waves": 2)", R"("updates": 2)", ""})
      for (const char* rest : {"", kCosts, kMemory})
        for (int again = 0; again < 2; ++again) {
          std::string text =
              fmt::format(R"({{"schedule": "{}", "ranks": 4, "microbatches": 10, "options": {{{}}}{}{}}})",
                          schedule, options, *rest == '\0' ? "" : ", ", rest);
          const io::Config config = config_of(text);
          evaluator.evaluate(config, found);
          INFO(text);
          REQUIRE(text_of(found) == text_of(expected(config, metrics)));
        }
}

TEST_CASE("transfers that block, queue or share links") {
  const auto metrics = every_metric();
  Evaluator evaluator = evaluator_of(metrics);
  Outcome found;
  for (const char* schedule : {"1f1b", "interleaved-1f1b", "zb-h1", "dualpipe", "interleaved-1f1b-overlap"})
    for (const char* transfer :
         {R"("model": "blocking")", R"("model": "async")", R"("model": "async", "queue": "per-rank")",
          R"("model": "link", "ranks_per_node": 2)", R"("model": "async", "plan": "ahead", "ahead": 2)",
          R"("model": "async", "plan": "overlap")", R"("model": "latency")"}) {
      const std::string text = fmt::format(
          R"({{"schedule": "{}", "ranks": 4, "microbatches": 8, "costs": {{"forward": 1, "backward": 2, "transfer": {{"latency": 0.25, {}}}}},
              "step": {{"rule": "post-validation", "optimizer": 0.5}}}})",
          schedule, transfer);
      const io::Config config = config_of(text);
      evaluator.evaluate(config, found);
      INFO(text);
      REQUIRE(text_of(found) == text_of(expected(config, metrics)));
    }
}

TEST_CASE("each metric alone is what it is among all") {
  const std::string text =
      R"({"schedule": "zb-h1", "ranks": 4, "microbatches": 8, "costs": {"forward": 1.25, "backward": 2, "transfer": {"latency": 0.1}},
          "memory": {"activation_bytes": 3, "released_at_input": 1}, "step": {"rule": "post-validation", "optimizer": 0.5}})";
  const io::Config config = config_of(text);
  Outcome found;
  for (const std::string& name : every_metric()) {
    Evaluator evaluator = evaluator_of({name});
    for (int again = 0; again < 12; ++again) {
      evaluator.evaluate(config, found);
      INFO(name << ", evaluation " << again);
      REQUIRE(text_of(found) == text_of(expected(config, {name})));
    }
  }
  Evaluator none = evaluator_of({});
  none.evaluate(config, found);
  CHECK(text_of(found) == "ok:  ");
}

TEST_CASE("custom schedules: one that runs, one that hangs, one that is illegal, one that is not there") {
  const auto folder = test::temporary_path("evaluator");
  std::filesystem::create_directories(folder);
  const auto config_with = [&](const std::string& name, const std::string& rest) {
    return io::read_run_config(
        io::Document::parse(R"({"schedule": "custom", "options": {"file": ")" + name + "\"" + rest + "}}",
                            (folder / "c.json").string())
            .root());
  };
  const auto write = [&](const std::string& name, const std::string& rows) {
    std::ofstream(folder / name) << rows;
  };
  write("runs.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  write("hangs.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  write("illegal.csv", "0F0,0B0\n1F0\n");
  const auto metrics = every_metric();
  Evaluator evaluator = evaluator_of(metrics);
  Outcome found;
  for (const char* name : {"runs.csv", "hangs.csv", "illegal.csv", "nowhere.csv"})
    for (const char* rest : {"", R"(, "forward_only": true)", R"(, "recompute": "full")"})
      for (int again = 0; again < 2; ++again) {
        const auto config = config_with(name, rest);
        evaluator.evaluate(config, found);
        INFO(name << rest);
        REQUIRE(text_of(found) == text_of(expected(config, metrics)));
      }
  evaluator.evaluate(config_with("hangs.csv", ""), found);
  CHECK(found.status == Status::Hang);
  evaluator.evaluate(config_with("illegal.csv", ""), found);
  CHECK(found.status == Status::Illegal);
  evaluator.evaluate(config_with("nowhere.csv", ""), found);
  CHECK(found.status == Status::Illegal);
  CHECK(found.error.find('\n') == std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("messages that hang count as such") {
  // Blocking entry by entry, both ranks of a pair may want to send first.
  Evaluator evaluator = evaluator_of({"makespan"});
  Outcome found;
  int hanging = 0;
  for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "interleaved-1f1b", "dualpipe", "hanayo"}) {
    const std::string text = fmt::format(
        R"({{"schedule": "{}", "ranks": 4, "microbatches": 8, "costs": {{"transfer": {{"model": "blocking", "plan": "entry"}}}}}})",
        schedule);
    evaluator.evaluate(config_of(text), found);
    INFO(text);
    REQUIRE(text_of(found) == text_of(expected(config_of(text), {"makespan"})));
    hanging += found.status == Status::Hang ? 1 : 0;
  }
  CHECK(hanging > 0);
}

TEST_CASE("what is too large has failed, and a refusal points at the configuration that is asked about") {
  Limits limits;
  limits.max_memory = 1e6;
  Evaluator evaluator = evaluator_of({"makespan"}, limits);
  Outcome found;
  const auto large = config_of(R"({"schedule": "gpipe", "ranks": 16, "microbatches": 4096})");
  evaluator.evaluate(large, found);
  CHECK(found.status == Status::Failed);
  CHECK(text_of(found) == text_of(expected(large, {"makespan"}, limits)));
  // The bound is left out where the limits say so, whoever asks.
  limits = {};
  limits.bound_entries = 10;
  Evaluator bound = evaluator_of({"lower_bound"}, limits);
  const auto small = config_of(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})");
  bound.evaluate(small, found);
  CHECK(text_of(found) == "ok: 0.0 ");
  // Two configurations that differ in nothing but where they stand.
  for (const char* text : {R"({"schedule": "dualpipe", "ranks": 5, "microbatches": 8})",
                           R"({  "schedule": "dualpipe", "ranks": 5, "microbatches": 8})",
                           R"({"schedule": "nobody", "ranks": 5, "microbatches": 8})"}) {
    evaluator.evaluate(config_of(text), found);
    CHECK(found.status == Status::Illegal);
    CHECK(text_of(found) == text_of(expected(config_of(text), {"makespan"})));
  }
}

TEST_CASE("names that are no metrics are refused") {
  CHECK_THROWS_AS(evaluator_of({"makespann"}), InputError);
  for (const std::string& name : sweep::default_metrics()) CHECK(study::find_metric(name).name == name);
}

TEST_CASE("times beyond 2^62 ticks are refused, those of later steps too") {
  Evaluator evaluator = evaluator_of({"makespan"});
  Outcome found;
  for (
      const char* text :
      {R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4, "costs": {"time_unit": "s", "forward": 1000000, "backward": 1000000}})",
       R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4, "costs": {"time_unit": "s", "forward": 100000, "backward": 100000}})",
       R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4, "costs": {"time_unit": "s", "forward": 100000, "backward": 100000}, "step": {"count": 9}})",
       R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4, "costs": {"time_unit": "s", "forward": 1, "backward": 1}, "step": {"optimizer": 4600000}})"})
    for (int again = 0; again < 10; ++again) {
      evaluator.evaluate(config_of(text), found);
      INFO(text);
      REQUIRE(text_of(found) == text_of(expected(config_of(text), {"makespan"})));
    }
}

TEST_CASE("bytes that do not add up are refused on every way through") {
  Evaluator evaluator = evaluator_of({"makespan", "peak_bytes"});
  Outcome found;
  for (const char* memory : {R"({"static_bytes": 4611686018427387903})", R"({"activation_bytes": 1e18})",
                             R"({"receive_bytes": 1e18})",
                             R"({"static_bytes": 4611686018427387903, "limit_bytes": 4611686018427387903})",
                             R"({"activation_bytes": 1e15, "static_bytes": 1e15})"}) {
    const auto config = config_of(fmt::format(
        R"({{"schedule": "interleaved-1f1b", "ranks": 2, "microbatches": 8, "chunks": 8, "memory": {}}})",
        memory));
    INFO(memory);
    for (int again = 0; again < 10; ++again) {
      evaluator.evaluate(config, found);
      REQUIRE(text_of(found) == text_of(expected(config, {"makespan", "peak_bytes"})));
    }
  }
}

TEST_CASE("schedules are made once, whoever asks, and kept while there is room") {
  const auto cache = Evaluator::make_cache();
  const std::vector<std::string> metrics = {"makespan", "peak_bytes"};
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (std::size_t t = 0; t < texts.size(); ++t)
    threads.emplace_back([&, t] {
      Evaluator evaluator(metrics, {}, cache);
      Outcome found;
      for (int m = 1; m <= 40; ++m)
        for (int f = 1; f <= 10; ++f) {
          evaluator.evaluate(
              config_of(fmt::format(
                  R"({{"schedule": "1f1b", "ranks": 4, "microbatches": {}, "costs": {{"forward": {}, "backward": 2}}}})",
                  m, f)),
              found);
          texts[t] += text_of(found) + "\n";
        }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) CHECK(text == texts.front());
  CHECK(Evaluator::use_of(*cache).generated == 40);
  CHECK(Evaluator::use_of(*cache).held == 40);

  const auto small = Evaluator::make_cache(std::size_t{20} << 10);
  Evaluator evaluator(metrics, {}, small);
  Outcome found;
  for (int again = 0; again < 2; ++again)
    for (int m = 1; m <= 40; ++m)
      evaluator.evaluate(
          config_of(fmt::format(R"({{"schedule": "1f1b", "ranks": 4, "microbatches": {}}})", m)), found);
  CHECK(Evaluator::use_of(*small).bytes <= std::size_t{20} << 10);
  CHECK(Evaluator::use_of(*small).held < 40);
  CHECK(Evaluator::use_of(*small).generated == 80);
}

}  // namespace evaluator_test
