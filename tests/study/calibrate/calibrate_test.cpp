// Runs whose costs are known are calibrated back to these costs, and give the same step again.

#include "study/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "sim/cost/bind.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/io/config/config.hpp"
#include "study/calibrate/costs_file.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/planted.hpp"

namespace pipeloom::study::calibrate::calibrate_test {
namespace {

constexpr Ticks kMs = 1'000'000'000;

using ScheduleIn = std::shared_ptr<const Schedule>;

ScheduleIn made(std::string_view name, const Params& params) {
  return std::make_shared<const Schedule>(schedules::make(*schedules::find(name).generator, params));
}

Params params_of(const schedules::Generator& generator) {
  Params params{.ranks = 4, .microbatches = 12, .chunks = generator.requirements.default_chunks};
  params.options.slices = equal_slices(generator.requirements.default_slices);
  params.options.updates = generator.requirements.default_updates;
  if (!generator.requirements.takes.has(Option::Slices)) params.options.slices.clear();
  if (!generator.requirements.takes.has(Option::Updates)) params.options.updates.reset();
  if (!generator.requirements.variants.empty())
    params.options.variant = generator.requirements.variants.front();
  schedules::complete(generator, params, params.chunks);
  return params;
}

/// What a costs file with this text makes of the schedule.
Run run_with(const ScheduleIn& schedule, const std::string& costs) {
  const std::string text = "{\"costs\": " + costs + "}";
  const io::Config config =
      io::read_run_config(io::Document::parse(text, "costs.json").root(), io::Needs::CostsOnly);
  return evaluate_schedule(schedule, "", config);
}

std::string file_of(const Calibration& found) {
  std::ostringstream out;
  write_made_costs(out, found.measured, found.costs);
  return out.str();
}

/// F 5 + s / 10 ms on stage s, I 6 + s / 20, W 4, B 10 + s / 4; the last stage has a head.
std::string unequal(int stages, const std::string& more) {
  std::string forward, backward, input;
  for (int s = 0; s < stages; ++s) {
    const int head = s + 1 == stages ? 1 : 0;
    const char* comma = s == 0 ? "" : ", ";
    forward += fmt::format("{}{}", comma, 5 + 0.1 * s + head);
    backward += fmt::format("{}{}", comma, 10 + 0.25 * s + 2 * head);
    input += fmt::format("{}{}", comma, 6 + 0.05 * s + head);
  }
  return fmt::format(
      R"({{"time_unit": "ms", "forward": [{}], "backward": [{}], "backward_input": [{}], "backward_weight": 4, "output": 2, "output_weight": 1{}}})",
      forward, backward, input, more);
}

Timeline timeline_of(const ScheduleIn& schedule, const std::string& more) {
  return run_with(schedule, unequal(schedule->stages(), more)).timeline;
}

}  // namespace

TEST_CASE("every schedule with unequal stages, messages that take time of ranks, and a slow link",
          "[calibrate]") {
  const std::string messages =
      R"(, "transfer": {"latency": 0.4, "rank_time": 0.05, "links": [{"from": 1, "to": 2, "latency": 1.2}]})";
  for (const schedules::Generator& generator : schedules::all()) {
    if (generator.requirements.slow_search) continue;
    const ScheduleIn schedule = made(generator.name, params_of(generator));
    const Timeline timeline = timeline_of(schedule, messages);
    const Calibration found = calibrate(timeline);
    CAPTURE(generator.name, file_of(found));
    if (generator.requirements.shares_output) {
      // Ops as they are; of messages nothing, and a word about it.
      CHECK(file_of(found).find("\"output\": [2.0, 2.0, 2.0, 2.0]") != std::string::npos);
      CHECK(file_of(found).find("transfer") == std::string::npos);
      REQUIRE(!found.warnings.empty());
      CHECK(found.warnings.front().find("S and T wait for all ranks") != std::string::npos);
      continue;
    }
    CHECK(found.costs.transfer.rank_time == kMs / 20);
    CHECK(found.costs.transfer.link.latency == 2 * kMs / 5);
    REQUIRE(found.replay);
    CHECK(found.replay->measured == span_of(timeline).length());
    CHECK(found.replay->simulated == found.replay->measured);
    // The file says the same as the costs that were replayed.
    CHECK(run_with(schedule, file_of(found)).timeline.end == timeline.end);
  }
}

TEST_CASE(
    "messages that ranks wait for, or that are prefetched, are told by what the step leaves unexplained",
    "[calibrate]") {
  const ScheduleIn schedule = made("1f1b", {.ranks = 4, .microbatches = 12});
  for (const auto& [model, plan] : {std::pair{"blocking", "step"}, std::pair{"async", "at-sender"}}) {
    const Timeline timeline = timeline_of(
        schedule,
        fmt::format(R"(, "transfer": {{"latency": 1.5, "model": "{}", "plan": "{}"}})", model, plan));
    const Calibration found = calibrate(timeline);
    CAPTURE(model, file_of(found));
    CHECK(name_of(found.costs.transfer.model) == model);
    REQUIRE(found.replay);
    CHECK(found.replay->simulated == found.replay->measured);
    CHECK(run_with(schedule, file_of(found)).timeline.end == timeline.end);
    REQUIRE(!found.warnings.empty());
    CHECK(found.warnings.back().find(fmt::format("of the transfer model `{}`", model)) != std::string::npos);
  }
}

TEST_CASE("an order is named where a generator makes it", "[calibrate]") {
  for (const schedules::Generator& generator : schedules::all()) {
    if (generator.requirements.needs_terms) continue;
    const Params params = params_of(generator);
    const auto orders = known_orders(*made(generator.name, params));
    CAPTURE(generator.name);
    const auto own = std::find_if(orders.begin(), orders.end(),
                                  [&](const KnownOrder& order) { return order.name == generator.name; });
    REQUIRE(own != orders.end());
    CHECK(own->params.options.slices.size() == params.options.slices.size());
    // What else is named makes the very same order.
    for (const KnownOrder& order : orders)
      CHECK(*made(order.name, order.params) == *made(generator.name, params));
  }
}

TEST_CASE("an order that no generator makes is one of its own", "[calibrate]") {
  // GPipe with the last two backwards of both ranks exchanged.
  const Schedule own = parse_schedule("0F0 0F1 0F2 0B2 0B0 0B1 | 1F0 1F1 1F2 1B2 1B0 1B1");
  CHECK(known_orders(own).empty());
}

TEST_CASE("group sizes and variants are part of the name", "[calibrate]") {
  Params params{.ranks = 4, .microbatches = 12, .chunks = 2};
  params.options.group_size = 6;
  const auto orders = known_orders(*made("interleaved-1f1b", params));
  REQUIRE(!orders.empty());
  CHECK(arguments_of(orders.front()) ==
        "--schedule interleaved-1f1b --ranks 4 --microbatches 12 --chunks 2 --set options.group_size=6");
}

TEST_CASE("a microbatch that is longer everywhere, and one op that is longer besides", "[calibrate]") {
  const ScheduleIn schedule = made("1f1b", {.ranks = 4, .microbatches = 12});
  const Timeline timeline = timeline_of(
      schedule,
      R"(, "exceptions": [{"microbatch": 5, "factor": 1.4}, {"kind": "F", "stage": 2, "microbatch": 0, "time": 7.5}])");
  const Calibration found = calibrate(timeline);
  REQUIRE(found.costs.exceptions);
  REQUIRE(found.costs.exceptions->size() == 2);
  const cost::CostRow& microbatch = found.costs.exceptions->at(0);
  CHECK(microbatch.microbatch == 5);
  CHECK_FALSE(microbatch.stage);
  CHECK(static_cast<double>(microbatch.number) == Approx(1.4e9));
  const cost::CostRow& op = found.costs.exceptions->at(1);
  CHECK(op.kind == OpKind::Forward);
  CHECK(op.stage == 2);
  CHECK(op.microbatch == 0);
  CHECK(op.number == 15 * kMs / 2);
  CHECK_FALSE(found.costs.noise);
  REQUIRE(found.replay);
  CHECK(std::abs(found.replay->simulated - found.replay->measured) <= 12);  // 1.4 is a factor to nine digits
  CHECK(found.warnings.size() == 1);                                        // one step
}

TEST_CASE("steps with noise of 2 % give its size and no exceptions", "[calibrate]") {
  const ScheduleIn schedule = made("zb-h1", {.ranks = 4, .microbatches = 16});
  const Timeline quiet = timeline_of(schedule, R"(, "transfer": {"latency": 0.4, "rank_time": 0.05})");
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Timeline measured = quiet;
  measured.steps = 4;
  measured.start.clear();
  measured.end.clear();
  Ticks offset = 0;
  for (int step = 0; step < measured.steps; ++step) {
    io::Config config = io::read_run_config(
        io::Document::parse(
            "{\"costs\": " + unequal(4, R"(, "transfer": {"latency": 0.4, "rank_time": 0.05})") + "}", "c")
            .root(),
        io::Needs::CostsOnly);
    auto rows = std::make_shared<std::vector<cost::CostRow>>();
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      const Op op = schedule->ops()[i];
      cost::CostRow& row = rows->emplace_back();
      row.kind = op.kind();
      row.stage = op.stage().value();
      row.microbatch = op.microbatch().value();
      row.number = std::llround(static_cast<double>(quiet.end_of(i) - quiet.start_of(i)) *
                                std::exp(0.02 * normal(random)));
    }
    config.costs.exceptions = rows;
    const Timeline one = evaluate_schedule(schedule, "", config).timeline;
    for (const Ticks start : one.start) measured.start.push_back(start + offset);
    for (const Ticks end : one.end) measured.end.push_back(end + offset);
    offset += span_of(one).length() + kMs;
  }
  const Calibration found = calibrate(measured);
  CHECK_FALSE(found.costs.exceptions);
  REQUIRE(found.costs.noise);
  CHECK(found.costs.noise->model == NoiseModel::Lognormal);
  // 4 * 12 * 16 ops: the relative error of a spread by the median deviation is 1.17 / sqrt(768) = 4 %.
  CHECK(static_cast<double>(found.costs.noise->sigma) / 1e9 == Approx(0.02).epsilon(0.12));
  CHECK(found.costs.transfer.link.latency == 2 * kMs / 5);
  CHECK(found.costs.transfer.rank_time == kMs / 20);
  // Medians of 64 have an error of 1.25 * 2 % / 8 = 0.3 %; steps under noise are longer than without.
  REQUIRE(found.replay);
  const auto share =
      static_cast<double>(found.replay->simulated) / static_cast<double>(found.replay->measured);
  CHECK(share > 0.97);
  CHECK(share < 1.005);
}

