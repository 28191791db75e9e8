// Runs in the time of two short ones are the whole run's, byte for byte.

#include "study/run/repeated/repeated_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/generator.hpp"
#include "study/report/metric.hpp"
#include "study/report/report.hpp"
#include "study/report/run_roots.hpp"
#include "study/run/make_schedule.hpp"
#include "study/sweep/run/evaluator.hpp"
#include "study/sweep/run/families.hpp"
#include "support/catch.hpp"
#include "support/run_config.hpp"

namespace repeated_run_test {

using namespace pipeloom;
using namespace pipeloom::study;

namespace {

/// Draws configurations of one schedule: shapes, times, delays, memory and options.
class Draws {
 public:
  explicit Draws(unsigned seed) : random_(seed) {}

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool one_in(int n) { return from(1, n) == 1; }

  std::string config(const schedules::Generator& generator) {
    const int p = 2 * from(1, 4);
    const Requirements& needs = generator.requirements;
    const int v = std::min(from(needs.min_chunks, needs.min_chunks + 2), needs.max_chunks);
    std::string text = fmt::format(R"({{"schedule": "{}", "ranks": {}, "microbatches": {}, )", generator.name,
                                   p, one_in(3) ? 2 * from(16 * p, 50 * p) : p * from(32, 100));
    if (needs.max_chunks > needs.min_chunks) text += fmt::format(R"("chunks": {}, )", v);
    const int stages =
        std::max(p, generator.placement({.ranks = p, .microbatches = 2 * p, .chunks = v}).stages());
    text += costs(stages, generator.requirements) + R"(, "memory": )" + memory(stages) + options() + "}";
    return text;
  }

  /// The same under transfers that block, queue or share links.
  std::string with_messages(const schedules::Generator& generator) {
    std::string text = config(generator);
    const auto begin = text.find(R"("transfer": {)");
    return text.replace(begin, text.find('}', begin) + 1 - begin, R"("transfer": )" + messages());
  }
  /// The same in steps that overlap.
  std::string with_overlapped_steps(const schedules::Generator& generator) {
    const std::string text = config(generator);
    return text.substr(0, text.size() - 1) +
           fmt::format(R"(, "step": {{"rule": "post-validation", "optimizer": {}, "count": 2}}}})",
                       from(0, 9));
  }

 private:
  std::string numbers(int count, int low, int high) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) out.push_back(from(low, high));
    return fmt::format("[{}]", fmt::join(out, ", "));
  }
  std::string costs(int stages, const Requirements& needs) {
    std::string text = R"("costs": {)";
    const bool equal = one_in(3);
    const auto times = [&](const char* key, int low, int high) {
      text += fmt::format(R"("{}": {}, )", key,
                          equal ? std::to_string(from(low, high)) : numbers(stages, low, high));
    };
    times("forward", 1, 9);
    times("backward", 2, 18);
    times("backward_input", 1, 9);
    times("backward_weight", 1, 9);
    if (needs.shares_output) text += R"("output": 2, "output_weight": 3, )";
    text += R"("offload": 2, "reload": 1, )";
    if (one_in(4)) text += fmt::format(R"("entry": {}, )", from(1, 3));
    if (needs.overlaps && one_in(2)) times("overlapped", 5, 25);
    const bool times_groups = text.find("overlapped") != std::string::npos;
    if (one_in(3)) text += fmt::format(R"("exceptions": [{}], )", exception(stages, times_groups));
    return text + fmt::format(R"("transfer": {{"latency": {}}}}})", one_in(2) ? 0 : from(1, 4));
  }
  std::string messages() {
    const int latency = from(0, 4);
    if (one_in(3)) return fmt::format(R"({{"model": "blocking", "latency": {}}})", latency);
    const char* queue = one_in(3) ? R"("per-rank")" : one_in(2) ? R"("per-direction")" : R"("per-pair")";
    if (one_in(2))
      return fmt::format(R"({{"model": "async", "latency": {}, "queue": {}{}}})", latency, queue,
                         one_in(4) ? R"(, "rank_time": 1)" : "");
    return fmt::format(
        R"({{"model": "link", "latency": {}, "queue": {}, "bytes": {}e7, "bandwidth_gbps": 80{}}}, "time_unit": "ms")",
        latency, queue, from(1, 3), one_in(2) ? R"(, "ranks_per_node": 2)" : "");
  }
  /// Of a stage, so that all microbatches are alike: a time of its pairs, or a factor of one kind.
  std::string exception(int stages, bool times_groups) {
    const int stage = from(0, stages - 1);
    if (times_groups) return fmt::format(R"({{"stage": {}, "overlapped": {}}})", stage, from(5, 40));
    return fmt::format(R"({{"stage": {}, "kind": "F", "factor": {}}})", stage, from(2, 3));
  }
  std::string memory(int stages) {
    std::string text = fmt::format(R"({{"activation_bytes": {})", numbers(stages, 1, 9));
    if (one_in(3)) text += fmt::format(R"(, "static_bytes": {})", from(1, 30));
    if (one_in(3)) text += fmt::format(R"(, "receive_bytes": {})", from(1, 3));
    if (one_in(3)) text += fmt::format(R"(, "limit_bytes": {})", from(40, 400));
    return text + "}";
  }
  std::string options() {
    if (one_in(6)) return R"(, "options": {"recompute": "full"})";
    if (one_in(6)) return R"(, "options": {"offload": "all"})";
    return one_in(8) ? R"(, "options": {"forward_only": true})" : "";
  }

