#include "study/report/schedule_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "schedules/generator.hpp"
#include "study/report/metric.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace schedule_rows_test {

using namespace pipeloom;
using study::Assignments;
using study::ScheduleRow;

namespace {

constexpr Ticks kUnit = 1'000'000'000;

const ScheduleRow& row_named(const std::vector<ScheduleRow>& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const ScheduleRow& row) { return row.name == name; });
  REQUIRE(found != rows.end());
  return *found;
}

study::Workload workload(Assignments run) {
  run.try_emplace("schedule", "\"gpipe\"");
  return study::workload_of(study::config_of(run));
}

}  // namespace

TEST_CASE(
    "every schedule has a row: those that fit by step time, then those over the limit, then the refused") {
  const Assignments run = {
      {"ranks", "4"}, {"microbatches", "8"}, {"memory.limit_bytes", "4"}, {"memory.activation_bytes", "1"}};
  const std::vector<ScheduleRow> rows = study::schedule_rows(workload(run), {});
  CHECK(rows.size() == schedules::all().size());
  // (m + p - 1)(F + B) = 11 * 3; 1f1b keeps p = 4 activations, gpipe all 8.
  const ScheduleRow& one = row_named(rows, "1f1b");
  CHECK(one.step_time == 33 * kUnit);
  CHECK(one.held == 4);
  CHECK(one.headroom == 0.0);
  CHECK(one.fits());
  CHECK_FALSE(one.tokens_per_s);
  const ScheduleRow& gpipe = row_named(rows, "gpipe");
  CHECK(gpipe.headroom == -4.0);
  CHECK_FALSE(gpipe.fits());
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const ScheduleRow& a = rows[i - 1];
    const ScheduleRow& b = rows[i];
    INFO(a.name << " before " << b.name);
    CHECK(a.refusal.empty() >= b.refusal.empty());
    if (!b.refusal.empty()) continue;
    CHECK(a.fits() >= b.fits());
    if (a.fits() == b.fits()) CHECK(a.step_time / a.updates <= b.step_time / b.updates);
  }
}

TEST_CASE("a model's rows are its runs, whatever the chunks") {
  const Assignments run = {{"ranks", "4"},
                           {"microbatches", "8"},
                           {"costs.model", "\"llama3-8b\""},
                           {"costs.hardware", "\"h100\""}};
  for (const char* name : {"1f1b", "zbv", "interleaved-1f1b"}) {
    INFO(name);
    const ScheduleRow row = study::evaluate_row(workload(run), name, {});
    REQUIRE(row.refusal.empty());
    Assignments own = run;
    own["schedule"] = '"' + std::string(name) + '"';
    const Run alone = study::evaluate(study::config_of(own));
    CHECK(row.step_time == alone.metrics->step_time);
    CHECK(std::to_string(static_cast<Bytes>(*row.headroom)) ==
          study::text_of(study::find_metric("headroom_bytes"), alone));
    CHECK(*row.mfu == std::stod(study::text_of(study::find_metric("mfu"), alone)));
  }
}

TEST_CASE("a model's rows hold what its ranks hold, whatever the chunks of the given run") {
  const Assignments run = {{"schedule", "\"interleaved-1f1b\""},
                           {"ranks", "4"},
                           {"microbatches", "8"},
                           {"chunks", "2"},
                           {"costs.model", "\"llama3-8b\""},
                           {"costs.hardware", "\"h100\""}};
  for (const char* name : {"1f1b", "zbv", "interleaved-1f1b"}) {
    INFO(name);
    const ScheduleRow row = study::evaluate_row(workload(run), name, {});
    REQUIRE(row.refusal.empty());
    const Run alone = study::evaluate(study::with_schedule(workload(run), name));
    CHECK(std::to_string(static_cast<Bytes>(row.peak_bytes)) ==
          study::text_of(study::find_metric("peak_activation_bytes"), alone));
  }
}

TEST_CASE("a costs file says what rows take: of two chunks each has half") {
  const std::filesystem::path path = test::temporary_path("rows_costs.json");
  std::ofstream(path) << R"({"forward": 4, "backward_input": 4, "backward_weight": 4})";
  const Assignments run = {{"ranks", "4"}, {"microbatches", "8"}, {"costs", '"' + path.string() + '"'}};
  CHECK(study::evaluate_row(workload(run), "1f1b", {}).step_time == 11 * 12 * kUnit);
  // zbv with F = I = W = 2: six a microbatch and chunk, and p - 1 = 3 forwards of idle time: 8 * 2 * 6 + 3 * 2.
  CHECK(study::evaluate_row(workload(run), "zbv", {}).step_time == (8 * 2 * 6 + 3 * 2) * kUnit);
  std::filesystem::remove(path);
}

}  // namespace schedule_rows_test