TEST_CASE("clocks of ranks are aligned by messages", "[calibrate]") {
  const ScheduleIn schedule = made("1f1b", {.ranks = 4, .microbatches = 12});
  const Timeline right = timeline_of(schedule, R"(, "transfer": {"latency": 0.4, "rank_time": 0.05})");
  Timeline skewed = right;
  const std::vector<Ticks> ahead = {0, 9 * kMs, -4 * kMs, 13 * kMs};
  for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
    const Ticks by = ahead[schedule->rank_of_op(i).at()];
    skewed.start[i] += by;
    skewed.end[i] += by;
  }
  const Calibration found = calibrate(skewed);
  CHECK(found.measured.waits.clocks.apart);
  // Latencies are the same both ways, and so halves of differences are the offsets.
  CHECK(found.measured.waits.clocks.offset == ahead);
  CHECK(found.costs.transfer.link.latency == 2 * kMs / 5);
  CHECK(found.costs.transfer.rank_time == kMs / 20);
  REQUIRE(found.replay);
  CHECK(found.replay->measured == span_of(right).length());
  CHECK(found.replay->simulated == found.replay->measured);
}

TEST_CASE("what lies between all entries becomes time of an entry", "[calibrate]") {
  // Gaps of 0.02 ms behind every op, messages or not: the last rank's F and B stand so far apart.
  const ScheduleIn schedule = made("1f1b", {.ranks = 3, .microbatches = 8});
  Timeline gaps = timeline_of(schedule, R"(, "entry": 0.02, "transfer": {"latency": 0.4})");
  for (Ticks& end : gaps.end) end -= kMs / 50;
  const Calibration found = calibrate(gaps);
  CHECK(found.costs.entry == kMs / 50);
  CHECK(found.costs.transfer.rank_time == 0);
  CHECK(found.costs.transfer.link.latency == 2 * kMs / 5);
  REQUIRE(found.replay);
  // The last op's own 0.02 ms.
  CHECK(found.replay->simulated == found.replay->measured + kMs / 50);
}

