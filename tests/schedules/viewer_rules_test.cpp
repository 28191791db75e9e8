// Chrome traces of every schedule as viewers show them: no op is dropped or drawn inside another, and every arrow joins an op and the one that
// waits for it. scripts/test_viewers.sh asks Perfetto's own trace processor the same of files.

#include "support/viewer_rules.hpp"

#include <fmt/format.h>

#include <memory>
#include <sstream>
#include <tuple>

#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/formats/chrome_trace.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::schedules::viewer_rules_test {
namespace {

constexpr Ticks kMicrosecond = 1'000'000;

std::string trace_of(const Timeline& timeline) {
  std::ostringstream out;
  io::write_chrome_trace(out, timeline, default_memory(timeline.schedule->placement()));
  return out.str();
}

/// F, B and I whose tensor comes from another rank.
std::size_t num_messages(const Schedule& schedule) {
  std::size_t count = 0;
  for (Rank rank(0); rank.value() < schedule.ranks(); ++rank)
    for (std::size_t i = schedule.queue_begin(rank); i < schedule.queue_end(rank); ++i) {
      const Op op = schedule.ops()[i];
      const Stage from = op.stage() + step_to_producer(op.kind());
      if (from == op.stage() || from < Stage(0) || from.value() >= schedule.stages()) continue;
      count += schedule.placement().rank_of(from, schedule.replica_of(op.microbatch())) != rank;
    }
  return count;
}

void check(const std::shared_ptr<const Schedule>& schedule, const UniformCosts& costs) {
  const Timeline timeline =
      simulate(schedule, uniform_costs(schedule->placement(), costs), Steps{StepRule::Barrier, 0, 2});
  const viewers::Faults faults = viewers::faults_of(trace_of(timeline));
  CHECK(faults.text() == "");
  CHECK(faults.num_ops == 2 * schedule->num_ops());
  CHECK(faults.num_arrows == 2 * num_messages(*schedule));
}

/// Lengths that end between two nanoseconds.
constexpr UniformCosts kFractions = {.forward = kMicrosecond + 500,
                                     .backward = 2 * kMicrosecond + 500,
                                     .backward_input = kMicrosecond + 333,
                                     .backward_weight = kMicrosecond + 167,
                                     .copy = 700'500,
                                     .delay = 250'167,
                                     .unit = TimeUnit::Microsecond};

}  // namespace

TEST_CASE("viewers show every op and arrow of every schedule whose times are no whole nanoseconds") {
  for (const Generator& generator : all())
    for (const Params& params : small_flavours(generator, 4, {8})) {
      INFO(describe(generator, params));
      check(std::make_shared<const Schedule>(make(generator, params)), kFractions);
    }
}

TEST_CASE("viewers show every op and arrow where messages take no time") {
  UniformCosts costs = kFractions;
  costs.delay = 0;
  for (const Generator& generator : all())
    for (const Params& params : small_flavours(generator, 4, {8})) {
      INFO(describe(generator, params));
      check(std::make_shared<const Schedule>(make(generator, params)), costs);
    }
}

TEST_CASE("ops of no length keep their arrows") {
  // Whole phases at one instant, where the order of events in the file decides which op an arrow joins.
  for (const auto& [forward, input, weight] :
       {std::tuple{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 0, 1}, {0, 0, 0}}) {
    const UniformCosts costs = {.forward = forward * kMicrosecond,
                                .backward = (input + weight) * kMicrosecond,
                                .backward_input = input * kMicrosecond,
                                .backward_weight = weight * kMicrosecond,
                                .copy = 0};
    for (const Generator& generator : all())
      for (const Params& params : small_flavours(generator, 4, {8})) {
        INFO(describe(generator, params) << ", F " << forward << ", I " << input << ", W " << weight);
        check(std::make_shared<const Schedule>(make(generator, params)), costs);
      }
  }
}

TEST_CASE("viewers show copies beside the ops that they overlap") {
  for (const char* const name : {"1f1b", "interleaved-1f1b", "zbv"}) {
    INFO(name);
    const Generator& generator = *find(name).generator;
    Params params{.ranks = 4, .microbatches = 8, .chunks = default_chunks(generator.requirements, "")};
    const auto schedule = std::make_shared<const Schedule>(with_offload(make(generator, params), {}));
    REQUIRE(schedule->has_copies());
    check(schedule, kFractions);
  }
}

}  // namespace pipeloom::schedules::viewer_rules_test
