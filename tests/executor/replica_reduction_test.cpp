// Models that are there twice: behind a step both copies of a stage hold the whole gradient.

#include "executor/run/replica_reduction.hpp"

#include <string>

#include "executor/layers/gradient_check.hpp"
#include "executor/run/run.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::replica_reduction_test {
namespace {

RunResult run_twice(const Program& program) {
  Layers layers(small(Arithmetic::Integer));
  RunOptions options{.warmup_steps = 1, .steps = 1};
  options.before_instruction = random_delays(3, 30);
  return run_on_cpu(program, layers, options);
}

}  // namespace

TEST_CASE("both replicas of a stage hold the sum of both, and it is the gradient without a pipeline") {
  const std::string name = GENERATE("dualpipe", "chimera");
  const Program program = async_program(name, 4, 8);
  RunResult run = run_twice(program);
  const Schedule& schedule = program.schedule();
  REQUIRE(schedule.placement().replicas() == 2);
  const Reference& right = reference_of(small(Arithmetic::Integer), sizes_of(schedule));
  CHECK(wrong_copy(schedule, right, run.gradients) == "");
  CHECK(first_mismatch(right, collect_gradients(schedule, run.gradients)) == "");
}

TEST_CASE("replicas that differ behind their reduction are found") {
  const Program program = async_program("dualpipe", 2, 4);
  RunResult run = run_twice(program);
  run.gradients[1].slots.back().front() += 1;  // replica 1 of stage 0
  CHECK_THROWS_WITH(collect_gradients(program.schedule(), run.gradients),
                    "replicas of stage 0 do not hold the same gradients after their reduction");
}

TEST_CASE("a model that is there once has nothing to reduce") {
  const RunResult run = run_twice(async_program("1f1b", 2, 4));
  for (const RankGradients& rank : run.gradients) CHECK_FALSE(rank.is_reduced);
}

}  // namespace pipeloom::executor::replica_reduction_test