TEST_CASE(
    "launches between ops and messages whose latency jitters make no slow link, and costs give the step "
    "again",
    "[calibrate]") {
  constexpr Ticks kUs = 1'000'000;
  for (const Ticks most : {20, 100, 200})
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const test::PlantedRun run = test::plant(seed, {.sigma = 0.003,
                                                      .causes = 0,
                                                      .steps = 5,
                                                      .launch = most * kUs / 2,
                                                      .least_latency = 20 * kUs,
                                                      .most_latency = 80 * kUs,
                                                      .last_stage = 1.5});
      INFO(run.shape << ", launches to " << most << " us");
      const Measurements measured = measure(run.measured);
      io::Config config;
      config.costs = costs_of(measured);
      // Messages take no more than 80 us, and a launch of 200 us may come after one.
      for (const cost::LinkException& link : config.costs.transfer.links)
        CHECK(*link.link.latency <= 280 * kUs);
      const Run again = evaluate_schedule(run.measured.schedule, "", config);
      const auto step = static_cast<double>(cost::sample_of(measured.waits.step_times).median);
      CHECK(std::abs(static_cast<double>(span_of(again.timeline).length()) / step - 1) < 0.005);
    }
}

TEST_CASE("pauses of a collector are in every entry, so that the step is the mean one", "[calibrate]") {
  constexpr Ticks kMicrosecond = 1'000'000;
  int fitted = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const test::PlantedRun run = test::plant(seed, {.sigma = 0.003,
                                                    .causes = 0,
                                                    .steps = 5,
                                                    .launch = 50 * kMicrosecond,
                                                    .least_latency = 20 * kMicrosecond,
                                                    .most_latency = 80 * kMicrosecond,
                                                    .collections = 0.01});
    const Calibration found = calibrate(run.measured);
    double mean = 0;
    for (const Ticks step : found.measured.waits.step_times) mean += static_cast<double>(step) / 5;
    INFO("seed " << seed << ", " << run.shape);
    REQUIRE(found.replay);
    CHECK(std::abs(static_cast<double>(found.replay->simulated) / mean - 1) < 0.005);
    fitted += found.costs.entry != found.measured.waits.between ? 1 : 0;
  }
  // The mean pause before each of them is not enough: ranks wait for the one that was stopped.
  CHECK(fitted >= 3);
}

