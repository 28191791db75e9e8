#include "study/plan/ranking.hpp"

#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "sim/io/hardware/hardware_file.hpp"
#include "study/estimate/accuracy.hpp"
#include "study/plan/headroom.hpp"
#include "study/plan/shown/plan_words.hpp"
#include "support/catch.hpp"
#include "support/run_config.hpp"

namespace ranking_test {

using namespace pipeloom;
using study::Plan;
using study::PlanCandidate;
using study::PlanObjective;
using test::config_of;

namespace {

PlanCandidate row(const std::string& name, Ticks step, double peak) {
  PlanCandidate out;
  out.name = out.schedule = name;
  out.step_time = out.makespan = out.window = step;
  out.peak = peak;
  return out;
}

std::vector<std::string> names_of(const std::vector<PlanCandidate>& all) {
  std::vector<std::string> out;
  for (const PlanCandidate& one : all) out.push_back(one.name);
  return out;
}

/// llama3-8b on 4 H100, with these keys of "memory".
io::Config llama(const std::string& memory) {
  return config_of(
      R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "costs": {"model": "llama3-8b", "hardware": "h100"}, "memory": {)" +
      memory + "}}");
}

Bytes h100_bytes() {
  return static_cast<Bytes>(io::find_hardware("h100", Where{"test"})->memory_bytes);
}

}  // namespace

TEST_CASE("of steps within a thousandth of the best the least peak wins, and so on with what is left") {
  // 10,009 is within a thousandth of 10,000, 10,011 is not.
  std::vector<PlanCandidate> all = {row("a", 10'000, 80), row("b", 10'009, 40), row("c", 10'011, 30),
                                    row("d", 20'000, 1), row("e", 10'000, 70)};
  study::rank(all, PlanObjective::StepTime);
  // b holds least of a, e and b. Of a, e and c the best is 10,000: 10,010 is the most that is the same, so c comes behind them.
  CHECK(names_of(all) == std::vector<std::string>{"b", "e", "a", "c", "d"});
  study::rank(all, PlanObjective::Makespan);
  CHECK(names_of(all) == std::vector<std::string>{"b", "e", "a", "c", "d"});
  study::rank(all, PlanObjective::PeakBytes);
  CHECK(names_of(all) == std::vector<std::string>{"d", "c", "b", "e", "a"});
}

TEST_CASE("of tokens per second within a thousandth of the most the least peak wins") {
  std::vector<PlanCandidate> all = {row("most", 100, 9), row("nearly", 101, 5), row("less", 103, 1)};
  all[0].tokens_per_s = 1000;
  all[1].tokens_per_s = 999.5;
  all[2].tokens_per_s = 998;
  study::rank(all, PlanObjective::TokensPerS);
  CHECK(names_of(all) == std::vector<std::string>{"nearly", "most", "less"});
}

TEST_CASE("candidates without a p95 stay behind those that have one, as they stood") {
  std::vector<PlanCandidate> all = {row("a", 100, 9), row("b", 101, 5), row("c", 102, 1)};
  all[1].p95 = 110;
  study::rank(all, PlanObjective::P95);
  CHECK(names_of(all) == std::vector<std::string>{"b", "a", "c"});
}

TEST_CASE("the cheap neighbour is the fastest of those that are a little slower and hold clearly less") {
  Plan plan;
  plan.candidates = {row("winner", 1000, 80), row("as full", 1001, 79), row("zbv", 1003, 35),
                     row("v-min", 1009, 20), row("slow", 1011, 10)};
  REQUIRE(study::cheap_neighbour(plan) != nullptr);
  CHECK(study::cheap_neighbour(plan)->name == "zbv");
  plan.candidates.resize(2);  // 79 is less than 5 % below 80
  CHECK(study::cheap_neighbour(plan) == nullptr);
  CHECK(study::cheap_neighbour(Plan()) == nullptr);
}

TEST_CASE("changes are against what runs now, else against interleaved 1F1B, within the limit if any is") {
  Plan plan;
  plan.candidates = {row("zbv", 10, 4)};
  CHECK(study::compared_with(plan) == nullptr);
  plan.candidates.push_back(row("1f1b", 14, 4));  // --vary leaves other stages out
  CHECK(study::compared_with(plan) == &plan.candidates[1]);
  plan.over = {row("interleaved-1f1b", 13, 9), row("interleaved-1f1b", 12, 9)};
  CHECK(study::compared_with(plan) == &plan.over[1]);
  plan.candidates.push_back(row("interleaved-1f1b", 15, 3));
  CHECK(study::compared_with(plan) == &plan.candidates[2]);
  plan.baseline = row("gpipe", 20, 8);
  CHECK(study::compared_with(plan) == &*plan.baseline);
}

TEST_CASE("a twentieth of a known device stays free, and a limit only makes that less") {
  io::Config config = llama("");
  const study::Room room = study::leave_headroom(config, std::nullopt);
  const Bytes device = h100_bytes();
  const Bytes usable = device * 19 / 20;
  CHECK(room.headroom == 0.05);
  CHECK(room.device == device);
  CHECK_FALSE(room.limit);
  CHECK(room.usable == usable);
  REQUIRE(config.memory.limit);
  CHECK(config.memory.limit->bytes == std::vector<Bytes>{usable});

  io::Config smaller = llama(R"("limit_bytes": "40GB")");
  CHECK(study::leave_headroom(smaller, std::nullopt).usable == 40'000'000'000);
  io::Config larger = llama(R"("limit_bytes": "84GB")");
  CHECK(study::leave_headroom(larger, std::nullopt).usable == usable);
  io::Config whole = llama("");
  CHECK(study::leave_headroom(whole, 0).usable == device);
  io::Config by_rank = llama(R"("limit_bytes": ["40GB", "84GB", "84GB", "84GB"])");
  CHECK_FALSE(study::leave_headroom(by_rank, 0.5).usable);
  CHECK(by_rank.memory.limit->bytes ==
        std::vector<Bytes>{40'000'000'000, device / 2, device / 2, device / 2});
  io::Config endless = llama(R"("limit_bytes": null)");
  CHECK_FALSE(study::leave_headroom(endless, std::nullopt).usable);
}

TEST_CASE("without a device a limit says what may be held, unless a share of it is to stay free") {
  const std::string text =
      R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8, "memory": {"limit_bytes": 40}})";
  io::Config config = config_of(text);
  const study::Room room = study::leave_headroom(config, std::nullopt);
  CHECK(room.headroom == 0);
  CHECK_FALSE(room.device);
  CHECK(room.usable == 40);
  config = config_of(text);
  CHECK(study::leave_headroom(config, 0.25).usable == 30);
  io::Config none = config_of(R"({"schedule": "1f1b", "ranks": 4, "microbatches": 8})");
  CHECK_FALSE(study::leave_headroom(none, std::nullopt).usable);
  CHECK_THROWS_AS(study::leave_headroom(none, 0.25), InputError);
}

TEST_CASE("how far estimates were is said of the device that is asked about") {
  CHECK(study::accuracy_on("b200", true) ==
        "within 2 % (B200, one node) and 4 % (H100, B200 and GB200, dense models in 8 bits) of measured "
        "steps in "
        "the mean, 42 % at worst");
  CHECK(study::accuracy_on("h100", true).ends_with("42 % at worst, and to half of them for experts"));
  CHECK(study::accuracy_on("h800", false) ==
        "within 2 to 9 % on other devices, none was held against a run on h800, 42 % at worst");
  const std::string all = study::accuracy_text();
  for (const char* words :
       {"2 % (B200, one node)", "4 % (H100", "5 % (A100, zero", "9 % (A100, many", "42 % at worst"})
    CHECK(all.find(words) != std::string::npos);
}

TEST_CASE("a legend says the words of its table and no others") {
  CHECK(study::legend({"zbv", "", "-"}).empty());
  CHECK(study::legend({"optimal", "now", "optimal"}) ==
        "optimal: no better order exists for these stages; now: what runs now");
  CHECK(study::legend({"0.1 %"}).starts_with("gap: how much longer"));
}

TEST_CASE("what is not taken is counted by reason, and told one by one where everything is asked for") {
  Plan plan;
  plan.candidates.push_back(row("zbv", 10, 4));
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    plan.rejected.push_back({name, "holds 9 on rank 0, 1 over its limit", study::Refusal::OverLimit});
  plan.rejected.push_back({"g", "needs an even number of ranks"});
  CHECK(study::refusals_list(plan, false).items ==
        std::vector<std::string>{"  6 over the limit: a, b, c, d and 2 more", "  1 cannot run here: g",
                                 "  -v says why of each"});
  const std::vector<std::string> each = study::refusals_list(plan, true).items;
  REQUIRE(each.size() == 7);
  CHECK(each[5] == "  f: holds 9 on rank 0, 1 over its limit");
  CHECK(each[6] == "  g: needs an even number of ranks");
  plan.rejected.clear();
  CHECK(study::refusals_list(plan, false).items.empty());
}

}  // namespace ranking_test
