// The memory of real layers is what the simulator says of them, byte by byte.

#include "executor/layers/layer_memory.hpp"

#include <memory>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/schedule.hpp>
#include "executor/run/run.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/recompute.hpp"
#include "sim/engine/simulator.hpp"
#include "sim/memory.hpp"
#include "sim/messages/message_plans.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::layer_memory_test {
namespace {

std::vector<std::size_t> measured_peaks(const Program& program, const LayersConfig& config,
                                        GroupRule groups = GroupRule::Together) {
  Layers layers(config);
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.groups = groups;
  options.before_instruction = random_delays(3, 30);
  return run_on_cpu(program, layers, options).peak_bytes;
}

std::vector<std::size_t> simulated_peaks(const Program& program, const LayersConfig& config) {
  const auto model = layer_memory(config, program.schedule());
  REQUIRE(model);
  const Timeline timeline =
      simulate(program.shared_schedule(), default_costs(program.schedule().placement()));
  std::vector<std::size_t> peaks;
  for (const RankMemory& rank : measure_memory(timeline, *model))
    peaks.push_back(static_cast<std::size_t>(rank.peak_activation_bytes));
  return peaks;
}

LayersConfig two_blocks(Arithmetic arithmetic) {
  LayersConfig config = small(arithmetic);
  config.blocks = 2;
  return config;
}

}  // namespace

TEST_CASE("bytes that layers keep, as a memory model") {
  // small(): 6 rows, width 3, hidden 12. Floats: F keeps 6 + 1 + 24 = 31 numbers per row and block, I leaves 12 + 24 = 36.
  const Schedule schedule = parse_schedule("0F0 0I0 0W0 | 1F0 1I0 1W0");
  const auto model = layer_memory(two_blocks(Arithmetic::Float), schedule);
  REQUIRE(model);
  CHECK(model->activation == std::vector<Bytes>{4 * 6 * (2 * 31), 4 * 6 * (2 * 31 + 3)});
  CHECK(model->released_at_input == std::vector<Bytes>{4 * 6 * -10, 4 * 6 * (-10 + 3)});
  CHECK(model->stash == std::vector<Bytes>{4 * 6 * 3, 4 * 6 * 3});
  CHECK_FALSE(layer_memory(small(Arithmetic::Float), parse_schedule("0F0 0O0 0L0 0B0")));
  CHECK_FALSE(layer_memory(small(Arithmetic::Float), parse_schedule("0F0 0F1")));
}

TEST_CASE("every schedule on threads: the peak of activations on every rank is the simulated one, exactly") {
  const int p = GENERATE(2, 4);
  int runs = 0;
  for (const schedules::Generator& generator : schedules::runnable())
    for (const auto& params : schedules::small_flavours(generator, p, {p, 2 * p + 2})) {
      INFO(schedules::describe(generator, params));
      const Program program = async_program(generator, params);
      const LayersConfig config = two_blocks(runs++ % 2 == 0 ? Arithmetic::Float : Arithmetic::Integer);
      CHECK(measured_peaks(program, config) == simulated_peaks(program, config));
      if (program.schedule().has_groups())
        CHECK(measured_peaks(program, config, GroupRule::InTurn) == simulated_peaks(program, config));
    }
  CHECK(runs >= 20);
}

TEST_CASE("layers with attention hold what the simulator says") {
  LayersConfig config = two_blocks(Arithmetic::Float);
  config.heads = 3;
  // As above, and from F 6 width + 1 + 3 heads times 6 rows = 37, until W 24.
  const auto model = layer_memory(config, parse_schedule("0F0 0I0 0W0"));
  REQUIRE(model);
  CHECK(model->activation == std::vector<Bytes>{4 * 6 * (2 * (31 + 37) + 3)});
  CHECK(model->released_at_input == std::vector<Bytes>{4 * 6 * (2 * (31 + 37 - 36 - 24) + 3)});
  CHECK_FALSE(layer_memory(config, parse_schedule("0F0.0 0F0.1 0B0.1 0B0.0")));
  for (const char* name : {"zb-h1", "dualpipe", "dualpipe-v", "1f1b"}) {
    INFO(name);
    const schedules::Generator& generator = *schedules::find(name).generator;
    const Params params{.ranks = 4, .microbatches = 8, .chunks = generator.requirements.default_chunks};
    const Program program = async_program(generator, params);
    CHECK(measured_peaks(program, config) == simulated_peaks(program, config));
    const Program again =
        async_plan(std::make_shared<const Schedule>(schedules::with_recompute(program.schedule())), {});
    CHECK(measured_peaks(again, config) == simulated_peaks(again, config));
  }
}

TEST_CASE("every schedule on threads: recomputation holds what the simulator says") {
  for (const schedules::Generator& generator : schedules::runnable()) {
    Params params{.chunks = generator.requirements.default_chunks};
    params.options.slices = equal_slices(generator.requirements.default_slices);
    params.options.updates = generator.requirements.default_updates;
    for (const int keep : {0, 1}) {
      INFO(generator.name << ", keep " << keep);
      const Program program = async_plan(std::make_shared<const Schedule>(schedules::with_recompute(
                                             schedules::make(generator, params), {.keep = keep})),
                                         {});
      const LayersConfig config = two_blocks(Arithmetic::Float);
      CHECK(measured_peaks(program, config) == simulated_peaks(program, config));
    }
  }
}

}  // namespace pipeloom::executor::layer_memory_test