  std::mt19937 random_;
};

/// The report, without root causes if `roots` is false; and what else a caller is told.
std::string told(const Run& run, bool roots) {
  std::ostringstream out;
  write_report(out, run, {});
  std::string text = out.str();
  if (const auto begin = text.find(",\n  \"roots\""); !roots && begin != std::string::npos) {
    const auto end = text.find('\n', begin + 2);
    text.erase(begin, end - (text[end - 1] == ',' ? 1 : 0) - begin);
  }
  for (const std::string& warning : run.warnings) text += warning + '\n';
  if (run.messages) {
    const MessageTotals& totals = run.messages->totals;
    const auto number = [](TickSum sum) { return static_cast<Ticks>(sum.value()); };
    text += fmt::format("{} {} {} {} {} {} {}\n", run.messages->plan, totals.count, number(totals.transfer),
                        number(totals.queued), number(totals.head_of_line), number(totals.exposed),
                        run.messages->lost_to_queues);
  }
  return text;
}

/// Of drawn runs of a schedule.
struct Compared {
  int shortened = 0;   ///< short runs tell them
  int with_roots = 0;  ///< and their root causes
};

using Draw = std::string (Draws::*)(const schedules::Generator&);

/// Compares each of this number of drawn runs with the whole one.
Compared compare_drawn(const schedules::Generator& generator, int cases, unsigned seed,
                       Depth depth = Depth::All, Draw draw = &Draws::config) {
  Draws draws(seed);
  Compared out;
  for (int i = 0; i < cases; ++i) {
    const std::string text = (draws.*draw)(generator);
    INFO(text);
    const io::Config config = test::config_of(text);
    Limits limits;
    limits.with_all_steps = false;
    const auto run = evaluate_repeated(config, limits, depth, 0);
    if (!run) continue;
    ++out.shortened;
    REQUIRE(run->repeated->times > 0);
    const bool roots = !run->repeated->roots.empty();
    out.with_roots += roots ? 1 : 0;
    REQUIRE(told(*run, roots) == told(evaluate(config, limits, depth), roots));
  }
  return out;
}

