#include "gui/model/answer/answer.hpp"

#include "gui/model/edit/config_model.hpp"
#include "gui/model/panels/compare_model.hpp"
#include "gui/model/run/build_run.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/training.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace answer_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

/// 1f1b, p = 4, m = 8, F = 1, B = 2, and what else is said: (m + p - 1)(F + B) = 33 units.
RunPtr run_with(Assignments said) {
  said.insert({{"schedule", "\"1f1b\""}, {"ranks", "4"}, {"microbatches", "8"}});
  return build_run(study::evaluate(config_of(said)), "scene", RunSource::Configuration, "");
}

ScheduleRow row(const std::string& name, Ticks step, double held, std::optional<double> headroom = {}) {
  ScheduleRow out;
  out.name = name;
  out.makespan = out.step_time = step;
  out.held = held;
  out.held_text = std::to_string(static_cast<int>(held));
  out.headroom = headroom;
  out.headroom_text = headroom ? std::to_string(static_cast<int>(*headroom)) + ".0 GB" : "";
  return out;
}

Session& with_answer(Session& session) {
  session.preferences.panels["answer"] = true;
  (void)session.part<ConfigModel>();
  (void)session.part<AnswerModel>();
  settle(session);
  return session;
}

}  // namespace

TEST_CASE("the answer of a plain run") {
  const RunAnswer answer = answer_of(*run_with({}));
  CHECK(answer.step_time == 33 * kOne);
  CHECK(answer.bubble_ratio == Approx(9.0 / 33));
  // Each rank waits as long before its first backward as behind its last forward.
  CHECK(answer.largest_cause == IdleCause::Warmup);
  CHECK(answer.shares[0] + answer.shares[1] == Approx(1));
  CHECK(answer.lower_bound == 33 * kOne);
  CHECK(*answer.gap == Approx(0).margin(1e-12));
  CHECK(answer.bottleneck == "Equal stages: no rank stands out.");
  CHECK_FALSE(answer.tokens_per_s);
  REQUIRE(answer.peak);
  CHECK(answer.peak->rank == Rank(0));
  CHECK(answer.peak->held_text == "4");
  CHECK(answer.peak->note == "activations");
  CHECK(answer.peak->fits());
}

TEST_CASE("a stage with more to do is named, with what equal stages would give") {
  // 7.36 on stage 3 against 4.6: 1.6 times. All in the mean: F 1.84, B 3.45, and 11 of these.
  const RunPtr run = run_with({{"costs.forward", "[1.6,1.6,1.6,2.56]"}, {"costs.backward", "[3,3,3,4.8]"}});
  const auto bottleneck = find_bottleneck(*run);
  REQUIRE(bottleneck);
  CHECK(bottleneck->of_stages);
  CHECK(bottleneck->places == std::vector<int>{3});
  CHECK(bottleneck->ratio == Approx(1.6));
  CHECK(bottleneck->when_equal == 11 * (kOne * 184 / 100 + kOne * 345 / 100));
  CHECK(answer_of(*run).bottleneck == "Stage 3 is 1.6 x the others; with equal stages 58.19 units.");
}

TEST_CASE("equal stages are simulated with the optimizer") {
  // F 1.25, B 2.5, 11 of these, and 5 for the optimizer.
  const RunPtr run =
      run_with({{"costs.forward", "[1,2,1,1]"}, {"costs.backward", "[2,4,2,2]"}, {"step.optimizer", "5"}});
  CHECK(find_bottleneck(*run)->when_equal == 11 * (kOne * 375 / 100) + 5 * kOne);
}

TEST_CASE("several stages with more to do are listed, many are counted") {
  Bottleneck bottleneck{true, {0, 3}, 1.25, std::nullopt};
  CHECK(bottleneck_text(bottleneck, true, TimeUnit::Unit) == "Stages 0 and 3 are 1.2 x the others.");
  bottleneck.places = {0, 1, 2, 3};
  CHECK(bottleneck_text(bottleneck, true, TimeUnit::Unit) == "4 stages are 1.2 x the others.");
  bottleneck = {false, {2}, 2, 5 * kOne};
  CHECK(bottleneck_text(bottleneck, false, TimeUnit::Millisecond)
            .starts_with("Rank 2 is 2 x the others; with"));
}

TEST_CASE("a slow rank of several stages is the bottleneck") {
  const RunPtr run = run_with({{"schedule", "\"interleaved-1f1b\""},
                               {"chunks", "2"},
                               {"costs.rank_scale", R"({"default":1,"ranks":{"2":1.5}})"}});
  const auto bottleneck = find_bottleneck(*run);
  REQUIRE(bottleneck);
  CHECK_FALSE(bottleneck->of_stages);
  CHECK(bottleneck->places == std::vector<int>{2});
  CHECK(bottleneck->ratio == Approx(1.5));
}

