#include "sim/io/formats/chrome_trace.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <set>
#include <sstream>

#include "draw/scenes.hpp"
#include "support/catch.hpp"
#include "support/viewer_rules.hpp"

namespace chrome_trace_test {

using namespace pipeloom;
using namespace pipeloom::draw;
using nlohmann::json;

namespace {

json trace_of(const Timeline& timeline, const io::ChromeTraceOptions& options = {}) {
  std::ostringstream out;
  io::write_chrome_trace(out, timeline, default_memory(timeline.schedule->placement()), options);
  return json::parse(out.str());
}

std::vector<json> events_of(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

/// The name of the thread that an event is on.
std::string lane_of(const json& trace, const json& event) {
  for (const json& name : events_of(trace, "M"))
    if (name["name"] == "thread_name" && name["pid"] == event["pid"] && name["tid"] == event["tid"])
      return name["args"]["name"];
  return "none";
}

void check_shown(const json& trace) {
  CHECK(viewers::faults_of(trace.dump()).text() == "");
}

}  // namespace

TEST_CASE("every op is a complete event with exact times in its arguments", "[io]") {
  const json trace = trace_of(run(kTwoRanks, kUnit / 4));
  const auto ops = events_of(trace, "X");
  REQUIRE(ops.size() == 8);
  // 1F0 starts after F0 of rank 0 (1 unit) and a quarter on the way: 1.25 units, shown as 1.25 ms = 1250 us.
  const json& op = ops[4];
  CHECK(op["name"] == "1F0");
  CHECK(op["pid"] == 1);
  CHECK(lane_of(trace, op) == "ops");
  CHECK(op["ts"] == 1250.0);
  CHECK(op["dur"] == 1000.0);
  CHECK(op["args"] == json({{"kind", "F"},
                            {"stage", 1},
                            {"microbatch", 0},
                            {"chunk", 0},
                            {"step", 0},
                            {"start", "1.25"},
                            {"end", "2.25"}}));
  CHECK(trace["otherData"]["time_unit"] == "unit");
  check_shown(trace);
}

TEST_CASE("ranks are named processes in order", "[io]") {
  std::string text;
  for (int r = 0; r < 11; ++r) text += (r > 0 ? " | " : "") + std::to_string(r) + "F0";
  std::vector<std::string> names;
  std::vector<int> order;
  for (const json& event : events_of(trace_of(run(text)), "M")) {
    if (event["name"] == "process_name") names.push_back(event["args"]["name"]);
    if (event["name"] == "process_sort_index") order.push_back(event["args"]["sort_index"]);
  }
  REQUIRE(names.size() == 11);
  CHECK(names[7] == "rank 07");
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("parts of a group run on threads of their own", "[io]") {
  const json trace = trace_of(run("0F0 (0F1;0B0)OVERLAP_F_B 0B1"));
  const auto ops = events_of(trace, "X");
  REQUIRE(ops.size() == 4);
  CHECK(lane_of(trace, ops[1]) == "ops");
  CHECK(lane_of(trace, ops[2]) == "overlapped");
  CHECK(ops[1]["ts"] == ops[2]["ts"]);
  check_shown(trace);
}

TEST_CASE("both ends of an op are rounded to nanoseconds, and its exact times are in its arguments") {
  // F takes 1.0004 us and B 2.0004 us: 1F0 runs from 1000.4 to 2000.8 ns, shown from 1000 to 2001, and 1B0 to 4001.2, shown to 4001.
  const auto schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0B0 | 1F0 1B0"));
  const Costs costs = uniform_costs(
      schedule->placement(), {.forward = 1'000'400, .backward = 2'000'400, .unit = TimeUnit::Microsecond});
  const json trace = trace_of(simulate(schedule, costs));
  const auto ops = events_of(trace, "X");
  REQUIRE(ops.size() == 4);
  CHECK(ops[2]["ts"] == 1.0);
  CHECK(ops[2]["dur"] == 1.001);
  CHECK(ops[3]["ts"] == 2.001);
  CHECK(ops[3]["dur"] == 2.0);
  CHECK(ops[3]["args"]["start"] == "2.0008");
  CHECK(ops[3]["args"]["end"] == "4.0012");
  check_shown(trace);
}

TEST_CASE("copies run on lanes of their own, ops of no length too") {
  const auto schedule =
      std::make_shared<const Schedule>(parse_schedule("0F0 0O0 0F1 0L0 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  Costs costs = unit_costs(schedule->placement());
  costs.duration[index_of(OpKind::Forward)][1] = 0;
  for (const OpKind copy : {OpKind::Offload, OpKind::Reload}) costs.duration[index_of(copy)][0] = kUnit;
  const json trace = trace_of(simulate(schedule, costs));
  std::map<std::string, std::set<std::string>> kinds;
  for (const json& op : events_of(trace, "X")) kinds[lane_of(trace, op)].insert(op["cat"]);
  CHECK(kinds == std::map<std::string, std::set<std::string>>{
                     {"ops", {"F", "B"}}, {"copies out", {"O"}}, {"copies in", {"L"}}, {"no length", {"F"}}});
  check_shown(trace);
}

TEST_CASE("every transfer between ranks is one arrow from inside its producer to its consumer", "[io]") {
  const Timeline timeline = run(kTwoRanks, kUnit / 4);
  const json trace = trace_of(timeline);
  std::map<std::int64_t, json> starts;
  for (const json& event : events_of(trace, "s")) starts[event["id"]] = event;
  const auto ends = events_of(trace, "f");
  // Two activations down, two gradients up.
  REQUIRE(starts.size() == 4);
  REQUIRE(ends.size() == 4);
  for (const json& end : ends) {
    REQUIRE(starts.count(end["id"]) == 1);
    const json& start = starts[end["id"]];
    CHECK(start["pid"] != end["pid"]);
    CHECK(start["name"] == end["name"]);
    CHECK(end["bp"] == "e");
    CHECK(start["ts"].get<double>() < end["ts"].get<double>());
    for (const json& arrow : {start, end}) {
      int inside = 0;
      for (const json& op : events_of(trace, "X")) {
        const double begin = op["ts"];
        const double length = op["dur"];
        const double time = arrow["ts"];
        if (op["pid"] == arrow["pid"] && op["tid"] == arrow["tid"] && begin <= time && time < begin + length)
          ++inside;
      }
      CHECK(inside == 1);
    }
  }
}

TEST_CASE("stages that share a rank need no arrow", "[io]") {
  // A V: rank 0 holds stages 0 and 3, rank 1 stages 1 and 2. Hops 0-1 and 2-3 cross, 1-2 does not; twice for gradients.
  const json trace = trace_of(run("0F0 3F0 3B0 0B0 | 1F0 2F0 2B0 1B0"));
  CHECK(events_of(trace, "s").size() == 4);
  CHECK(events_of(trace, "f").size() == 4);
  const auto ops = events_of(trace, "X");
  CHECK(ops[0]["args"]["chunk"] == 0);
  CHECK(ops[1]["args"]["chunk"] == 1);
}

TEST_CASE("memory is a counter per rank", "[io]") {
  std::vector<std::pair<double, int>> rank0;
  for (const json& event : events_of(trace_of(run(kTwoRanks)), "C")) {
    CHECK(event["name"] == "memory");
    if (event["pid"] == 0) rank0.emplace_back(event["ts"].get<double>(), event["args"]["bytes"].get<int>());
  }
  // F0 at 0, F1 at 1, end of B0 at 6, end of B1 at 9 (units shown as ms).
  CHECK(rank0 == std::vector<std::pair<double, int>>{{0, 1}, {1000, 2}, {6000, 1}, {9000, 0}});
}

TEST_CASE("flows and counters can be switched off", "[io]") {
  const json trace = trace_of(run(kTwoRanks), {.flows = false, .counters = false});
  CHECK(events_of(trace, "s").empty());
  CHECK(events_of(trace, "C").empty());
  CHECK(events_of(trace, "X").size() == 8);
}

TEST_CASE("several steps keep their arrows apart", "[io]") {
  auto schedule = std::make_shared<const Schedule>(parse_schedule(kTwoRanks));
  const Costs costs = unit_costs(schedule->placement());
  const Timeline timeline = simulate(schedule, costs, {.count = 3});
  const json trace = trace_of(timeline);
  std::set<std::int64_t> ids;
  for (const json& event : events_of(trace, "s")) ids.insert(event["id"].get<std::int64_t>());
  CHECK(ids.size() == 3 * 4);
  CHECK(events_of(trace, "X").back()["args"]["step"] == 2);
  check_shown(trace);
}

TEST_CASE("recomputation and copies have no ends of message arrows", "[io]") {
  const auto schedule = std::make_shared<const Schedule>(
      parse_schedule("0F0 0F1 0O0 0L0 0R0 0B0 0R1 0B1 | 1F0 1R0 1B0 1F1 1O1 1L1 1R1 1B1"));
  const json trace = trace_of(simulate(schedule, default_costs(schedule->placement())));
  std::map<int, std::string> ends;
  for (const std::string phase : {"s", "f"})
    for (const json& event : events_of(trace, phase)) ends[event["id"]] += phase;
  // Two microbatches, an activation down and a gradient up for each: a start and an end.
  CHECK(ends.size() == 4);
  for (const auto& [id, phases] : ends) CHECK(phases == "sf");
}

}  // namespace chrome_trace_test