TEST_CASE("a run from two short ones is the whole run, byte for byte", "[repeated]") {
  constexpr int kCases = 40;  // of each schedule
  for (const schedules::Generator& generator : schedules::all()) {
    if (!generator.period) continue;
    INFO(generator.name);
    const Compared drawn = compare_drawn(generator, kCases, 7);
    CHECK(drawn.with_roots >= drawn.shortened / 2);
    // Bounds of overlapped pairs seldom grow as the makespan does, where stages differ.
    const bool overlaps = generator.requirements.overlaps;
    CHECK((overlaps ? compare_drawn(generator, kCases, 7, Depth::Metrics) : drawn).shortened >= kCases / 4);
  }
}

TEST_CASE("a long run of messages is the whole one, byte for byte", "[repeated]") {
  int shortened = 0;
  for (const schedules::Generator& generator : schedules::all()) {
    if (!generator.period || generator.requirements.shares_output) continue;
    INFO(generator.name);
    shortened += compare_drawn(generator, 8, 5, Depth::All, &Draws::with_messages).shortened;
  }
  CHECK(shortened > 40);
}

TEST_CASE("a long run in steps that overlap is the whole one, byte for byte", "[repeated]") {
  int shortened = 0;
  for (const schedules::Generator& generator : schedules::all()) {
    if (!generator.period) continue;
    INFO(generator.name);
    shortened += compare_drawn(generator, 6, 3, Depth::All, &Draws::with_overlapped_steps).shortened;
  }
  CHECK(shortened > 40);
}

// 20,000 cases; by name, since they take minutes.
TEST_CASE("twenty thousand runs from two short ones are the whole runs", "[.][repeated]") {
  for (const schedules::Generator& generator : schedules::all())
    if (generator.period) CHECK(compare_drawn(generator, 1000, 11).shortened > 0);
}

// By name, since they take minutes.
TEST_CASE("four thousand runs with messages and overlapped steps are the whole runs", "[.][repeated]") {
  int shortened = 0;
  for (const schedules::Generator& generator : schedules::all()) {
    if (!generator.period) continue;
    INFO(generator.name);
    for (const Draw draw : {&Draws::with_messages, &Draws::with_overlapped_steps})
      if (draw != &Draws::with_messages || !generator.requirements.shares_output)
        shortened += compare_drawn(generator, 100, 17, Depth::All, draw).shortened;
  }
  CHECK(shortened > 1000);
}

// By name, since they take minutes.
TEST_CASE("two hundred runs of up to ten million ops are those of the engine", "[.][large]") {
  constexpr int kCases = 200;
  constexpr double kOps = 1e7;
  Draws draws(23);
  std::vector<const schedules::Generator*> periodic;
  for (const schedules::Generator& generator : schedules::all())
    if (generator.period) periodic.push_back(&generator);
  int compared = 0;
  for (int i = 0; compared < kCases && i < 10 * kCases; ++i) {
    const schedules::Generator& generator = *periodic[static_cast<std::size_t>(i) % periodic.size()];
    const std::string text = draws.config(generator);
    INFO(text);
    io::Config config = test::config_of(text);
    Limits limits;
    limits.with_all_steps = false;
    const SchedulePlan plan = name_schedule(config);
    const double factor = kOps / size_of(plan, config, limits).ops;
    const double most = static_cast<double>(kMaxIndex) / plan.params.slices() / plan.params.updates();
    config.microbatches = static_cast<int>(std::min(factor * config.microbatches, most)) / 64 * 64;
    const auto run = evaluate_repeated(config, limits, Depth::Metrics);
    if (!run) continue;
    ++compared;
    REQUIRE(told(*run, false) == told(evaluate(config, limits, Depth::Metrics), false));
  }
  CHECK(compared == kCases);
}

