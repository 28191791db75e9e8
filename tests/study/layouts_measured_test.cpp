// What measured steps say of a forecast.

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "study/layouts/layouts.hpp"
#include "study/layouts/measured.hpp"
#include "study/layouts/shown/layouts_shown.hpp"
#include "study/plan/candidates.hpp"
#include "study/run/assignments.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace layouts_measured_test {

using namespace pipeloom;
using study::FittedForecast;
using study::FittedTerms;
using study::MeasuredLayout;

namespace {

constexpr int kDevices = 64;
constexpr int kBatch = 128;

io::Config workload() {
  return study::config_of({{"ranks", "1"},
                           {"microbatches", std::to_string(kBatch)},
                           {"schedule", "\"1f1b\""},
                           {"costs.model", "\"llama3-70b\""},
                           {"costs.hardware", "\"h100\""},
                           {"costs.seq", "8192"},
                           {"costs.global_batch", std::to_string(kBatch)}});
}

/// The step of a layout under these terms.
double step_of(const MeasuredLayout& run, const FittedTerms& terms) {
  const io::Config config = study::config_of(study::with_terms(workload(), terms), run.layout, run.layers);
  return static_cast<double>(study::totals_of(config, {}, study::Depth::Metrics).metrics->step_time) / 1e12;
}

/// Runs with the steps that they have under `terms`.
std::vector<MeasuredLayout> runs_under(const FittedTerms& terms, const std::string& text) {
  const test::Folder folder("measured");
  const std::string file = folder / "measured.json";
  std::ofstream(file) << text;
  std::vector<MeasuredLayout> runs = study::read_measured(file, {kDevices, kBatch});
  for (MeasuredLayout& run : runs) run.seconds = step_of(run, terms);
  return runs;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string reading_error(const std::string& text) {
  const test::Folder folder("measured");
  const std::string file = folder / "measured.json";
  std::ofstream(file) << text;
  try {
    static_cast<void>(study::read_measured(file, {kDevices, kBatch}));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

FittedTerms terms(double tensor, double context, double expert, double compute) {
  return {{tensor, context, expert, 0}, compute};
}

TEST_CASE("a measured run is read with what it leaves out", "[layouts][measured]") {
  const auto runs = runs_under({}, R"([{"tp": 4, "pp": 4, "chunks": 5, "step": "9.5s"},
                                       {"tp": 8, "dp": 4, "micro_batch": 2, "recompute": "2 layers", "step": "900ms"}])");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].layout.data == kDevices / 16);
  CHECK(runs[0].layout.microbatches == kBatch / 4);
  CHECK(runs[0].layout.order == "interleaved-1f1b");
  CHECK(runs[1].layout.microbatches == kBatch / 8);
  CHECK(runs[1].layout.layers_again == 2);
  CHECK(runs[1].layout.order == "1f1b");
}

TEST_CASE("a layout of a plan's JSON is read as it is", "[layouts][measured]") {
  const auto runs =
      runs_under({}, R"({"tp": 4, "cp": 1, "ep": 1, "etp": 1, "pp": 4, "dp": 2, "zero": 1, "shards": 2,
    "micro_batch": 1, "microbatches": 64, "chunks": 1, "recompute": "none", "order": "tp-cp-ep-pp-dp", "step": "9s"})");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].layout.devices == DeviceOrder::DataLast);
  CHECK(runs[0].layout.microbatches == 64);
  CHECK(has(reading_error(R"({"order": "dp-first", "step": "9s"})"),
            "order is \"dp-first\"; allowed are tp-cp-ep-dp-pp, tp-cp-ep-pp-dp, pp-tp-cp-ep-dp"));
  CHECK(has(reading_error(R"({"tp": 2, "etp": 2, "step": "9s"})"), "etp is not 1"));
}

TEST_CASE("one measured step says what of the exchanges is hidden", "[layouts][measured]") {
  // Made with 0.4 of all exchanges hidden: that is the one share that gives the step back, and no factor is needed.
  const auto runs = runs_under(terms(0.4, 0.4, 0.4, 1), R"({"tp": 8, "pp": 2, "step": "1s"})");
  const FittedForecast fitted = study::fit_forecast(workload(), runs);
  CHECK(fitted.terms.hidden[0] == Approx(0.4).margin(0.0101));
  CHECK(fitted.terms.compute == 1);
  CHECK(fitted.runs.front().before > runs.front().seconds);
  CHECK(fitted.runs.front().after == Approx(runs.front().seconds).epsilon(0.002));
}

TEST_CASE("a step that is longer than with no exchange hidden says a factor", "[layouts][measured]") {
  const auto runs = runs_under(terms(0, 0, 0, 1.25), R"({"tp": 8, "pp": 2, "step": "1s"})");
  const FittedForecast fitted = study::fit_forecast(workload(), runs);
  CHECK(fitted.terms.hidden[0] == 0);
  CHECK(fitted.terms.compute == Approx(1.25).epsilon(1e-4));
}

TEST_CASE("a step without exchanges says a factor alone", "[layouts][measured]") {
  const auto runs = runs_under(terms(0.5, 0.5, 0.5, 0.9), R"({"pp": 8, "step": "1s"})");
  const FittedForecast fitted = study::fit_forecast(workload(), runs);
  CHECK(fitted.terms.compute == Approx(0.9).epsilon(1e-4));
  CHECK(fitted.terms.hidden[0] == 0);
}

TEST_CASE("two measured steps say a hidden share and a factor", "[layouts][measured]") {
  // tp 8 has eight times the exchanges of tp 1 and the same products: the two tell them apart.
  const auto runs = runs_under(terms(0.6, 0.6, 0.6, 1.1),
                               R"([{"tp": 8, "pp": 2, "step": "1s"}, {"tp": 2, "pp": 8, "step": "1s"}])");
  const FittedForecast fitted = study::fit_forecast(workload(), runs);
  CHECK(fitted.terms.hidden[0] == Approx(0.6).margin(0.0101));
  CHECK(fitted.terms.compute == Approx(1.1).epsilon(0.005));
}

TEST_CASE("more runs than kinds of exchanges say each by itself", "[layouts][measured]") {
  const auto runs = runs_under(
      terms(0.8, 0.2, 0, 1), R"([{"tp": 8, "pp": 2, "step": "1s"}, {"tp": 2, "pp": 4, "cp": 4, "step": "1s"},
                                            {"tp": 4, "pp": 4, "cp": 2, "step": "1s"}])");
  const FittedForecast fitted = study::fit_forecast(workload(), runs);
  CHECK(fitted.terms.hidden[0] == Approx(0.8).margin(0.03));
  // Exchanges of context ranks are a hundredth of these steps, which a factor can stand for as well.
  CHECK(fitted.terms.hidden[1] < 0.5);
  for (const study::FittedRun& run : fitted.runs) {
    CHECK(run.after == Approx(run.run.seconds).epsilon(0.001));
    CHECK(run.before > 1.05 * run.run.seconds);
  }
}

TEST_CASE("a plan after measured steps is that of the terms", "[layouts][measured]") {
  // All exchanges of context ranks hidden, none of tensor ranks: context ranks take the place of tensor ranks.
  study::LayoutOptions options;
  options.devices = kDevices;
  options.fixed = {{"micro_batch", 1}};
  options.target = &study::target_named("megatron");
  const study::LayoutPlan plain = study::make_layouts(workload(), options);
  options.measured =
      runs_under(terms(0, 1, 0, 1.2),
                 R"([{"tp": 8, "pp": 2, "step": "1s"}, {"tp": 2, "pp": 4, "cp": 4, "step": "1s"},
                                    {"tp": 4, "pp": 4, "cp": 2, "step": "1s"}])");
  const study::LayoutPlan plan = study::make_layouts(workload(), options);
  REQUIRE(plan.fitted);
  CHECK(plan.sensitivities.empty());
  CHECK(plan.layouts.front().context > plain.layouts.front().context);
  const std::string json = study::layouts_json(plan, false, 0);
  CHECK(json.find(R"("measured": {"runs": [{"name": "tp8 pp2", "schedule": "1f1b", "measured": )") !=
        std::string::npos);
  CHECK(json.find(R"("compute_scale")") != std::string::npos);
}