namespace {

/// Steps of F 10 and B 20 ms on three ranks with messages of 1 ms. `lost(step)` ms pass before F of stage 1 and this microbatch.
template <class Lost>
Timeline steps_that_lose(int steps, int microbatch, Lost&& lost) {
  const ScheduleIn schedule = made("1f1b", {.ranks = 3, .microbatches = 6});
  const Op late = forward(Stage(1), Microbatch(microbatch));
  Timeline out{.schedule = schedule, .steps = steps, .unit = TimeUnit::Millisecond, .start = {}, .end = {}};
  Ticks begin = 0;
  for (int step = 0; step < steps; ++step) {
    const Ticks ms = lost(step);
    Timeline one = run_with(schedule, fmt::format(R"({{"time_unit": "ms", "forward": 10, "backward": 20,
      "exceptions": [{{"kind": "F", "stage": 1, "microbatch": {}, "time": {}}}], "transfer": {{"latency": 1}}}})",
                                                  microbatch, 10 + ms))
                       .timeline;
    for (std::size_t i = 0; i < schedule->num_ops(); ++i) {
      out.start.push_back(begin + one.start[i] + (schedule->ops()[i] == late ? ms * kMs : 0));
      out.end.push_back(begin + one.end[i]);
    }
    begin += span_of(one).end + 100 * kMs;
  }
  return out;
}

}  // namespace

