// Layers that were counted: parameters, FLOPs, products, bytes, and what a split must not ask of them.

#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/tensors.hpp"
#include "sim/model/work.hpp"
#include "support/catch.hpp"

namespace pipeloom::model::model_counted_test {
namespace {

using Catch::Matchers::Contains;

// One layer: a product of 8 x 32 and back over 2 x 16 tokens, attention of two heads of 4 that is causal, four experts of 8 x 8 of which a token
// passes one.
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kSequence = 16;
constexpr std::int64_t kTokens = kBatch * kSequence;

Counted counted() {
  Counted out;
  out.parameters = 2 * 8 * 32 + 4 * 8 * 8;
  out.active = 2 * 8 * 32 + 8 * 8;
  out.products = {{kTokens, 8, 32, 1, 2}, {kTokens, 8, 8, 4, 1}};
  out.inner = {{kTokens, 4, 16, 2, 1}};
  out.attention = {{kBatch, kSequence, kSequence, 2, 1, 4, 4, kSequence * (kSequence + 1) / 2, 1}};
  const std::int64_t products = 2 * kTokens * (2 * 8 * 32 + 8 * 8) + 2 * kTokens * 4 * 16;
  out.flops = {products + 2 * kBatch * 2 * kSequence * kSequence * 8, 0, 0};
  out.elementwise = {1000, 2000};
  out.kernels = {3, 5};
  out.kept = 700;
  out.kept_for_weights = 400;
  out.input = 64;
  out.gradients = 90;
  out.sequence = kSequence;
  out.micro_batch = kBatch;
  return out;
}

Model model() {
  Model out;
  out.name = "own";
  out.hidden = 8;
  out.vocabulary = 100;
  out.final_norm = false;
  Layer layer;
  layer.letter = 'A';
  layer.tables = 5;
  layer.counted = counted();
  out.kinds = {layer};
  out.layers = "AAA";
  return out;
}

Split split(std::int64_t micro_batch = kBatch) {
  Split out;
  out.sequence = kSequence;
  out.micro_batch = micro_batch;
  return out;
}

TEST_CASE("counted layers: parameters, all and those that a token passes") {
  const std::int64_t ends = 2 * 100 * 8;
  CHECK(parameters_of(model()) == ends + 3 * (5 + 2 * 8 * 32 + 4 * 8 * 8));
  CHECK(active_parameters_of(model()) == ends + 3 * (5 + 2 * 8 * 32 + 8 * 8));
}

TEST_CASE("counted layers: FLOPs per token see the pairs that a mask lets through") {
  const double attention = 2.0 * 2 * kSequence * kSequence * 8;  // of a sample, over the whole square
  const double rest = static_cast<double>(2 * kTokens * (2 * 8 * 32 + 8 * 8) + 2 * kTokens * 4 * 16) / kBatch;
  const double head = 2.0 * 8 * 100;
  CHECK(flops_per_token(model(), kSequence, true) == Approx(3 * (3 * (rest + attention) / kSequence + head)));
  CHECK(flops_per_token(model(), kSequence) == Approx(3 * (3 * (rest + attention / 2) / kSequence + head)));
}

TEST_CASE("counted layers: work grows with the microbatch") {
  for (const std::int64_t micro_batch : {1, 2, 4}) {
    const Work work = work_of(model(), model().kinds[0], split(micro_batch));
    const std::int64_t tokens = micro_batch * kSequence;
    REQUIRE(work.gemms.size() == 3);
    CHECK(work.gemms[0].m == tokens);
    CHECK(work.gemms[2].m == tokens / 4);
    CHECK(work.gemms[2].groups == 4);
    REQUIRE(work.attention.size() == 2);
    CHECK(work.attention[0].causal);
    CHECK(work.attention[0].window == 0);
    CHECK(work.attention[0].flops() == Approx(2.0 * static_cast<double>(micro_batch) * 16 * 16 / 2 * 2 * 8));
    CHECK(work.attention[1].full_flops() == Approx(2.0 * static_cast<double>(tokens) * 4 * 16));
    CHECK(work.traffic[0].forward == Approx(1000.0 * static_cast<double>(micro_batch) / kBatch));
    CHECK(work.traffic[0].kernels == 5);
    CHECK(work.collectives.empty());
  }
}

TEST_CASE("counted layers: pairs become the window that lets as many through") {
  Model windowed = model();
  // A window of 4: each of 16 queries sees 4 keys, the first three 1, 2 and 3.
  windowed.kinds[0].counted->attention[0].pairs = 4 * 16 - (3 + 2 + 1);
  const CoreAttention core = work_of(windowed, windowed.kinds[0], split()).attention[0];
  CHECK(core.causal);
  CHECK(core.window == 4);
  windowed.kinds[0].counted->attention[0].pairs = 16 * 16;
  CHECK_FALSE(work_of(windowed, windowed.kinds[0], split()).attention[0].causal);
}

TEST_CASE("counted layers: bytes until I and W, and the input alone where all is computed again") {
  const auto all = kept_tensors(model(), model().kinds[0], split(), Recomputation::None);
  REQUIRE(all.size() == 2);
  CHECK(all[0].bytes == 400);
  CHECK(all[0].until_weight);
  CHECK(all[1].bytes == 300);
  CHECK_FALSE(all[1].until_weight);
  CHECK(kept_tensors(model(), model().kinds[0], split(4), Recomputation::Full)[0].bytes == 2 * 64);
  CHECK(gradients_for_weight(model(), model().kinds[0], split())[0].bytes == 90);
}

TEST_CASE("counted layers: other sequences and shares are refused") {
  const Model own = model();
  check(own);
  check(own, split(), Where{"here"});
  Split wrong = split();
  wrong.tensor = 2;
  CHECK_THROWS_WITH(
      check(own, wrong, Where{"here"}),
      Contains("layer 'A' was counted on one rank, so nobody knows its share; set tp and cp to 1"));
  wrong = split();
  wrong.sequence = 32;
  CHECK_THROWS_WITH(check(own, wrong, Where{"here"}),
                    Contains("layer 'A' was counted with samples of 16 tokens in one piece; set seq to that, "
                             "or count it again"));
}

TEST_CASE("counted layers: contradictions are refused") {
  Model own = model();
  own.kinds[0].mlp = Mlp{32};
  CHECK_THROWS_WITH(check(own), Contains("layer 'A' was counted and has parts besides; leave them out"));
  own = model();
  own.kinds[0].counted->kept_for_weights = 701;
  CHECK_THROWS_WITH(
      check(own), Contains("kept_for_weights of layer 'A' is 701; it must be a whole number from 0 to 700"));
}

}  // namespace
}  // namespace pipeloom::model::model_counted_test
