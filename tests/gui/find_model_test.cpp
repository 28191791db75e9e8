#include "gui/model/find/find_model.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "gui/model/answer/snapshots.hpp"
#include "gui/model/session/command.hpp"
#include "gui/part_state.hpp"
#include "support/catch.hpp"
#include "support/window_scenes.hpp"

namespace find_model_test {

using namespace pipeloom;
using namespace pipeloom::gui;
using namespace pipeloom::test;

namespace {

constexpr Ticks kUnit = 1'000'000'000;

const FindRow& row_of(const FindModel& model, const std::string& name) {
  const auto found =
      std::ranges::find_if(model.rows(), [&](const FindRow& one) { return one.row.name == name; });
  REQUIRE(found != model.rows().end());
  return *found;
}

bool in_table(Session& session, const std::string& name) {
  return std::ranges::any_of(session.part<ScheduleTable>().rows(),
                             [&](const ScheduleRow& row) { return row.found && row.name == name; });
}

void run(Session& session, std::string_view command, std::string_view argument = {}) {
  session.message = {};
  REQUIRE(run_command(session, command, argument));
  INFO(session.message.text);
  REQUIRE(session.message.kind == MessageKind::Note);
}

std::string refusal_of(Session& session, std::string_view argument) {
  session.message = {};
  run_command(session, "set-find", argument);
  return session.message.kind == MessageKind::Problem ? session.message.text : "";
}

/// 1f1b, p = 4, m = 8, F = I = W = 1, and what it holds is the limit: 4 activations.
FindModel& sought(Session& session, std::string_view vary) {
  (void)session.part<ConfigModel>();
  (void)session.part<Snapshots>();
  auto& model = session.part<FindModel>();
  settle(session);
  run(session, "set-find", "limit 4");
  run(session, "set-find", "vary " + std::string(vary));
  run(session, "set-find", "budget 0.1");
  settle(session);
  run(session, "find");
  settle(session);
  return model;
}

}  // namespace

TEST_CASE("a question is set part by part, and a wrong part says what is allowed") {
  Session session;
  const auto& model = session.part<FindModel>();
  CHECK(model.question().objective == study::PlanObjective::StepTime);
  run(session, "set-find", "objective peak_bytes");
  run(session, "set-find", "budget 0.5");
  run(session, "set-find", "target megatron");
  run(session, "set-find", "vary order, chunks");
  CHECK(model.question().objective == study::PlanObjective::PeakBytes);
  CHECK(model.question().seconds == 0.5);
  REQUIRE(model.question().target != nullptr);
  CHECK(model.question().target->name == "megatron");
  CHECK(vary_text(*model.question().vary) == "chunks,order");
  run(session, "set-find", "target any");
  CHECK(model.question().target == nullptr);
  run(session, "set-find", "limit 3.2GB");
  CHECK(session.part<ConfigModel>().value("memory.limit_bytes") == "3.2GB");
  run(session, "set-find", "limit none");
  CHECK_FALSE(session.part<ConfigModel>().is_set("memory.limit_bytes"));

  CHECK(refusal_of(session, "objective speed").find("step_time") != std::string::npos);
  CHECK(refusal_of(session, "vary everything").find("recompute") != std::string::npos);
  CHECK(refusal_of(session, "budget -1").find("0 to 3600 seconds") != std::string::npos);
  CHECK(refusal_of(session, "target cuda").find("torchtitan") != std::string::npos);
  CHECK(refusal_of(session, "colour red").find("objective") != std::string::npos);
}

TEST_CASE("what the configuration has no numbers for is not sought") {
  Session session;
  settle(session);
  run(session, "set-find", "objective tokens_per_s");
  run_command(session, "find");
  CHECK(session.message.text.find("needs a model") != std::string::npos);
  CHECK_FALSE(session.part<FindModel>().running());
  CHECK(lack_of(study::PlanObjective::TokensPerS, {{"costs.model", "\"llama3-70b\""}}).empty());
  CHECK_FALSE(lack_of(study::Vary::Microbatches, {{"costs.model", "\"llama3-70b\""}}).empty());
}

TEST_CASE("what fits is ranked, what does not is marked, and the front is drawn") {
  Session session;
  const FindModel& model = sought(session, "schedule,chunks,placement");
  REQUIRE(model.plan() != nullptr);
  CHECK(model.problem().empty());
  // (m + p - 1)(F + B) = 33. ZB-H1 fills the bubble with W: 8 x 3 + (p - 1) (F + I - W) = 27 with the same 4 activations.
  CHECK(row_of(model, "1f1b").row.step_time == 33 * kUnit);
  CHECK(row_of(model, "zb-h1").row.step_time == 27 * kUnit);
  CHECK(row_of(model, "zb-h1").row.held == 4);
  CHECK(row_of(model, "zb-h1").row.headroom == 0);
  // gpipe holds all 8 microbatches.
  CHECK(row_of(model, "gpipe").row.held == 8);
  CHECK_FALSE(row_of(model, "gpipe").row.fits());
  CHECK(row_of(model, "gpipe").row.headroom_text == "-4");
  const FindRow& best = model.rows().front();
  CHECK(best.front);
  CHECK(best.row.step_time <= 27 * kUnit);

  const FindPicture& picture = model.picture();
  REQUIRE(picture.dots().size() == model.rows().size());
  REQUIRE(picture.front().size() == model.plan()->pareto.size());
  REQUIRE(picture.now());
  REQUIRE(picture.limit());
  // The run of now holds 4 of 4, and gpipe, twice as much, stands to the right of the limit.
  CHECK(picture.now()->x == Approx(*picture.limit()));
  for (std::size_t i = 0; i < picture.dots().size(); ++i) {
    CHECK((picture.dots()[i].x > *picture.limit()) == !model.rows()[i].row.fits());
    CHECK(picture.dots()[i].row == i);
  }
  const FindDot& dot = picture.front().front();
  const auto hit = picture.hit(dot.x + 0.005, dot.y, 0.01, 0.01);
  REQUIRE(hit);
  CHECK(hit->x == dot.x);
  CHECK_FALSE(picture.hit(dot.x, dot.y + 2, 0.01, 0.01));
}

TEST_CASE("what only a search knows is a row of the table, and a click takes it") {
  Session session;
  const FindModel& model = sought(session, "schedule,chunks,placement");
  REQUIRE(model.has("interleaved-zb v=4"));
  CHECK(in_table(session, "interleaved-zb v=4"));
  CHECK_FALSE(in_table(session, "zb-h1"));  // the registry's own row says it
  run(session, "take-schedule", "interleaved-zb v=4");
  settle(session);
  const auto& config = session.part<ConfigModel>();
  CHECK(config.value("schedule") == "interleaved-zb");
  CHECK(config.value("chunks") == "4");
  // What was under edit is kept, and what was promised is what the chart shows.
  REQUIRE(session.part<Snapshots>().all().size() == 1);
  CHECK(session.part<Snapshots>().all().front().name == "1f1b");
  CHECK(session.runs.front().run->metrics->step_time == row_of(model, "interleaved-zb v=4").row.step_time);
  CHECK(model.stale());
  run(session, "undo");
  settle(session);
  CHECK(config.value("schedule") == "1f1b");
  CHECK(session.part<Snapshots>().all().size() == 1);
}

TEST_CASE("an order that was searched for is stacked and active") {
  Session session;
  // F = 1.3 where nothing registered is made for it: what a search finds is shorter than 1f1b, the only schedule that may be taken.
  run_command(session, "set", "costs.forward 1.3");
  run_command(session, "set", "costs.backward_input 1");
  run_command(session, "set", "costs.backward_weight 1");
  const FindModel& model = sought(session, "order");
  REQUIRE_FALSE(model.rows().empty());
  const FindRow& best = model.rows().front();
  REQUIRE(best.candidate->searched());
  CHECK(best.row.fits());
  // No order is shorter than a rank's work and the way there: 8 x 3.3 + 3 x 1.3.
  CHECK(best.row.step_time >= static_cast<Ticks>(30.3 * kUnit));
  CHECK(best.row.step_time < row_of(model, "1f1b").row.step_time);
  CHECK(in_table(session, best.row.name));
  run(session, "show-found", best.row.name);
  settle(session);
  REQUIRE(session.runs.size() == 2);
  CHECK(session.active == 1);
  CHECK(session.runs[1].title() == best.row.name);
  CHECK(session.runs[1].run->metrics->step_time == best.row.step_time);
  // Ticked off, it is gone, and another edit leaves it alone.
  session.part<ScheduleTable>().tick(session, best.row.name, false);
  settle(session);
  CHECK(session.runs.size() == 1);
}

TEST_CASE("a search that is ended keeps what it has, and nothing that fits is said") {
  Session session;
  settle(session);
  run(session, "set-find", "budget 600");
  run(session, "find");
  auto& model = session.part<FindModel>();
  CHECK(model.running());
  CHECK_FALSE(session.idle());
  run(session, "find-stop");
  settle(session);
  CHECK_FALSE(model.running());
  REQUIRE(model.plan() != nullptr);
  CHECK(model.progress_text().empty());

  run(session, "set", R"(memory {"activation_bytes":"1GB","limit_bytes":"100MB"})");
  run(session, "set-find", "vary schedule");
  settle(session);
  run(session, "find");
  settle(session);
  INFO(model.problem());
  CHECK(model.problem().find("Nothing fits") != std::string::npos);
  CHECK_FALSE(model.rows().empty());
  CHECK(std::ranges::none_of(model.rows(), [](const FindRow& one) { return one.row.fits(); }));
  const auto state = nlohmann::json::parse(state_of(model, session));
  CHECK(state["running"] == false);
  CHECK(state["winner"].is_null());
  CHECK(state["rows"][0]["fits"] == false);
  run_command(session, "show-found", "nothing");
  CHECK(session.message.text.find("found no 'nothing'") != std::string::npos);
}

}  // namespace find_model_test