TEST_CASE("time that is lost before one op in every step is part of its time", "[calibrate]") {
  // Once a little less, so that it is the median that counts.
  const Timeline timeline = steps_that_lose(4, 2, [](int step) { return step == 1 ? Ticks{6} : Ticks{7}; });
  const Calibration found = calibrate(timeline);
  CAPTURE(file_of(found));
  REQUIRE(found.costs.exceptions);
  REQUIRE(found.costs.exceptions->size() == 1);
  const cost::CostRow& row = found.costs.exceptions->at(0);
  CHECK(row.kind == OpKind::Forward);
  CHECK(row.stage == 1);
  CHECK(row.microbatch == 2);
  // F takes 10 ms, and 7 ms pass before it.
  CHECK(row.number == 17 * kMs);
  CHECK(found.measured.single.before == std::vector<Ticks>{7 * kMs});
  REQUIRE(found.replay);
  CHECK(found.replay->simulated == found.replay->measured);
  // The op itself is no longer than the others, so that nothing is left of it.
  for (const Residual& one : found.replay->residuals) CHECK(one.rest.spread == 0);
}

TEST_CASE("what one entry alone waits for is no slow link", "[calibrate]") {
  // Of the messages from rank 0 to rank 1 the first alone is waited for; 5 ms pass before its forward.
  const Calibration found = calibrate(steps_that_lose(4, 0, [](int /*step*/) { return Ticks{5}; }));
  CAPTURE(file_of(found));
  CHECK(found.costs.transfer.links.empty());
  REQUIRE(found.costs.exceptions);
  REQUIRE(found.costs.exceptions->size() == 1);
  CHECK(found.costs.exceptions->at(0).microbatch == 0);
  CHECK(found.costs.exceptions->at(0).number == 15 * kMs);
  REQUIRE(found.replay);
  CHECK(found.replay->simulated == found.replay->measured);
}

TEST_CASE("a slow link whose latency jitters takes the median of its messages", "[calibrate]") {
  // One microbatch after the other on three ranks: F 10, B 20 ms, each rank waits for each message. Of the link from rank 0 to 1 they take from 4 ms on, by
  // steps of 0.5 ms, up to 11.5: half-way between the eighth and the ninth of 16 are 7.75 ms. Those of the others take an eighth of that.
  ScheduleBuilder builder(Placement::linear(3), 16);
  for (const int rank : {0, 1, 2}) {
    builder.begin_rank(Rank(rank));
    for (int m = 0; m < 16; ++m) {
      builder.add(forward(Stage(rank), Microbatch(m)));
      builder.add(backward(Stage(rank), Microbatch(m)));
    }
  }
  Timeline timeline{.schedule = std::make_shared<const Schedule>(std::move(builder).build()),
                    .unit = TimeUnit::Millisecond,
                    .start = std::vector<Ticks>(96),
                    .end = std::vector<Ticks>(96)};
  Ticks now = 0;
  const auto run = [&](std::size_t rank, std::size_t op, Ticks time, Ticks latency) {
    timeline.start[32 * rank + op] = now;
    timeline.end[32 * rank + op] = now + time;
    now += time + latency;
  };
  for (std::size_t m = 0; m < 16; ++m) {
    const Ticks latency = 4 * kMs + static_cast<Ticks>(m) * kMs / 2;
    run(0, 2 * m, 10 * kMs, latency);
    run(1, 2 * m, 10 * kMs, latency / 8);
    run(2, 2 * m, 10 * kMs, 0);
    run(2, 2 * m + 1, 20 * kMs, latency / 8);
    run(1, 2 * m + 1, 20 * kMs, latency / 8);
    run(0, 2 * m + 1, 20 * kMs, 0);
  }
  const Calibration found = calibrate(timeline);
  CAPTURE(file_of(found));
  CHECK(found.costs.transfer.link.latency == 7'750 * kMs / 8'000);
  REQUIRE(found.costs.transfer.links.size() == 1);
  CHECK(found.costs.transfer.links[0].link.latency == 7'750 * kMs / 1'000);
}

