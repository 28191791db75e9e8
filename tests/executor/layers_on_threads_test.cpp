// Real layers through the back end, where a plain step is not all there is: recomputation, offload, forwards only, groups in turn,
// and products large enough that the BLAS splits them.

#include <functional>
#include <memory>
#include <string>

#include "executor/layers/gradient_check.hpp"
#include "executor/run/run.hpp"
#include "executor/runs.hpp"
#include "executor/small_layers.hpp"
#include "schedules/flavours.hpp"
#include "schedules/generator.hpp"
#include "schedules/offload.hpp"
#include "schedules/recompute.hpp"
#include "sim/messages/message_plans.hpp"
#include "support/catch.hpp"

namespace pipeloom::executor::layers_on_threads_test {
namespace {

using Change = std::function<Schedule(const Schedule&)>;

/// Every schedule on 4 ranks with 8 microbatches and its own chunks, changed, as a program; fn(program).
void for_each_changed(const Change& change, const std::function<void(const Program&)>& fn) {
  for (const schedules::Generator& generator : schedules::runnable()) {
    Params params{.chunks = generator.requirements.default_chunks};
    params.options.slices = equal_slices(generator.requirements.default_slices);
    params.options.updates = generator.requirements.default_updates;
    INFO(generator.name);
    REQUIRE(schedules::refusal(generator, params).empty());
    fn(async_plan(std::make_shared<const Schedule>(change(schedules::make(generator, params))), {}));
  }
}

Gradients run(const Program& program, const LayersConfig& config, GroupRule groups = GroupRule::Together) {
  Layers layers(config);
  RunOptions options{.warmup_steps = 0, .steps = 1};
  options.groups = groups;
  return collect_gradients(program.schedule(), run_on_cpu(program, layers, options).gradients);
}

std::string mismatch(const Program& program, const LayersConfig& config,
                     GroupRule groups = GroupRule::Together) {
  return first_mismatch(reference_gradients(config, sizes_of(program.schedule())),
                        run(program, config, groups));
}

}  // namespace

TEST_CASE("every schedule on threads: gradients are right with recomputation and offload") {
  const Change both = [](const Schedule& schedule) {
    return schedules::with_offload(schedules::with_recompute(schedule, {.keep = 1}),
                                   {.chunks = {}, .min_gap = 1});
  };
  for (const LayersConfig& config :
       {small(Arithmetic::Integer), small(Arithmetic::Float), small_with_attention(3)})
    for_each_changed(both, [&](const Program& program) {
      CHECK(program.schedule().contains(OpKind::Recompute));
      CHECK(program.schedule().has_copies());
      CHECK(mismatch(program, config) == "");
    });
}

TEST_CASE("every schedule on threads: forward_only gives the losses of the whole step") {
  const LayersConfig config = small(Arithmetic::Float);
  for_each_changed([](const Schedule& schedule) { return forward_only(schedule); },
                   [&](const Program& program) {
                     const Reference reference = reference_gradients(config, sizes_of(program.schedule()));
                     CHECK(run(program, config).losses == reference.gradients.losses);
                   });
}

TEST_CASE("overlapped groups on threads: gradients are right with their parts in turn") {
  int with_groups = 0;
  for_each_changed([](const Schedule& schedule) { return schedule; },
                   [&](const Program& program) {
                     if (!program.schedule().has_groups()) return;
                     ++with_groups;
                     CHECK(mismatch(program, small(Arithmetic::Integer), GroupRule::InTurn) == "");
                   });
  CHECK(with_groups > 0);
}

TEST_CASE("layers of uneven sizes on threads: right, and the same bits in every run") {
  // Sizes that no vector of a BLAS divides.
  LayersConfig config;
  config.width = 67;
  config.hidden = 271;
  config.rows = 13;
  config.heads = GENERATE(0, 1);
  for (const char* name : {"zb-h1", "dualpipe", "dualpipe-v", "seq1f1b"}) {
    INFO(name);
    const schedules::Generator& generator = *schedules::find(name).generator;
    const Program program = async_program(
        generator, {.ranks = 2,
                    .microbatches = 4,
                    .chunks = generator.requirements.default_chunks,
                    .options = {.slices = equal_slices(generator.requirements.default_slices)}});
    const Gradients first = run(program, config);
    CHECK(first_mismatch(reference_gradients(config, sizes_of(program.schedule())), first) == "");
    // Each rank adds in the order of its queue; of the parts of a group at most one adds.
    CHECK(run(program, config).stages == first.stages);
  }
}

}  // namespace pipeloom::executor::layers_on_threads_test
