#include "study/report/metric.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include <pipeloom/metrics.hpp>
#include "sim/io/json/json_value.hpp"
#include "study/compare/compare.hpp"
#include "study/report/report.hpp"
#include "study/report/run_tables.hpp"
#include "study/report/schemas.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"

namespace metric_test {

using namespace pipeloom;
using namespace pipeloom::study;
using Json = nlohmann::ordered_json;

namespace {

Run run(const std::string& text) {
  return evaluate(io::read_run_config(io::Document::parse(text, "c").root()));
}

// F 1 and B 2 on 4 ranks with 8 microbatches: each rank is idle for (p - 1)(F + B) = 9 of 33.
constexpr const char* kSeed = R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})";
// 16 microbatches: idle for as long, of (16 + 3) * 3 = 57.
constexpr const char* kTwice = R"({"schedule": "1f1b", "ranks": 4, "microbatches": 16})";

/// A metric of our own: the idle time of the rank that has most of it. One row is all that there is to write.
constexpr Metric kMostIdle = {
    .name = "most_idle",
    .label = "most idle",
    .help = "idle time of the rank that has most of it",
    .unit = Unit::Time,
    .get = [](const RunNumbers& numbers) -> std::optional<MetricValue> {
      if (numbers.metrics == nullptr) return std::nullopt;
      Ticks most = 0;
      for (const RankMetrics& rank : numbers.metrics->ranks) most = std::max(most, rank.idle);
      return MetricValue(TickSum(most));
    },
    .report = true,
    .summary = 10,
    .compare = 12,
    .note = [](const RunNumbers&, const PageTimes&) { return std::string("of one rank"); },
};

std::vector<Metric> table_with(const Metric& added) {
  std::vector<Metric> table(all_metrics().begin(), all_metrics().end());
  table.push_back(added);
  return table;
}

}  // namespace

TEST_CASE(
    "a row is all that a new metric takes: the summary, the report, its schema and comparisons have it") {
  const std::vector<Metric> table = table_with(kMostIdle);
  const Run seed = run(kSeed);
  const Run twice = run(kTwice);

  const auto summary = summary_table(seed, table).rows();
  const auto row = std::find_if(summary.begin(), summary.end(),
                                [](const auto& cells) { return cells.front() == "most idle"; });
  REQUIRE(row != summary.end());
  CHECK(*row == std::vector<std::string>{"most idle", "9.0", "of one rank"});

  std::ostringstream report;
  write_report(report, seed, {}, table);
  CHECK(Json::parse(report.str())["most_idle"] == 9.0);
  const Json schema = Json::parse(report_schema(table));
  CHECK(schema["properties"]["most_idle"] == Json::parse(R"({"$ref": "#/$defs/time"})"));
  CHECK(std::count(schema["required"].begin(), schema["required"].end(), "most_idle") == 1);

  const Run* const sides[] = {&seed, &twice};
  for (const auto& rows : {compare_metrics(sides, table), compare_all_metrics(sides, table)}) {
    const auto found =
        std::find_if(rows.begin(), rows.end(), [](const auto& one) { return one.name == "most_idle"; });
    REQUIRE(found != rows.end());
    CHECK(found->values[0] == found->values[1]);
    CHECK(*found->relative(1) == 0);
  }
  // The product's own table is what it was.
  CHECK(metric_named("most_idle") == nullptr);
}

TEST_CASE("names are given once, and places of a list too") {
  std::set<std::string_view> names;
  for (const Metric& metric : all_metrics()) CHECK(names.insert(metric.name).second);
  for (const auto list :
       {&Metric::summary, &Metric::compare, &Metric::facts, &Metric::state, &Metric::edited}) {
    const auto rows = listed(list);
    REQUIRE_FALSE(rows.empty());
    for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i - 1]->*list < rows[i]->*list);
  }
}

TEST_CASE("what lists need of a row, it has") {
  for (const Metric& metric : all_metrics()) {
    INFO(metric.name);
    CHECK(metric.get != nullptr);
    CHECK_FALSE(metric.label.empty());
    CHECK_FALSE(metric.help.empty());
    CHECK((metric.facts == 0 || !metric.sentence.empty()));
    CHECK((metric.beside.empty() || metric_named(metric.beside) != nullptr));
    // A sweep finds no causes of idle time.
    CHECK((!metric.asked || metric.needs != Needs::Idle));
  }
}

TEST_CASE("a timeline that was read knows what needs no more than its times") {
  const Run seed = run(kSeed);
  const RunNumbers measured{nullptr, &seed.timeline};
  const RunNumbers simulated = numbers_of(seed);
  for (const Metric& metric : all_metrics()) {
    INFO(metric.name);
    const auto value = metric.get(measured);
    CHECK(value.has_value() == (metric.needs == Needs::Timeline));
    // And says of them what the simulation says.
    if (value) CHECK(*value == *metric.get(simulated));
  }
}

TEST_CASE("texts of values keep every digit") {
  const Run seed = run(kSeed);
  const RunNumbers numbers = numbers_of(seed);
  const auto text = [&](const char* name, MetricValue value) {
    return json_text(*metric_named(name), value, numbers, TimeUnit::Unit);
  };
  CHECK(text("makespan", TickSum(33 * ticks_per(TimeUnit::Unit))) == "33.0");
  CHECK(text("bubble_ratio", 9.0 / 33) == "0.2727272727272727");
  CHECK(text("peak_bytes", TickSum(4)) == "4");
  CHECK(text("num_ops", TickSum(64)) == "64");
  // More than 63 bits: sums over many ranks.
  CHECK(text("busy", TickSum::times(kMaxTicks, 1000)) ==
        format_ticks(TickSum::times(kMaxTicks, 1000), TimeUnit::Unit));
}

}  // namespace metric_test
