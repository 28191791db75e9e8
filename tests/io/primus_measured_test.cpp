// Runs that somebody measured, in the files that Primus writes: tests/golden/measured/primus.json holds their times. The reader gives back every start
// and end.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <string>

#include <pipeloom/schedule.hpp>
#include "sim/io/traces/assemble.hpp"
#include "sim/io/traces/trace_reader.hpp"
#include "support/catch.hpp"
#include "support/trace_files.hpp"

namespace primus_measured_test {

using namespace pipeloom;
using nlohmann::json;

namespace {

constexpr double kMillisecondsPerTick = 1e-9;

json measured_runs() {
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/measured/primus.json");
  return json::parse(file).at("runs");
}

/// pp_rank_N.json and config.json as dump_pp_data writes them: lists in the order in which a rank ran its ops.
void write_files(const json& run, const test::TraceFolder& folder) {
  for (std::size_t rank = 0; rank < run["ranks"]; ++rank) {
    json file = json::object();
    for (const json& step : run["steps"])
      file[fmt::format("{}", step["step"].get<int>())] = {
          {"total", step["window_ms"]},         {"memory", run["memory_gib"][rank]},
          {"fwd_start", step["f_start"][rank]}, {"fwd_end", step["f_end"][rank]},
          {"fwd_minibatch", json::array()},     {"fwd_chunk", json::array()},
          {"bwd_start", step["b_start"][rank]}, {"bwd_end", step["b_end"][rank]},
          {"bwd_minibatch", json::array()},     {"bwd_chunk", json::array()}};
    std::ofstream(folder.file(fmt::format("pp_rank_{}.json", rank))) << file.dump();
  }
  std::ofstream(folder.file("config.json")) << json{
      {"pp_size", run["ranks"]},
      {"vp_size", run["chunks_per_rank"]},
      {"num_mbs", run["microbatches"]}}.dump();
}

/// Where op i of a list is: [chunk, microbatch].
std::pair<int, int> place_of(const json& run, const char* direction, std::size_t i) {
  if (!run.contains("op_index")) return {0, static_cast<int>(i)};
  return run["op_index"][direction][i].get<std::pair<int, int>>();
}

/// The index of an op that is there once.
std::size_t index_of_op(const Schedule& schedule, Op op) {
  std::size_t i = 0;
  while (i < schedule.num_ops() && !(schedule.ops()[i] == op)) ++i;
  REQUIRE(i < schedule.num_ops());
  return i;
}

}  // namespace

TEST_CASE("measured runs of Primus come back with every start and end", "[traces]") {
  const json runs = measured_runs();
  for (const auto& [name, run] : runs.items()) {
    DYNAMIC_SECTION(name) {
      const test::TraceFolder folder("primus_measured_test");
      write_files(run, folder);
      const io::TraceRun read = io::assemble(io::read_trace({folder.path()}));
      const Schedule& schedule = *read.timeline.schedule;
      const int p = run["ranks"];
      REQUIRE(schedule.ranks() == p);
      REQUIRE(schedule.stages() == p * run["chunks_per_rank"].get<int>());
      REQUIRE(static_cast<std::size_t>(read.timeline.steps) == run["steps"].size());
      // Steps have clocks of their own: each is compared from the first start of its ranks on.
      double worst = 0;
      for (int step = 0; step < read.timeline.steps; ++step) {
        const json& times = run["steps"][static_cast<std::size_t>(step)];
        double first = times["f_start"][0][0];
        for (const json& rank : times["f_start"]) first = std::min(first, rank[0].get<double>());
        const Ticks from = span_of(read.timeline, step).start;
        const auto compare = [&](const char* direction, OpKind kind, const char* start, const char* end) {
          for (int rank = 0; rank < p; ++rank)
            for (std::size_t i = 0; i < times[start][static_cast<std::size_t>(rank)].size(); ++i) {
              const auto [chunk, microbatch] = place_of(run, direction, i);
              const std::size_t op =
                  index_of_op(schedule, Op(kind, Stage(chunk * p + rank), Microbatch(microbatch)));
              REQUIRE(schedule.rank_of_op(op) == Rank(rank));
              const auto error = [&](Ticks read_time, const char* list) {
                const double written = times[list][static_cast<std::size_t>(rank)][i].get<double>() - first;
                return std::abs(static_cast<double>(read_time - from) * kMillisecondsPerTick - written);
              };
              worst = std::max(worst, error(read.timeline.start_of(op, step), start));
              worst = std::max(worst, error(read.timeline.end_of(op, step), end));
            }
        };
        compare("forward", OpKind::Forward, "f_start", "f_end");
        compare("backward", OpKind::Backward, "b_start", "b_end");
      }
      CHECK(worst < 1e-6);
      CHECK(read.warnings.empty());
    }
  }
}

}  // namespace primus_measured_test
