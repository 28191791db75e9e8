// Real layers on threads: gradients are those of the same model without a pipeline, for every registered schedule.

#include <vector>

#include "executor/layers/gradient_check.hpp"
#include "executor/run/run.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "schedules/flavours.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::cpu_gradients_test {
namespace {

/// What is wrong with the gradients of two steps on threads, with delays in front of every instruction.
std::string mismatch(const Program& program, const LayersConfig& config) {
  Layers layers(config);
  RunOptions options{.warmup_steps = 0, .steps = 2};
  options.checksums = true;
  options.timeout_seconds = 20;
  options.before_instruction = random_delays(11, 40);
  const RunResult run = run_on_cpu(program, layers, options);
  return first_mismatch(reference_of(config, sizes_of(program.schedule())),
                        collect_gradients(program.schedule(), run.gradients));
}

}  // namespace

TEST_CASE("every schedule on 2, 4 and 8 threads: gradients are right") {
  const int p = GENERATE(2, 4, 8);
  const std::vector<LayersConfig> configs = {small(Arithmetic::Integer), small(Arithmetic::Float),
                                             small_with_attention(3)};
  for (const schedules::Generator& generator : schedules::runnable()) {
    std::size_t runs = 0;
    for (const auto& params : schedules::small_flavours(generator, p, {p, 2 * p + 2})) {
      INFO(schedules::describe(generator, params));
      const Program program = async_program(generator, params);
      CHECK(mismatch(program, configs[runs++ % configs.size()]) == "");
    }
    INFO(generator.name);
    CHECK(runs > 0);
  }
}

}  // namespace pipeloom::executor::cpu_gradients_test
