// Recorded orders, times and peaks of DualPipe and DualPipeV, and what holds between them.

#include <nlohmann/json.hpp>

#include <functional>

#include <pipeloom/schedule.hpp>
#include <pipeloom/schedules.hpp>
#include "schedules/generator.hpp"
#include "schedules/recorded.hpp"
#include "sim/engine/simulator.hpp"
#include "support/catch.hpp"

namespace pipeloom::dualpipe_reference_test {
namespace {

Params params_of(const nlohmann::json& one) {
  const bool is_v = one["schedule"] == "dualpipev";
  return {.ranks = one["ranks"], .microbatches = one["chunks"], .chunks = is_v ? 2 : 1};
}

/// `expected[r]` for every rank.
template <class T>
std::vector<T> list(const nlohmann::json& expected) {
  return expected.get<std::vector<T>>();
}

void check_orders(const nlohmann::json& one, const Schedule& schedule) {
  REQUIRE(one["orders"].size() == static_cast<std::size_t>(schedule.ranks()));
  for (Rank rank{0}; rank < Rank(schedule.ranks()); ++rank)
    CHECK(queue_text(schedule, rank) == recorded::our_text(one["orders"][rank.at()]));
}

void check_times(const nlohmann::json& times, const Schedule& schedule) {
  const Ticks backward = times["B"];
  const Ticks weight = times["W"];
  const Placement& placement = schedule.placement();
  const std::vector<Ticks> pair(static_cast<std::size_t>(placement.slots()), times["FB"].get<Ticks>());
  const Costs costs =
      uniform_costs(placement, {.forward = times["F"],
                                .backward = backward,
                                .backward_input = backward - weight,
                                .backward_weight = weight,
                                .delay = times["latency"],
                                .overlap = {.rule = OverlapRule::Explicit, .duration = pair}});
  const Totals totals = recorded::evaluate(schedule, costs);
  CHECK(totals.makespan == times["makespan_dataflow"].get<Ticks>());
  CHECK(totals.busy == list<Ticks>(times["busy_per_rank"]));
  CHECK(totals.last_end == list<Ticks>(times["end_per_rank_dataflow"]));
}

void check_peaks(const nlohmann::json& one, const Schedule& schedule) {
  const Costs costs = uniform_costs(schedule.placement(), {});
  MemoryModel memory = default_memory(schedule.placement());
  memory.released_at_input = memory.activation;
  Simulator simulator;
  const auto outcome = simulator.evaluate(schedule, costs, memory);
  const Totals& totals = std::get<Totals>(outcome);
  CHECK(totals.peak_live == list<std::int32_t>(one["peak_chunks_until_W"]));
  CHECK(totals.peak_activation_bytes == list<Bytes>(one["peak_chunks_until_Bgrad"]));
}

void check_file(const std::string& name, std::size_t cases) {
  const auto file = nlohmann::json::parse(recorded::read_text("dualpipe/" + name + "_orders.json"));
  REQUIRE(file.size() == cases);
  for (const auto& one : file) {
    INFO(one["ranks"] << " ranks, " << one["chunks"] << " microbatches");
    const Schedule schedule = recorded::make_named(one["schedule"], params_of(one));
    check_orders(one, schedule);
    check_peaks(one, schedule);
    for (const auto& times : one["makespans"]) check_times(times, schedule);
  }
}

int count(const Schedule& schedule, Rank rank, OpKind kind) {
  int found = 0;
  for (const Op op : schedule.queue(rank)) found += op.kind() == kind;
  return found;
}

}  // namespace

TEST_CASE("dualpipe: recorded orders, times and peaks") {
  check_file("dualpipe", 8);
}
TEST_CASE("dualpipe-v: recorded orders, times and peaks") {
  check_file("dualpipev", 7);
}

TEST_CASE("dualpipe: recorded forward-only orders") {
  for (const std::string name : {"dualpipe", "dualpipev"})
    for (const auto& one :
         nlohmann::json::parse(recorded::read_text("dualpipe/" + name + "_forward_only.json"))) {
      auto params = params_of(one);
      params.options.forward_only = true;
      check_orders(one, recorded::make_named(one["schedule"], params));
    }
}

TEST_CASE("dualpipe-v with p ranks is the first half of dualpipe with 2p") {
  for (const int p : {1, 2, 3, 4, 7})
    for (const int m : {2 * p - 1, 2 * p, 2 * p + 5}) {
      INFO("p = " << p << ", m = " << m);
      const Schedule v = recorded::make_named("dualpipe-v", {.ranks = p, .microbatches = m, .chunks = 2});
      const Schedule whole = recorded::make_named("dualpipe", {.ranks = 2 * p, .microbatches = 2 * m});
      for (Rank rank{0}; rank < Rank(p); ++rank) {
        const auto ours = v.queue(rank);
        const auto theirs = whole.queue(rank);
        REQUIRE(ours.size() == theirs.size());
        for (std::size_t i = 0; i < ours.size(); ++i) {
          const Op op = theirs[i];
          const Op folded(op.kind(), op.stage(), Microbatch(op.microbatch().value() % m));
          CHECK((ours[i] == folded && ours[i].joined() == op.joined()));
        }
      }
    }
}

TEST_CASE("dualpipe is its own mirror image with the halves of the microbatches swapped") {
  for (const int p : {2, 4, 6, 8}) {
    const int m = 2 * p + 2;
    const Schedule schedule = recorded::make_named("dualpipe", {.ranks = p, .microbatches = m});
    for (Rank rank{0}; rank < Rank(p); ++rank) {
      const auto here = schedule.queue(rank);
      const auto there = schedule.queue(Rank(p - 1 - rank.value()));
      REQUIRE(here.size() == there.size());
      for (std::size_t i = 0; i < here.size(); ++i) {
        const Microbatch swapped((here[i].microbatch().value() + m / 2) % m);
        CHECK(there[i] == Op(here[i].kind(), here[i].stage(), swapped));
      }
    }
  }
}

TEST_CASE("dualpipe: how many backwards are split, whole and paired") {
  for (const int p : {2, 4, 8}) {
    const Schedule schedule = recorded::make_named("dualpipe", {.ranks = p, .microbatches = 2 * p});
    const int h = p / 2;
    for (Rank rank{0}; rank < Rank(p); ++rank) {
      const int d = std::min(rank.value(), p - 1 - rank.value());
      CHECK(count(schedule, rank, OpKind::BackwardInput) == 2 * h - d - 1);
      CHECK(count(schedule, rank, OpKind::BackwardWeight) == 2 * h - d - 1);
      int alone = 0;
      for_each_entry(schedule, schedule.queue_begin(rank), schedule.queue_end(rank),
                     [&](std::size_t first, std::size_t last) {
                       alone += last - first == 1 && schedule.ops()[first].kind() == OpKind::Backward;
                     });
      // h, and one more on the innermost rank, whose first pair runs as F and B.
      CHECK(alone == h + (d == h - 1 ? 1 : 0));
    }
  }
}

TEST_CASE(
    "an evaluation of entries with groups ends where its caller says so, and the next one is as any other") {
  const Schedule schedule =
      schedules::make(*schedules::find("dualpipe").generator, {.ranks = 16, .microbatches = 4096});
  const Costs costs = default_costs(schedule.placement());
  const MemoryModel memory = default_memory(schedule.placement());
  const auto totals_of = [&](Simulator& simulator) {
    return std::get<Totals>(simulator.evaluate(schedule, costs, memory));
  };
  Simulator fresh;
  const Totals expected = totals_of(fresh);
  int asked = 0;
  int ends_at = 0;
  const std::function<bool()> stop = [&] { return ++asked == ends_at; };
  fresh = Simulator();
  fresh.set_stop(&stop);
  CHECK(totals_of(fresh).makespan == expected.makespan);
  const int all = asked;
  CHECK(all > 3);  // before it runs, before its rings grow, and every 4,096 visits
  for (int at = 1; at <= all; ++at) {
    Simulator simulator;
    simulator.set_stop(&stop);
    asked = 0;
    ends_at = at;
    CHECK_THROWS_AS(totals_of(simulator), Stopped);
    CHECK(asked == at);
    ends_at = 0;
    const Totals again = totals_of(simulator);
    CHECK(again.makespan == expected.makespan);
    CHECK(again.peak_live == expected.peak_live);
  }
}

}  // namespace pipeloom::dualpipe_reference_test
