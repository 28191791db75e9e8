// Times and bytes near the largest that a user may give. A run is linear: where every time (or size) is `factor` times as large, so is
// every result. The small run is worked out first, far from any limit, and multiplied in 128 bits: the large run must say exactly that,
// or refuse.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include "sim/analysis/idle_causes.hpp"
#include "sim/memory.hpp"
#include "study/compare/compare.hpp"
#include "study/run/evaluate.hpp"
#include "study/run/messages.hpp"
#include "support/catch.hpp"
#include "support/random_problem.hpp"

namespace huge_numbers_test {

using namespace pipeloom;

namespace {

__extension__ using Wide = __int128;

/// Every number is a multiple of this, so that halves of a microbatch's slices (2 or 3) and one and a half of those are whole.
constexpr std::int64_t kWhole = 48;

std::int64_t some(test::Random& random) {
  return kWhole * random.between(0, 20);
}

cost::StageNumbers some_numbers(test::Random& random, int stages, const std::string& key) {
  cost::StageNumbers numbers;
  numbers.form = cost::StageNumbers::Form::Array;
  numbers.key = key;
  for (int s = 0; s < stages; ++s) numbers.array.push_back(some(random));
  return numbers;
}

cost::CostSpec some_costs(test::Random& random, const Schedule& schedule) {
  cost::CostSpec costs;
  for (auto& duration : costs.duration) duration = some_numbers(random, schedule.stages(), "costs");
  if (random.chance(50)) {
    costs.overlap.emplace();
    costs.overlap->rule = random.chance(50) ? OverlapRule::Factor : OverlapRule::Saving;
    costs.overlap->factor = random.between(1, 3) * kUnitScale / 2;
    costs.overlap->saving = some(random);
  }
  if (random.chance(30))
    for (int k = 0; k < schedule.microbatches(); ++k)
      costs.microbatch_scale.array.push_back(random.between(0, 3) * kUnitScale / 2);
  constexpr cost::TransferModel kModels[] = {cost::TransferModel::Latency, cost::TransferModel::Async,
                                             cost::TransferModel::Link};
  costs.transfer.model = kModels[random.below(3)];
  costs.transfer.link.latency = some(random);
  costs.transfer.link.bits_per_second = 8'000'000'000'000;  // a byte takes a tick
  costs.transfer.bytes = some(random);
  return costs;
}

cost::MemorySpec some_memory(test::Random& random, const Schedule& schedule) {
  cost::MemorySpec memory;
  memory.activation = some_numbers(random, schedule.stages(), "memory.activation_bytes");
  memory.static_bytes = some_numbers(random, schedule.stages(), "memory.static_bytes");
  memory.receive = some_numbers(random, schedule.stages(), "memory.receive_bytes");
  memory.logits = some_numbers(random, schedule.stages(), "memory.logits_bytes");
  memory.released_at_input = memory.activation;
  for (auto& bytes : memory.released_at_input.array)
    bytes = std::min(bytes, some(random)) - kWhole * random.below(3);
  return memory;
}

bool multiply(std::int64_t& number, std::int64_t factor) {
  const Wide product = Wide{number} * factor;
  number = static_cast<std::int64_t>(product);
  return product < kMaxTicks && product > -kMaxTicks;
}

bool multiply(cost::StageNumbers& numbers, std::int64_t factor) {
  bool fits = true;
  for (auto& number : numbers.array) fits = multiply(number, factor) && fits;
  return fits;
}

/// How many times as large all times and all sizes are. Apart, so that neither is refused before the other comes near its limit.
struct Factors {
  std::int64_t time = 1;
  std::int64_t bytes = 1;
};

/// Nothing if one of the numbers is more than a user may give.
std::optional<io::Config> times(io::Config config, Factors by) {
  bool fits = multiply(config.step.optimizer, by.time) &&
              multiply(*config.costs.transfer.link.latency, by.time) &&
              multiply(config.costs.transfer.bytes, by.time);
  for (auto& duration : config.costs.duration) fits = multiply(*duration, by.time) && fits;
  if (config.costs.overlap) fits = multiply(config.costs.overlap->saving, by.time) && fits;
  for (auto* numbers : {&config.memory.activation, &config.memory.static_bytes, &config.memory.receive,
                        &config.memory.logits, &config.memory.released_at_input})
    fits = multiply(*numbers, by.bytes) && fits;
  return fits ? std::optional(std::move(config)) : std::nullopt;
}

std::optional<Run> run_of(const std::shared_ptr<const Schedule>& schedule, const io::Config& config) {
  try {
    return study::evaluate_schedule(schedule, "random", config);
  } catch (const InputError&) {
    return std::nullopt;
  } catch (const ScheduleError&) {
    return std::nullopt;  // hangs with these messages
  }
}

/// Times that a report prints; a row of names for the eye would not tell more than the index.
std::vector<Wide> times_of(const Run& run) {
  const Metrics& m = *run.metrics;
  std::vector<Wide> out = {m.makespan, m.ideal_time, m.max_window, m.lower_bound.value,
                           run.critical_path->length};
  for (const RankMetrics& rank : m.ranks)
    for (const Ticks time : {rank.busy, rank.idle, rank.first_start, rank.last_end, rank.idle_causes.total()})
      out.push_back(time);
  if (run.messages)
    for (const TickSum sum : {run.messages->totals.transfer, run.messages->totals.queued,
                              run.messages->totals.head_of_line, run.messages->totals.exposed})
      out.push_back(sum.value());
  const study::TimelineFacts facts = study::facts_of(run.timeline);
  out.insert(out.end(), {facts.busy.value(), facts.idle.value()});
  const study::CauseTotals causes = study::cause_totals(all_idle_spans(run.timeline, *run.costs));
  for (std::size_t i = 0; i < kIdleCauses; ++i)
    out.push_back(causes.total.of(static_cast<IdleCause>(i)).value());
  for (const Ticks end : run.timeline.end) out.push_back(end);
  return out;
}

std::vector<Wide> bytes_of(const Run& run) {
  std::vector<Wide> out;
  for (const RankMetrics& rank : run.metrics->ranks)
    for (const Bytes bytes :
         {rank.memory.peak_activation_bytes, rank.memory.peak_bytes, rank.memory.peak_host_bytes})
      out.push_back(bytes);
  each_memory_curve(run.timeline, *run.memory, [&](Rank, const std::vector<MemoryStep>& curve) {
    for (const MemoryStep& step : curve) out.push_back(step.bytes);
  });
  return out;
}

bool agree(const std::vector<Wide>& large, std::vector<Wide> small, Wide factor) {
  for (Wide& number : small) number *= factor;
  return large == small;
}

double distance(Ticks large, Ticks small, Wide factor) {
  return std::abs(static_cast<double>(Wide{large} - small * factor) / static_cast<double>(factor));
}

}  // namespace

TEST_CASE("numbers near the largest are right or refused, never others") {
  int right = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    INFO("seed " << seed);
    test::Random random(7'000'000 + seed);
    const auto plain = test::random_problem(random.bits(), {4, 3, 5, 30}).schedule;
    const auto schedule =
        random.chance(50) ? plain : std::make_shared<const Schedule>(test::random_extras(random, *plain));
    io::Config config;
    config.costs = some_costs(random, *schedule);
    config.memory = some_memory(random, *schedule);
    config.step.rule = random.chance(50) ? StepRule::Barrier : StepRule::PostValidation;
    config.step.optimizer = some(random);
    config.step.count = 1 + random.below(3);
    const auto small = run_of(schedule, config);
    if (!small) continue;
    for (int again = 0; again < 4; ++again) {
      // One of the two from 2^30, where all is well, to where single numbers reach the limit.
      const std::int64_t factor = (std::int64_t{1} << random.between(30, 56)) + random.between(0, 1'000'000);
      const Factors by = random.chance(50) ? Factors{factor, 1000} : Factors{1000, factor};
      const auto scaled = times(config, by);
      if (!scaled) continue;
      const auto large = run_of(schedule, *scaled);
      if (!large) {
        ++refused;
        continue;
      }
      ++right;
      INFO("factor " << factor);
      REQUIRE(agree(times_of(*large), times_of(*small), by.time));
      REQUIRE(agree(bytes_of(*large), bytes_of(*small), by.bytes));
      // A mean over steps, rounded: in the small run to a whole tick, which is by.time in the large one.
      REQUIRE(distance(large->metrics->steady_period, small->metrics->steady_period, by.time) <= 1);
      REQUIRE(large->metrics->bubble_ratio == Approx(small->metrics->bubble_ratio).margin(1e-12));
      REQUIRE(large->metrics->bubble_overhead == Approx(small->metrics->bubble_overhead).margin(1e-12));
    }
  }
  CHECK(right > 300);
  CHECK(refused > 100);
}

}  // namespace huge_numbers_test