TEST_CASE("time that is lost in one step of four is of that step alone", "[calibrate]") {
  const Calibration found =
      calibrate(steps_that_lose(4, 2, [](int step) { return Ticks{step == 2 ? 7 : 0}; }));
  CHECK_FALSE(found.costs.exceptions);
}

TEST_CASE("costs of planted runs predict the step within half a percent", "[calibrate]") {
  constexpr Ticks kMicrosecond = 1'000'000;
  const test::PlantedWorld quiet{};
  const test::PlantedWorld launches{.sigma = 0.003,
                                    .steps = 5,
                                    .launch = 50 * kMicrosecond,
                                    .least_latency = 20 * kMicrosecond,
                                    .most_latency = 80 * kMicrosecond,
                                    .last_stage = 1.5};
  for (const test::PlantedWorld* world : {&quiet, &launches})
    for (std::uint64_t seed = 4'200'001; seed < 4'200'061; ++seed) {
      const test::PlantedRun run = test::plant(seed, *world);
      INFO("seed " << seed << ", " << run.shape);
      const Calibration found = calibrate(test::as_read(run.measured));
      REQUIRE(found.replay);
      const auto measured = static_cast<double>(found.replay->measured);
      CHECK(std::abs(static_cast<double>(found.replay->simulated) / measured - 1) < 0.005);
    }
}

TEST_CASE("a link whose messages come while ranks wait for others is not as slow as these", "[calibrate]") {
  // Nothing but launches; the link back to the first rank is seldom the last that an entry waits for.
  constexpr Ticks kMicrosecond = 1'000'000;
  const test::PlantedWorld world{.sigma = 0.003,
                                 .causes = 0,
                                 .steps = 5,
                                 .launch = 50 * kMicrosecond,
                                 .heavy = true,
                                 .least_latency = 20 * kMicrosecond,
                                 .most_latency = 80 * kMicrosecond,
                                 .last_stage = 1.5};
  const test::PlantedRun run = test::plant(4'200'225, world);
  const Calibration found = calibrate(test::as_read(run.measured));
  CHECK(found.costs.transfer.links.empty());
  REQUIRE(found.replay);
  const auto measured = static_cast<double>(found.replay->measured);
  CHECK(std::abs(static_cast<double>(found.replay->simulated) / measured - 1) < 0.005);
}

TEST_CASE("layers go into the file, one number for each stage", "[calibrate]") {
  const ScheduleIn schedule = made("1f1b", {.ranks = 4, .microbatches = 4});
  const Calibration found = calibrate(timeline_of(schedule, ""), {.layers = {8, 8, 8, 7}});
  CHECK(file_of(found).find("\"layers\": [8, 8, 8, 7]") != std::string::npos);
}

TEST_CASE("costs with layers go to a schedule with other stages", "[calibrate]") {
  // ZBV's stages of 4 layers on ranks 0 1 2 2 1 0: 1F1B's 3 stages have 8 each, and rank r the ops of both of its stages. Only a V's file says
  // which ranks these were.
  const ScheduleIn zbv = made("zbv", {.ranks = 3, .microbatches = 6, .chunks = 2});
  const Calibration found = calibrate(
      run_with(zbv, R"({"time_unit": "ms", "forward": 5, "backward_input": 6, "backward_weight": 4})")
          .timeline,
      {.layers = {4, 4, 4, 4, 4, 4}});
  CHECK(file_of(found).find("\"stage_ranks\": [0, 1, 2, 2, 1, 0]") != std::string::npos);
  const Run dealt = run_with(made("1f1b", {.ranks = 3, .microbatches = 6}), file_of(found));
  for (const Ticks forward : dealt.costs->duration[index_of(OpKind::Forward)]) CHECK(forward == 2 * 5 * kMs);
  for (const Ticks backward : dealt.costs->duration[index_of(OpKind::Backward)])
    CHECK(backward == 2 * (6 + 4) * kMs);
}

