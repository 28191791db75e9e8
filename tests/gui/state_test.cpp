// The state dump of a session without a window.

#include "gui/model/session/state.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <string_view>

#include <pipeloom/schedule.hpp>
#include "gui/model/run/run_model.hpp"
#include "support/catch.hpp"

namespace pipeloom::gui::state_test {
namespace {

using nlohmann::json;

/// Two ranks, one microbatch: F 0-1 on rank 0, F 1-2 and B 2-4 on rank 1, B 4-6 on rank 0; times in units.
RunPtr small_run() {
  auto schedule = std::make_shared<Schedule>(parse_schedule("0F0 0B0 | 1F0 1B0"));
  auto run = std::make_shared<RunModel>();
  const Ticks unit = ticks_per(TimeUnit::Unit);
  run->id = 7;
  run->title = "small";
  run->source = RunSource::TimelineFile;
  run->file = "small.jsonl";
  run->schedule = schedule;
  run->timeline.schedule = schedule;
  run->timeline.start = {0, 4 * unit, 1 * unit, 2 * unit};
  run->timeline.end = {1 * unit, 6 * unit, 2 * unit, 4 * unit};
  run->idle = {{{1 * unit, 4 * unit, IdleCause::Imbalance}}, {}};
  run->span_ = {0, 6 * unit};
  return run;
}

class Counter : public Part {
 public:
  explicit Counter(Session&) {}
  [[nodiscard]] std::string_view state_key() const override { return "undo"; }
  void write_state(const Session&, io::JsonWriter& out) const override {
    out.object().member("steps", 3).close();
  }
};

class Silent : public Part {
 public:
  explicit Silent(Session&) {}
  [[nodiscard]] std::string_view state_key() const override { return "silent"; }
};

TEST_CASE("state: every key is there before anything is open") {
  const Session session;
  const json state = json::parse(state_dump(session, {}));
  for (const char* key : {"seq", "idle", "jobs", "progress", "window", "runs", "view", "selection", "gap",
                          "range", "marks", "search", "undo", "message", "items", "frames"})
    CHECK(state.contains(key));
  CHECK(state["idle"] == true);
  CHECK(state["runs"].empty());
  CHECK(state["gap"].is_null());
  CHECK(state["window"]["theme"] == "dark");
}

TEST_CASE("state: runs, selection and gap in the run's unit") {
  Session session;
  session.add_run(small_run(), false);
  session.selection.op = OpRef{7, 1};
  session.selection.gap = GapRef{7, Rank(0), 0};
  session.selection.kind = OpKind::BackwardWeight;
  session.range = MeasuredRange{ticks_per(TimeUnit::Unit), 4 * ticks_per(TimeUnit::Unit)};
  session.marks.push_back({2 * ticks_per(TimeUnit::Unit), "here", true});
  const json state = json::parse(state_dump(session, {}));
  CHECK(state["runs"][0]["title"] == "small");
  CHECK(state["runs"][0]["source"] == "timeline");
  CHECK(state["runs"][0]["ranks"] == 2);
  CHECK(state["runs"][0]["num_ops"] == 4);
  CHECK(state["runs"][0]["end"] == 6);
  CHECK(state["runs"][0]["metrics"].is_null());
  CHECK(state["view"]["start"] == 0);
  CHECK(state["view"]["end"] == 6);
  CHECK(state["selection"]["op"] ==
        json::parse(R"({"run":0,"rank":0,"op":"0B0","step":0,"start":4,"end":6})"));
  CHECK(state["selection"]["kind"] == "W");
  CHECK(state["gap"] == json::parse(R"({"run":0,"rank":0,"span":0,"start":1,"end":4,"cause":"imbalance"})"));
  CHECK(state["range"] == json::parse(R"({"start":1,"end":4,"length":3})"));
  CHECK(state["marks"][0] == json::parse(R"({"time":2,"note":"here","persistent":true})"));
}

TEST_CASE("state: what points into a closed run is null") {
  Session session;
  session.selection.op = OpRef{99, 0};
  session.selection.gap = GapRef{99, Rank(0), 0};
  const json state = json::parse(state_dump(session, {}));
  CHECK(state["selection"]["op"].is_null());
  CHECK(state["gap"].is_null());
}

TEST_CASE("state: parts add keys of their own, and one that says nothing is null") {
  Session session;
  (void)session.part<Counter>();
  (void)session.part<Silent>();
  const json state = json::parse(state_dump(session, {}));
  CHECK(state["undo"]["steps"] == 3);
  CHECK(state["silent"].is_null());
}

TEST_CASE("state: what the window knows") {
  const Session session;
  WindowState window;
  window.width = 640;
  window.items["params/ranks"] = {1, 2, 30.12345F, 4};
  window.input_waits = true;
  const json state = json::parse(state_dump(session, window));
  CHECK(state["window"]["width"] == 640);
  CHECK(state["items"]["params/ranks"] == json::parse("[1, 2, 30.123, 4]"));
  CHECK(state["idle"] == false);
}

TEST_CASE("state: bytes that are no text do not break the dump") {
  Session session;
  session.say("caf\xe9");
  CHECK(json::parse(state_dump(session, {}))["message"]["text"] == "caf\xef\xbf\xbd");
}

}  // namespace
}  // namespace pipeloom::gui::state_test