TEST_CASE("points that differ in their microbatches alone are those of single runs", "[repeated]") {
  int told_by_others = 0;
  for (const schedules::Generator& generator : schedules::all()) {
    if (!generator.period) continue;
    Draws draws(31);
    for (int i = 0; i < 4; ++i) {
      io::Config config = test::config_of(draws.config(generator));
      INFO(generator.name << ", " << config.ranks << " ranks");
      std::vector<std::string> metrics;
      for (const Metric& metric : asked_metrics()) metrics.emplace_back(metric.name);
      sweep::Evaluator alone(metrics, {}, sweep::Evaluator::make_cache());
      sweep::Evaluator together(metrics, {}, sweep::Evaluator::make_cache());
      sweep::Families families({}, Depth::Metrics);
      const int most = config.microbatches;
      for (const int m :
           {most / 8, most / 4, most / 2, most / 2 + 1, most / 2 + config.ranks, most, most - 1}) {
        config.microbatches = m;
        INFO(m << " microbatches");
        sweep::Outcome one;
        sweep::Outcome other;
        alone.evaluate(config, one);
        together.evaluate(config, other, "family");
        REQUIRE(other.status == one.status);
        REQUIRE(other.error == one.error);
        REQUIRE(other.metrics == one.metrics);
        if (schedules::takes(generator, name_schedule(config).params))
          told_by_others += families.find(config, "family") != nullptr ? 1 : 0;
      }
    }
  }
  CHECK(told_by_others > 100);
}

TEST_CASE("short runs of families that were asked for long ago are let go", "[repeated]") {
  // Two runs of 256 ranks and some 770 microbatches: 800,000 ops of a family, and 2,097,152 are kept.
  sweep::Families families({}, Depth::Metrics);
  io::Config config = test::config_of(R"({"schedule": "1f1b", "ranks": 256, "microbatches": 65536,
                                          "costs": {"forward": 1, "backward": 2}})");
  for (const int family : {0, 1, 2, 3, 0, 3}) {
    const auto* run = families.find(config, std::to_string(family));
    REQUIRE(run != nullptr);
    CHECK(run->metrics.makespan == Ticks{65536 + 255} * 3 * 1'000'000'000);
    CHECK(families.held_ops() <= std::size_t{1} << 21);
  }
}

TEST_CASE("a path through microbatches that are too few for both replicas is the whole run's", "[repeated]") {
  // 542 = 67 * 8 + 6: of the last microbatches each replica has 3, where it has 4 in all others.
  const io::Config config = test::config_of(
      R"({"schedule": "bitpipe", "ranks": 8, "microbatches": 542, "costs": {
          "forward": [5, 1, 6, 2, 8, 8, 5, 6, 2, 5, 5, 2, 5, 9, 7, 4],
          "backward": [2, 18, 7, 10, 5, 16, 8, 18, 12, 12, 11, 14, 8, 7, 16, 16], "transfer": {"latency": 1}}})");
  Limits limits;
  limits.with_all_steps = false;
  const auto run = evaluate_repeated(config, limits, Depth::All, 0);
  REQUIRE(run);
  CHECK(told(*run, false) == told(evaluate(config, limits), false));
}

TEST_CASE("bounds of overlapped pairs of equal stages grow with the makespan", "[repeated]") {
  const io::Config config = test::config_of(
      R"({"schedule": "dualpipev", "ranks": 4, "microbatches": 600, "costs": {"forward": 1, "backward_input": 1,
          "backward_weight": 1, "overlapped": 2.5, "transfer": {"latency": 0.25}}})");
  Limits limits;
  limits.with_all_steps = false;
  const auto run = evaluate_repeated(config, limits, Depth::All, 0);
  REQUIRE(run);
  CHECK(run->metrics->lower_bound.value > 0);
  CHECK(told(*run, false) == told(evaluate(config, limits), false));
}

TEST_CASE("a long run of a model is the whole one", "[repeated]") {
  const io::Config config = test::config_of(
      R"({"schedule": "zb-h1", "ranks": 4, "microbatches": 600, "costs": {"model": "llama3-8b", "hardware": "h100"}})");
  Limits limits;
  limits.with_all_steps = false;
  const auto run = evaluate_repeated(config, limits, Depth::All, 0);
  REQUIRE(run);
  CHECK(told(*run, false) == told(evaluate(config, limits), false));
}

