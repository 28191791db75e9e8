#include <algorithm>

#include <pipeloom/metrics.hpp>
#include "cli/pages/picture_options.hpp"
#include "cli/pages/schedule_page.hpp"
#include "study/report/run_tables.hpp"
#include "support/catch.hpp"

namespace summary_test {

using namespace pipeloom;
using namespace pipeloom::cli;
using namespace pipeloom::study;

namespace {

/// p ranks that differ in nothing.
Metrics equal_ranks(std::size_t p) {
  Metrics metrics;
  metrics.ranks.resize(p);
  for (RankMetrics& rank : metrics.ranks) rank.busy = 10;
  return metrics;
}

std::vector<int> shown(const Metrics& metrics, std::size_t limit) {
  std::vector<int> ranks;
  for (const Rank rank : interesting_ranks(metrics, limit)) ranks.push_back(rank.value());
  return ranks;
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

TEST_CASE("few ranks are all shown") {
  CHECK(shown(equal_ranks(1), 16) == std::vector<int>{0});
  CHECK(shown(equal_ranks(4), 16) == std::vector<int>{0, 1, 2, 3});
  CHECK(shown(equal_ranks(16), 16).size() == 16);
}

TEST_CASE("of many ranks the ends, the extremes and an even spread are shown") {
  Metrics metrics = equal_ranks(1000);
  metrics.ranks[333].busy = 11;
  metrics.ranks[555].idle = 7;
  metrics.peak_rank = Rank(777);
  const auto ranks = shown(metrics, 16);
  CHECK(ranks.size() == 16);
  CHECK(std::is_sorted(ranks.begin(), ranks.end()));
  for (const int rank : {0, 333, 555, 777, 999}) {
    CAPTURE(rank);
    CHECK(contains(ranks, rank));
  }
}

TEST_CASE("one rank more than fit still leaves a full table") {
  CHECK(shown(equal_ranks(17), 16).size() == 16);
}

TEST_CASE("over the limit: rank, op, bytes, limit") {
  const OverLimit over{Rank(2), forward(Stage(2), Microbatch(5)), 12, 10};
  MemoryModel model = default_memory(Placement::linear(4));
  model.static_bytes[0] = 4096;  // sizes are real ones
  CHECK(over_limit_text(over, model)
            .starts_with("over the memory limit: rank 2 needs 12 B at 2F5, the limit is 10 B; "));
}

TEST_CASE("a range of time, either side open") {
  const Ticks unit = ticks_per(TimeUnit::Unit);
  const Span all{0, 33 * unit};
  CHECK(parse_range("2:10.5", TimeUnit::Unit, all) == Span{2 * unit, 10 * unit + unit / 2});
  CHECK(parse_range(":10", TimeUnit::Unit, all) == Span{0, 10 * unit});
  CHECK(parse_range("2:", TimeUnit::Unit, all) == Span{2 * unit, 33 * unit});
  for (const char* text : {"", "2", "10:2", "2:2", "-1:2", "a:b", "1:2:3"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_range(text, TimeUnit::Unit, all), InputError);
  }
}

TEST_CASE("every schedule has a page with its picture and its closed forms") {
  const Screen screen;
  for (const auto& generator : schedules::all()) {
    CAPTURE(generator.name);
    const std::string page = schedule_page(generator, screen);
    CHECK(page.find(generator.summary) != std::string::npos);
    CHECK(page.find("rank 0 ") != std::string::npos);
    for (const auto& form : generator.closed_forms)
      CHECK(page.find(form.quantity + " = " + form.formula) != std::string::npos);
  }
}

}  // namespace summary_test
