// Costs of one division into stages, dealt out to another by layers.

#include "sim/cost/deal.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/cost/resolve.hpp"
#include "sim/kinds.hpp"
#include "support/catch.hpp"

namespace pipeloom::cost::deal_test {
namespace {

using Numbers = std::vector<std::int64_t>;
using Counts = std::vector<std::int32_t>;
constexpr OpKind kF = OpKind::Forward;
constexpr OpKind kB = OpKind::Backward;

StageNumbers numbers(Numbers of_stages, std::string key) {
  StageNumbers out;
  out.form = StageNumbers::Form::Array;
  out.array = std::move(of_stages);
  out.key = std::move(key);
  return out;
}

CostSpec measured(Counts layers, Numbers forward) {
  CostSpec spec;
  spec.layers.counts = std::move(layers);
  spec.duration[index_of(kF)] = numbers(std::move(forward), "costs.forward");
  return spec;
}

/// Four ranks with 8 layers each. A layer takes 10 in F and 20 in B; rank 2 is slow in F, the embedding takes 20 in B, the head 40 in both.
CostSpec four_ranks() {
  CostSpec spec = measured({8, 8, 8, 8}, {80, 80, 96, 120});
  spec.duration[index_of(kB)] = numbers({180, 160, 160, 200}, "costs.backward");
  return spec;
}

CostRow row(OpKind kind, std::int32_t stage, std::int64_t number) {
  CostRow out;
  out.kind = kind;
  out.stage = stage;
  out.number = number;
  return out;
}
CostRow at(CostRow out, std::int32_t microbatch) {
  out.microbatch = microbatch;
  return out;
}
CostRow times(CostRow out, Scale factor) {
  out.is_factor = true;
  out.number = factor;
  return out;
}
CostRows rows(std::vector<CostRow> of) {
  return std::make_shared<std::vector<CostRow>>(std::move(of));
}

Numbers dealt(const CostSpec& spec, const Placement& placement, OpKind kind = kF) {
  return deal_out(spec, placement).value().spec.duration[index_of(kind)]->array;
}

/// `placement` outlives it.
Shape shape_of_forwards(const Placement& placement) {
  return {&placement, 1U << index_of(kF), 4};
}

/// "F s1 r- k0: 60" for a time of F on stage 1 in microbatch 0, on whatever rank.
std::string text_of(const CostRows& of) {
  std::string out;
  const auto index = [](const std::optional<std::int32_t>& i) { return i ? std::to_string(*i) : "-"; };
  if (of == nullptr) return "none";
  for (const CostRow& one : *of) {
    if (!out.empty()) out += ", ";
    out += one.kind ? std::string(1, row_of(*one.kind).letter) : "*";
    out += " s" + index(one.stage) + " r" + index(one.rank) + " k" + index(one.microbatch) +
           (one.is_factor ? " x " : ": ") + std::to_string(one.number);
  }
  return out;
}

std::string refusal(const CostSpec& spec, const Placement& placement) {
  try {
    (void)deal_out(spec, placement);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("two chunks of a rank share its layers, and head and embedding stay whole on the ends") {
  // 4 layers each: 40, on rank 2 48; the head's 40 on the last stage. In B 80 each, the embedding's 20 on stage 0.
  CHECK(dealt(four_ranks(), Placement::loop(4, 2)) == Numbers{40, 40, 48, 40, 40, 40, 48, 80});
  CHECK(dealt(four_ranks(), Placement::loop(4, 2), kB) == Numbers{100, 80, 80, 80, 80, 80, 80, 120});
}

TEST_CASE("on a V the head goes to the rank that has the last stage") {
  // Ranks 0 1 2 3 3 2 1 0.
  CHECK(dealt(four_ranks(), Placement::wave(4, 2)) == Numbers{40, 40, 48, 40, 40, 48, 40, 80});
}

TEST_CASE("chunks go back to one stage per rank, whose times are their sums") {
  // Stages 0 2 | 1 3. The fastest layers take 10: 2 more on stage 0 and 16 more on stage 3 are of the ends, which stay on their ranks.
  CHECK(dealt(measured({2, 2, 2, 2}, {22, 30, 20, 36}), Placement::linear(2)) == Numbers{42, 66});
}

TEST_CASE("what was measured on a V says so, and its head moves to the last rank") {
  CostSpec spec = measured({2, 2, 2, 2}, {20, 24, 26, 30});
  spec.stage_ranks.counts = {0, 1, 1, 0};
  // The head is 30 - 20 = 10; without it rank 0 takes 20 + 20, rank 1 24 + 26.
  CHECK(dealt(spec, Placement::linear(2)) == Numbers{40, 60});
}

TEST_CASE("where the schedule has the stages that were measured, nothing is dealt") {
  CostSpec spec = measured({2, 2, 2, 2}, {20, 24, 20, 24});
  CHECK_FALSE(deal_out(spec, Placement::loop(2, 2)));
  CHECK_FALSE(deal_out(spec, Placement::wave(2, 2)));
  CHECK_FALSE(deal_out(CostSpec(), Placement::linear(2)));
  // Said to have run on ranks 0 1 0 1, it goes to 0 1 1 0: each stage at its rank's speed. Stage 3 took 4 more than the fastest layers do, and
  // rank 1 without them 24 + 20.
  spec.stage_ranks.counts = {0, 1, 0, 1};
  CHECK_FALSE(deal_out(spec, Placement::loop(2, 2)));
  CHECK(dealt(spec, Placement::wave(2, 2)) == Numbers{20, 22, 22, 24});
}

TEST_CASE("what was dealt out is not dealt again") {
  const DealtCosts once = deal_out(four_ranks(), Placement::wave(4, 2)).value();
  CHECK(once.spec.layers.counts == Counts{4, 4, 4, 4, 4, 4, 4, 4});
  CHECK_FALSE(deal_out(once.spec, Placement::wave(4, 2)));
  CHECK(once.origins.front() == Origin{"costs.forward", "dealt out from 4 stages"});
  CHECK(once.warnings.empty());
}

TEST_CASE("layers that do not divide are split as pipeloom layout splits them") {
  // 6 layers, an embedding and a head on 4 stages: 2 each, the ends 1 less. A layer takes 10, the head 6.
  const DealtCosts out = deal_out(measured({3, 3}, {30, 36}), Placement::loop(2, 2)).value();
  CHECK(out.spec.layers.counts == Counts{1, 2, 2, 1});
  CHECK(out.spec.duration[index_of(kF)]->array == Numbers{10, 20, 20, 16});
}

TEST_CASE("a stage with nothing but the head is the head") {
  // Rank 1 has no layers, so its stages are as fast as the fastest.
  CHECK(dealt(measured({8, 0}, {80, 7}), Placement::loop(2, 2)) == Numbers{20, 20, 20, 27});
}

TEST_CASE("ticks that layers do not divide are not lost") {
  // 7 ticks of 2 layers: 3.5 rounds to 4, then 7 - 4.
  CHECK(dealt(measured({2, 2}, {7, 7}), Placement::loop(2, 2)) == Numbers{4, 4, 3, 3});
}

TEST_CASE("one number stands for every stage that was measured") {
  CostSpec spec = measured({8, 8}, {});
  spec.duration[index_of(kF)] = StageNumbers::all(80, "costs.forward");
  CHECK(dealt(spec, Placement::loop(2, 4)) == Numbers{20, 20, 20, 20, 20, 20, 20, 20});
}

TEST_CASE("what an op took more than its stage stays whole on the rank's first stage") {
  CostSpec spec = four_ranks();
  // Stage 1 took 80; rank 1's first stage takes 40 now.
  spec.exceptions = rows({at(row(kF, 1, 100), 0), at(row(kF, 1, 70), 2)});
  CHECK(text_of(deal_out(spec, Placement::loop(4, 2))->spec.exceptions) == "F s1 r- k0: 60, F s1 r- k2: 30");
}

TEST_CASE("excesses of a rank's chunks are one sum, factors too") {
  CostSpec spec = measured({2, 2, 2, 2}, {20, 20, 20, 20});
  // 25 - 20 and 1.5 * 20 - 20 on rank 0, whose one stage takes 40.
  spec.exceptions = rows({at(row(kF, 0, 25), 0), times(at(row(kF, 2, 0), 0), kUnitScale * 3 / 2)});
  CHECK(text_of(deal_out(spec, Placement::linear(2))->spec.exceptions) == "F s0 r- k0: 55");
}

TEST_CASE("a factor of a microbatch stays one, and that of a rank's only stage becomes the rank's") {
  CostSpec spec = four_ranks();
  CostRow all = at(times(row(kF, 0, 0), 2 * kUnitScale), 3);
  all.stage.reset();
  spec.exceptions = rows({all, at(times(row(kB, 2, 0), 3 * kUnitScale), 1)});
  CHECK(text_of(deal_out(spec, Placement::loop(4, 2))->spec.exceptions) ==
        "F s- r- k3 x 2000000000, B s- r2 k1 x 3000000000");
}

TEST_CASE("a row without a microbatch is its stage's own time") {
  CostSpec spec = four_ranks();
  // Rank 1 takes 100, rank 2 twice its 96: no row is left.
  spec.exceptions = rows({at(row(kF, 1, 500), 0), row(kF, 1, 100), times(row(kF, 2, 0), 2 * kUnitScale)});
  const DealtCosts out = deal_out(spec, Placement::loop(4, 2)).value();
  CHECK(out.spec.duration[index_of(kF)]->array == Numbers{40, 50, 96, 40, 40, 50, 96, 80});
  CHECK(text_of(out.spec.exceptions) == "none");
}

TEST_CASE("a microbatch of a table is dealt as a stage is") {
  CostSpec spec = measured({4, 4}, {40, 60});
  spec.table = rows({at(row(kF, 0, 80), 1), at(row(kF, 1, 90), 1)});
  // Microbatch 1: layers of 20, and a head of 10.
  const DealtCosts out = deal_out(spec, Placement::loop(2, 2)).value();
  CHECK(out.spec.duration[index_of(kF)]->array == Numbers{20, 20, 20, 40});
  CHECK(text_of(out.spec.exceptions) == "F s0 r- k1: 40, F s1 r- k1: 40, F s2 r- k1: 40, F s3 r- k1: 50");
  CHECK(out.spec.table == nullptr);
}

TEST_CASE("what every entry takes and what links take is no layer's and stays") {
  CostSpec spec = four_ranks();
  spec.entry = 5;
  spec.transfer.link.latency = 7;
  spec.transfer.rank_time = 3;
  const Placement placement = Placement::loop(4, 2);
  const ResolvedCosts out = resolve(spec, shape_of_forwards(placement));
  CHECK(out.costs.entry == 5);
  CHECK(out.costs.rank_time == 3);
  CHECK(out.costs.forward_delay == Numbers{0, 7, 7, 7, 7, 7, 7, 7});
}

TEST_CASE("an overlapped pair is dealt by the forward's stage, and what it saves by the number of stages") {
  CostSpec spec = measured({4, 4}, {40, 40});
  spec.overlap =
      OverlapSpec{.rule = OverlapRule::Explicit, .duration = numbers({100, 100}, "costs.overlapped")};
  CHECK(deal_out(spec, Placement::loop(2, 2))->spec.overlap->duration.array == Numbers{50, 50, 50, 50});
  spec.overlap = OverlapSpec{.rule = OverlapRule::Saving, .saving = 12};
  CHECK(deal_out(spec, Placement::loop(2, 2))->spec.overlap->saving == 6);
}

TEST_CASE("what PyTorch does of I in the first stage's W goes to stages that do I") {
  CostSpec spec = measured({4, 4}, {40, 40});
  spec.duration[index_of(OpKind::BackwardInput)] = numbers({0, 30}, "costs.backward_input");
  spec.duration[index_of(OpKind::BackwardWeight)] = numbers({60, 30}, "costs.backward_weight");
  spec.first_stage = FirstStage::Torch;
  // Told apart 30 and 30, so each chunk takes 15 and 15, and stage 0 all of it in W again.
  const Placement placement = Placement::loop(2, 2);
  const ResolvedCosts out = resolve(spec, shape_of_forwards(placement));
  CHECK(out.stage_duration[index_of(OpKind::BackwardInput)] == Numbers{0, 15, 15, 15});
  CHECK(out.stage_duration[index_of(OpKind::BackwardWeight)] == Numbers{30, 15, 15, 15});
}

TEST_CASE("one warning names what cannot be dealt") {
  CostSpec spec = measured({4, 4}, {40, 40});
  spec.overlap = OverlapSpec{.rule = OverlapRule::Explicit, .pairs = {{9, 9}, {9, 9}}};
  CostRow slice = row(kF, 0, 9);
  slice.slice = 1;
  CostRow pair = at(row(kF, 0, 9), 1);
  pair.of_group = true;
  spec.exceptions = rows({slice, row(kB, 1, 9), pair});  // B has no time of its own here
  const DealtCosts out = deal_out(spec, Placement::loop(2, 2)).value();
  CHECK_FALSE(out.spec.overlap);
  CHECK(
      out.warnings ==
      std::vector<std::string>{
          "costs are dealt out from 2 stages; left out: 3 rows of costs.table and costs.exceptions that name "
          "a slice, overlapped pairs, or a kind without a time of its own, costs.overlapped.pairs"});
}

TEST_CASE("layers, ranks and numbers that do not fit are refused with what would") {
  const Placement two = Placement::loop(2, 2);
  CHECK(
      refusal(measured({4, 4}, {1, 2, 3}), two) ==
      "costs.forward has 3 entries, but costs.layers has 2; give one entry for each stage that was measured");
  CHECK(refusal(measured({4, 4, 4}, {1, 2, 3}), two) ==
        "costs.layers has 3 stages, which are no multiple of the schedule's 2 ranks; costs go to other "
        "schedules on "
        "the ranks that were measured: take as many, or say in costs.stage_ranks who ran which stage");
  CHECK(refusal(measured({4, 0, 4, 4, 4, 4}, {1, 1, 1, 1, 1, 1}), two) ==
        "costs.layers says 0 on stage 1; only the first and the last stage may have none, so that its time "
        "belongs "
        "to layers");
  CHECK(refusal(measured({0, 0}, {1, 1}), two) ==
        "costs.layers sums up to 0; the model must have 1 to 1048576 layers");
  CHECK(refusal(measured({1, 0}, {1, 1}), Placement::loop(2, 4)) ==
        "costs.layers: 8 stages are more than 1 layers + 1 for the embedding + 1 for the head; take fewer "
        "stages");
  CostSpec spec = measured({4, 4}, {1, 1});
  spec.stage_ranks.counts = {0, 2};
  CHECK(refusal(spec, two) ==
        "costs.stage_ranks names rank 2, but the schedule's ranks are 0 to 1; costs go to other schedules on "
        "the "
        "ranks that were measured");
  spec.stage_ranks.counts = {0};
  CHECK(refusal(spec, two) ==
        "costs.stage_ranks has 1 entries, but costs.layers has 2; give one entry for each stage that was "
        "measured");
  spec.stage_ranks.counts = {};
  spec.exceptions = rows({row(kF, 2, 1)});
  CHECK(
      refusal(spec, two) ==
      "the cost names stage 2, but those of costs.layers are 0 to 1; change it, or leave it out to name all");
  spec.exceptions = nullptr;
  spec.per = Per::Rank;
  CHECK(refusal(spec, two) ==
        "costs.layers goes with costs.per \"stage\", not \"rank\", as both say how times go to other stages; "
        "leave "
        "one of them out");
}

TEST_CASE("times near the largest are summed without overflow, or refused") {
  const Ticks most = kMaxTicks - 1;
  // Two stages of a rank sum up to 2^63 - 2. A quarter of that is 2^61 and a half less: rounded, 2^61 and 2^61 - 1 in turns.
  const Ticks long_one = Ticks{1} << 61;
  const Ticks short_one = long_one - 1;
  CHECK(dealt(measured({2, 2, 2, 2}, {most, most, most, most}), Placement::loop(2, 4)) ==
        Numbers{long_one, long_one, short_one, short_one, long_one, long_one, short_one, short_one});
  CHECK(refusal(measured({1, 1, 1, 1}, {most, most, most, most}), Placement::linear(2)) ==
        "costs.layers: a stage that times are dealt out to overflows; use a larger time unit");
}

}  // namespace pipeloom::cost::deal_test