TEST_CASE("what no number may repeat for is evaluated op by op", "[repeated]") {
  const auto repeats = [](const std::string& more) {
    const io::Config config = test::config_of(
        R"({"schedule": "1f1b", "ranks": 2, "microbatches": 256, "costs": {"forward": 1, "backward": 2)" +
        more + "}");
    return evaluate_repeated(config, {}, Depth::All, 0).has_value();
  };
  CHECK(repeats("}"));
  CHECK_FALSE(repeats(R"(, "exceptions": [{"kind": "F", "microbatch": 3, "time": 5}]})"));
  CHECK(repeats(R"(, "exceptions": [{"kind": "F", "stage": 1, "time": 5}]})"));
  CHECK_FALSE(
      repeats(fmt::format(R"(, "microbatch_scale": [{}]}})", fmt::join(std::vector<int>(256, 1), ", "))));
  CHECK(repeats(R"(, "transfer": {"model": "blocking", "latency": 1}})"));
  CHECK(repeats(R"(}, "step": {"rule": "post-validation"})"));
  CHECK_FALSE(repeats(R"(, "transfer": {"model": "async"}}, "step": {"rule": "post-validation"})"));
  CHECK(repeats(R"(}, "options": {"offload": "all"})"));
}

TEST_CASE("times of single pairs count in long runs", "[repeated]") {
  constexpr Ticks kUnit = 1'000'000'000;
  const auto makespan = [](const std::string& rows, bool is_shortened) {
    const io::Config config = test::config_of(
        R"({"schedule": "dualpipev", "ranks": 2, "microbatches": 256, "costs": {"forward": 1, "backward": 2,
            "overlapped": 3, "exceptions": [)" +
        rows + "]}}");
    Limits limits;
    limits.with_all_steps = false;
    const auto run = evaluate_repeated(config, limits, Depth::Metrics, 0);
    CHECK(run.has_value() == is_shortened);
    const Run whole = evaluate(config, limits, Depth::Metrics);
    if (run) CHECK(run->metrics->makespan == whole.metrics->makespan);
    return whole.metrics->makespan;
  };
  const Ticks as_all = makespan(R"({"stage": 0, "overlapped": 3})", true);
  CHECK(makespan(R"({"stage": 0, "overlapped": 4})", true) > as_all + 200 * kUnit);
  CHECK(makespan(R"({"stage": 0, "microbatch": 100, "overlapped": 4})", false) == as_all + kUnit);
}

TEST_CASE("totals of a thousand million ops", "[repeated]") {
  // 1F1B on 64 ranks, F = 1 and B = 2: (m + p - 1)(F + B) = (7,800,000 + 63) 3.
  const io::Config config = test::config_of(R"({"schedule": "1f1b", "ranks": 64, "microbatches": 7800000, )"
                                            R"("costs": {"forward": 1, "backward": 2}})");
  Limits limits;
  limits.totals_only = true;
  const Run run = evaluate(config, limits);
  REQUIRE(run.repeated);
  CHECK(run.metrics->num_ops == 998'400'000);
  CHECK(run.metrics->makespan == Ticks{7'800'063} * 3 * 1'000'000'000);
  CHECK(run.metrics->ranks[0].memory.peak_live == 64);
  CHECK(run.metrics->ranks[63].busy == Ticks{7'800'000} * 3 * 1'000'000'000);
  // Rank r idles r F while the pipeline fills and r B while it drains, and (p - 1 - r) (F + B) between: (p - 1) 3 p / 2 each.
  const std::vector<RootCause> roots = roots_of(run);
  REQUIRE(roots.size() == 2);
  CHECK(roots[0].kind == RootKind::Fill);
  CHECK(roots[1].kind == RootKind::Drain);
  for (const RootCause& root : roots) CHECK(root.amount == TickSum(Ticks{63} * 3 * 64 / 2 * 1'000'000'000));
  // F and B of each microbatch on the last rank, and the way there and back.
  CHECK(path_entries(run) == std::size_t{2} * 7'800'000 + 2 * 63);
}

}  // namespace
}  // namespace repeated_run_test