TEST_CASE("the peak is told of the rank that its limit presses most") {
  // Ranks hold 4, 3, 2 and 1 activations.
  const Assignments sizes = {{"memory.activation_bytes", "\"1GB\""}, {"memory.limit_bytes", "\"3GB\""}};
  const PeakAnswer over = *answer_of(*run_with(sizes)).peak;
  CHECK_FALSE(over.fits());
  CHECK(over.rank == Rank(0));
  CHECK(over.note == "needs 1.0 GB more than 3.0 GB");
  Assignments uneven = sizes;
  uneven["memory.limit_bytes"] = R"(["8GB","3.5GB","3GB","3GB"])";
  const PeakAnswer tight = *answer_of(*run_with(uneven)).peak;
  CHECK(tight.fits());
  CHECK(tight.rank == Rank(1));
  CHECK(tight.held_text == "3.0 GB");
  CHECK(tight.note == "fits 3.5 GB, 500.0 MB free");
}

TEST_CASE("runs of a model say how many tokens a second train") {
  const RunPtr run = run_with({{"costs.model", "\"llama3-8b\""}, {"costs.hardware", "\"h100\""}});
  const RunAnswer answer = answer_of(*run);
  REQUIRE(answer.tokens_per_s);
  const double seconds =
      static_cast<double>(answer.step_time) / static_cast<double>(ticks_per(TimeUnit::Second));
  CHECK(*answer.tokens_per_s == Approx(static_cast<double>(run->model->training.tokens) / seconds));
}

TEST_CASE("a run whose times alone are known") {
  RunModel run = *run_of(kScene);
  const RunAnswer answer = answer_of(run);
  CHECK(answer.step_time == 9 * kOne);
  // 6 of 18.
  CHECK(answer.bubble_ratio == Approx(6.0 / 18));
  CHECK_FALSE(answer.gap);
  CHECK_FALSE(answer.peak);
}

TEST_CASE("the fastest schedule that fits is better, the least memory decides between equals") {
  const std::vector<ScheduleRow> rows = {row("now", 100, 4, 2), row("large", 50, 9, -3),
                                         row("quick", 80, 5, 1), row("quick-and-small", 80, 3, 3),
                                         row("slow", 120, 1, 5)};
  const Outlook outlook = outlook_of(rows, "now");
  REQUIRE(outlook.better);
  CHECK(outlook.better->schedule == "quick-and-small");
  CHECK(outlook.better->saves == Approx(0.2));
  CHECK(outlook.text == "quick-and-small fits and takes 20.0 % less time");
}

TEST_CASE("what would need more memory is said where nothing that fits is faster") {
  const Outlook outlook = outlook_of(std::vector{row("now", 100, 4, 2), row("large", 50, 9, -3)}, "now");
  CHECK_FALSE(outlook.better);
  CHECK(outlook.text == "Nothing that fits is faster. large would need 3.0 GB more.");
}

TEST_CASE("a step that is shorter by less than is worth a suggestion is not called slower") {
  const Outlook outlook = outlook_of(std::vector{row("now", 10000, 4, 2), row("little", 9999, 4, 2)}, "now");
  CHECK_FALSE(outlook.better);
  CHECK(outlook.text == "Nothing that fits is faster by 0.5 % or more.");
}

TEST_CASE("without a limit the price in memory is said") {
  const std::vector<ScheduleRow> rows = {row("now", 100, 4), row("large", 50, 9)};
  CHECK(outlook_of(rows, "now").text == "large takes 50.0 % less time, holding 9 instead of 4");
  CHECK(outlook_of(rows, "large").text == "No other schedule is faster.");
}

TEST_CASE("rows that do not count are not suggested") {
  std::vector<ScheduleRow> rows = {row("now", 1000, 4), row("refused", 1, 1), row("old", 1, 1),
                                   row("no-flush", 1, 1), row("as-fast", 996, 1)};
  rows[1].refusal = "needs even ranks";
  rows[2].stale = true;
  rows[3].updates = 4;  // weights of different steps: another training
  CHECK_FALSE(outlook_of(rows, "now").better);
  CHECK(outlook_of(rows, "nobody").text.empty());
}

TEST_CASE("one click shows the better schedule, another takes it") {
  Session session;
  const auto& model = with_answer(session).part<AnswerModel>();
  REQUIRE(model.run() != nullptr);
  CHECK(model.run()->step_time == 33 * kOne);
  REQUIRE(model.outlook().better);
  const std::string better = model.outlook().better->schedule;
  run_command(session, "show-suggestion");
  settle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.runs[1].run->effective->schedule == better);
  CHECK(session.part<ConfigModel>().value("schedule") == "1f1b");
  run_command(session, "next-run");
  settle(session);
  REQUIRE(model.change());
  CHECK(*model.change() < 0);
  run_command(session, "next-run");
  settle(session);
  run_command(session, "show-suggestion");
  settle(session);
  CHECK(session.runs.size() == 1);
  CHECK(session.part<ConfigModel>().value("schedule") == better);
}

TEST_CASE("the answer's state") {
  Session session;
  const auto& model = with_answer(session).part<AnswerModel>();
  const std::string state = state_of(model, session);
  for (const char* part : {R"("step_time":33)", R"("tokens_per_s":null)", R"("change":null)",
                           R"("largest_cause":"warmup")", R"("peak_rank":0)", R"("limit_bytes":null)",
                           R"("fits":true)", R"("gap":0)", R"("suggestion":{"schedule":)"})
    CHECK(state.find(part) != std::string::npos);
}

}  // namespace answer_test