TEST_CASE("measured runs that say nothing are refused", "[layouts][measured]") {
  CHECK(reading_error("[]") == "the file has 0 runs; allowed are 1 to 64");
  CHECK(reading_error(R"({"tp": 8})") ==
        R"(a measured run has either the time of a step, "step": "15.9s", or a "trace")");
  CHECK(reading_error(R"({"tp": 3, "step": "1s"})") ==
        "64 devices are no multiple of tp 3 times cp 1 times pp 1; give dp");
  CHECK(reading_error(R"({"tp": 8, "micro_batch": 3, "step": "1s"})") ==
        "the global batch of 128 is no multiple of dp 8 times micro_batch 3; give microbatches");
  CHECK(reading_error(R"({"tp": 1.5, "step": "1s"})") == "tp is 1.5; it must be a whole number");
  CHECK_THAT(reading_error(R"({"recompute": "some", "step": "1s"})"),
             Catch::StartsWith(R"(recompute is "some"; allowed are "none", "selective", )"));
  CHECK(reading_error(R"({"pp": 2, "layers": [80], "step": "1s"})") ==
        "layers has 1 numbers; pp times chunks are 2 stages");
  CHECK_THAT(reading_error(R"({"stepp": "1s"})"), Catch::Contains("stepp"));
}

TEST_CASE("a step that no factor explains is refused", "[layouts][measured]") {
  auto runs = runs_under({}, R"({"tp": 8, "pp": 2, "step": "1s"})");
  runs.front().seconds *= 10;
  CHECK_THROWS_WITH(study::fit_forecast(workload(), runs), Catch::Contains("no factor between 1/4 and 4"));
}

TEST_CASE("a layout that cannot be forecast is refused at its place, and a fit can be ended",
          "[layouts][measured]") {
  const test::Folder folder("measured");
  const std::string file = folder / "measured.json";
  std::ofstream(file) << R"([{"tp": 8, "step": "9s"}, {"dp": 8, "shards": 3, "zero": 3, "step": "9s"}])";
  const auto runs = study::read_measured(file, {kDevices, kBatch});
  try {
    static_cast<void>(study::fit_forecast(workload(), runs));
    FAIL("nothing was refused");
  } catch (const InputError& error) {
    CHECK(error.where().line == 1);
    CHECK(error.where().column == 27);
    CHECK(std::string(error.what()) == "shards is 3; it must divide the data ranks (dp), 8");
  }
  CHECK_THROWS_AS(study::fit_forecast(workload(), runs, [] { return false; }), Stopped);
}

}  // namespace
}  // namespace layouts_measured_test
