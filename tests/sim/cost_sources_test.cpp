#include "sim/cost/bind.hpp"
#include "sim/cost/resolve.hpp"
#include "sim/cost/source.hpp"
#include "support/catch.hpp"
#include "support/scenes.hpp"

namespace pipeloom::cost {

#define PIPELOOM_COST_SOURCE(name) \
  std::optional<Stated> name(const CostSpec& spec, const Shape& shape, const Stated& known);
#include "tests/sim/toy_sources.def"
#undef PIPELOOM_COST_SOURCE

}  // namespace pipeloom::cost

namespace pipeloom::cost::cost_sources_test {
namespace {

constexpr Source kWithToy[] = {
#define PIPELOOM_COST_SOURCE(name) &(name),
#include "tests/sim/toy_sources.def"
#undef PIPELOOM_COST_SOURCE
};

using Numbers = std::vector<Ticks>;

}  // namespace

TEST_CASE("a cost source of one file and one line") {
  const auto schedule = test::scene("0F0 0F1 0B0 0B1 | 1F0 1B0 1F1 1B1");
  ResolvedCosts resolved = resolve({}, shape_of(*schedule), kWithToy);
  CHECK(resolved.costs.duration[index_of(OpKind::Forward)] == Numbers{10, 20});
  // Not from the toy: half of B, as from any B.
  CHECK(resolved.costs.duration[index_of(OpKind::BackwardWeight)] == Numbers{10, 20});
  CHECK(resolved.costs.forward_delay == Numbers{0, 3});
  CHECK(resolved.costs.backward_delay == Numbers{3, 0});
  CHECK(resolved.origins.front() == Origin{"costs.forward", "toy"});
  CHECK(resolved.costs.per_op.empty());

  bind_costs(resolved.costs, resolved.ops, *schedule);
  // 0F0 takes 20 instead of 10; F 10 and 20, B 20 and 40; hops of 3.
  CHECK(test::times_of(simulate(schedule, resolved.costs)) ==
        "0F0 0-20, 0F1 20-30, 0B0 86-106, 0B1 146-166, 1F0 23-43, 1B0 43-83, 1F1 83-103, 1B1 103-143");
}

TEST_CASE("what the input states is trusted more than any source") {
  const auto schedule = test::scene("0F0 0B0");
  CostSpec spec;
  spec.duration[index_of(OpKind::Forward)] = StageNumbers::all(7, "costs.forward");
  ResolvedCosts resolved = resolve(spec, shape_of(*schedule), kWithToy);
  CHECK(resolved.costs.duration[index_of(OpKind::Forward)] == Numbers{7});
  CHECK(resolved.costs.duration[index_of(OpKind::Backward)] == Numbers{20});
  CHECK(resolved.ops.empty());
}

TEST_CASE("without durations of single ops nothing is bound") {
  const auto schedule = test::scene("0F0 0B0");
  Terms terms{default_costs(schedule->placement()), default_memory(schedule->placement())};
  bind(terms, *schedule);
  CHECK(terms.costs.per_op.empty());
}

TEST_CASE("of durations of single ops the last that names an op counts") {
  const auto schedule = test::scene("0F0 0F1 0B0 0B1");
  Terms terms{uniform_costs(schedule->placement(), {.forward = 2, .backward = 3}),
              default_memory(schedule->placement())};
  terms.ops = {{.kinds = {OpKind::Forward, OpKind::Backward}, .microbatch = Microbatch(1), .duration = 50},
               {.kinds = {OpKind::Backward}, .microbatch = Microbatch(1), .duration = 60}};
  bind(terms, *schedule);
  CHECK(terms.costs.per_op == Numbers{2, 50, 3, 60});
}

}  // namespace pipeloom::cost::cost_sources_test