TEST_CASE("without layers all stages count as equal, and the file goes to other stages", "[calibrate]") {
  const ScheduleIn schedule = made("1f1b", {.ranks = 3, .microbatches = 6});
  const Calibration found = calibrate(timeline_of(schedule, ""));
  CHECK(file_of(found).find("\"layers\": [12, 12, 12]") != std::string::npos);
  const Run dealt =
      run_with(made("interleaved-1f1b", {.ranks = 3, .microbatches = 6, .chunks = 2}), file_of(found));
  // A rank's two stages take together what its one took.
  const auto& forward = found.costs.duration[index_of(OpKind::Forward)]->array;
  const auto& halves = dealt.costs->duration[index_of(OpKind::Forward)];
  for (std::size_t rank = 0; rank < 3; ++rank) CHECK(halves[rank] + halves[rank + 3] == forward[rank]);
}

TEST_CASE("PyTorch's first stage is parted as the others are", "[calibrate]") {
  // PyTorch does all of stage 0's backward in W: 0 and 12 there, 6 and 4 or 9 and 6 elsewhere, where I is six tenths of both.
  const ScheduleIn schedule = made("zb-h1", {.ranks = 3, .microbatches = 6});
  const Timeline timeline =
      run_with(
          schedule,
          R"({"time_unit": "ms", "forward": 5, "backward_input": [0, 6, 9], "backward_weight": [10, 4, 6]})")
          .timeline;
  const Calibration found = calibrate(timeline, {.is_of_torch = true});
  CHECK(found.costs.first_stage == cost::FirstStage::Torch);
  CHECK(found.costs.duration[index_of(OpKind::BackwardInput)]->array ==
        std::vector<Ticks>{6 * kMs, 6 * kMs, 9 * kMs});
  CHECK(found.costs.duration[index_of(OpKind::BackwardWeight)]->array ==
        std::vector<Ticks>{4 * kMs, 4 * kMs, 6 * kMs});
  // The simulation puts it together again.
  REQUIRE(found.replay);
  CHECK(found.replay->simulated == found.replay->measured);
}

TEST_CASE("of ops that may hold a wait the least counts", "[calibrate]") {
  // F of stage 1 takes 5; its ranges begin before their messages leave, and only the second says so little.
  Timeline timeline;
  timeline.schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1"));
  timeline.start = {0, 10, 27, 41, 0, 15, 25, 31};
  timeline.end = {10, 20, 37, 51, 15, 25, 31, 41};
  const std::vector<bool> all_held = {false, false, false, false, true, false, true, false};
  CHECK(calibrate(timeline, {.held = all_held}).costs.duration[index_of(OpKind::Forward)]->array ==
        std::vector<Ticks>{10, 6});
  // Where another op of the kind holds none, those that may do not count.
  const std::vector<bool> one_held = {false, false, false, false, false, false, true, false};
  CHECK(calibrate(timeline, {.held = one_held}).costs.duration[index_of(OpKind::Forward)]->array ==
        std::vector<Ticks>{10, 15});
}

TEST_CASE("an order without backwards on one stage is calibrated, and not simulated", "[calibrate]") {
  Timeline half;
  half.schedule = std::make_shared<const Schedule>(parse_schedule("0F0 0F1 0B0 0B1 | 1F0 1F1 1B0"));
  half.start = {0, 5, 30, 40, 5, 10, 15};
  half.end = {5, 10, 40, 50, 10, 15, 25};
  const Calibration found = calibrate(half);
  CHECK_FALSE(found.replay);
  REQUIRE(!found.warnings.empty());
  CHECK(found.warnings.back().find("cannot be simulated") != std::string::npos);
  CHECK(found.costs.duration[index_of(OpKind::Backward)]->array == std::vector<Ticks>{10, 10});
}

}  // namespace pipeloom::study::calibrate::calibrate_test
