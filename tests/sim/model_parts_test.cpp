// Parts of layers beyond Llama's: their weights, FLOPs, and what they keep.

#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/tensors.hpp"
#include "sim/model/work.hpp"
#include "sim/model_shapes.hpp"
#include "support/catch.hpp"

namespace pipeloom::model::model_parts_test {
namespace {

using namespace shapes;

constexpr std::int64_t kHidden = 64;

/// A model of one such layer.
Model of(const Layer& layer) {
  Model model;
  model.name = "one";
  model.hidden = kHidden;
  model.vocabulary = 100;
  model.kinds = {layer};
  model.layers = "T";
  check(model);
  return model;
}

Layer with(const Linear& linear) {
  Layer layer;
  layer.linear = linear;
  return layer;
}

std::int64_t weights(const Layer& layer) {
  const Model model = of(layer);
  return parameters_of(model, model.kinds[0]).all();
}

/// Forward and backward of the layer for one token, without the head's.
double flops(const Layer& layer, std::int64_t sequence) {
  const Model model = of(layer);
  return flops_per_token(model, sequence) - 3 * 2.0 * kHidden * 100;
}

Split one_rank(std::int64_t sequence) {
  Split split;
  split.sequence = sequence;
  return split;
}

double kept(const Layer& layer, std::string_view name, const Split& split) {
  const Model model = of(layer);
  double sum = 0;
  for (const KeptTensor& tensor : kept_tensors(model, model.kinds[0], split, Recomputation::None, {}))
    if (tensor.name == name) sum += tensor.bytes;
  return sum;
}

TEST_CASE("model parts: attention with a gate, sinks and norms of all heads") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.attention = Attention{8, 2, 16};
  const std::int64_t plain = h * (8 + 2 * 2) * 16 + 8 * 16 * h + h;
  CHECK(weights(layer) == plain);
  layer.attention->gated = true;
  layer.attention->sinks = true;
  layer.attention->wide_norms = true;
  CHECK(weights(layer) == plain + h * 8 * 16 + 8 + (8 + 2) * 16);
  const Split split = one_rank(32);
  CHECK(kept(layer, "gate", split) == 2 * 32 * 8 * 16);
  CHECK(kept(layer, "gated output", split) == 2 * 32 * 8 * 16);
  layer.attention->head_gates = true;
  layer.attention->values = false;  // keys are the values
  CHECK(weights(layer) == plain + h * 8 * 16 + 8 + (8 + 2) * 16 + h * 8 - h * 2 * 16);
}

TEST_CASE("model parts: values of another width than keys") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.attention = Attention{8, 2, 16};
  layer.attention->v_dim = 10;
  CHECK(weights(layer) == h * (8 * 16 + 2 * 16 + 2 * 10) + 8 * 10 * h + h);
  const double products = 3 * 2.0 * (h * (8 * 16 + 2 * 26) + 8 * 10 * h);
  CHECK(flops(layer, 64) == Approx(products + 3 * 2.0 * 8 * (16 + 10) * 64 / 2));
  const Split split = one_rank(32);
  CHECK(kept(layer, "output", split) == 2 * 32 * 8 * 10);
  CHECK(kept(layer, "queries, keys, values", split) == 2 * 32 * (8 * 16 + 2 * 26));
}

TEST_CASE("model parts: gates and sinks of latent attention") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.latent_attention = LatentAttention{4, 24, 32, 16, 8, 16};
  const std::int64_t plain = weights(layer);
  layer.latent_attention->sinks = true;
  layer.latent_attention->head_gates = true;
  CHECK(weights(layer) == plain + 4 + h * 4);
  layer.latent_attention->head_gates = false;
  layer.latent_attention->gated = true;
  CHECK(weights(layer) == plain + 4 + h * 4 * 16);
  const Split split = one_rank(32);
  CHECK(kept(layer, "gated output", split) == 2 * 32 * 4 * 16);
  // Out of the queries' product, with twice its inputs.
  layer.latent_attention->sinks = layer.latent_attention->gated = false;
  layer.latent_attention->joint_gate = true;
  CHECK(weights(layer) == plain - 24 * 4 * 24 + 2 * 24 * (4 * 24 + 4 * 16));
  CHECK(kept(layer, "gate", split) == 2 * 32 * 4 * 16);
}

TEST_CASE("model parts: small products beside the parts are whole on each tensor rank") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.mlp = Mlp{96, true};
  const std::int64_t plain = weights(layer);
  const double without = flops(layer, 32);
  layer.beside = {{4 * h, 8, 0, false, false}, {h, 3, 0, true, true}};
  CHECK(weights(layer) == plain + 4 * h * 8 + h * 3 + 3);
  CHECK(flops(layer, 32) == Approx(without + 3 * 2.0 * (4 * h * 8 + h * 3)));
  const Split split = one_rank(32);
  CHECK(kept(layer, "input", split) == 2 * 32 * (4 * h + h));
  Split two = split;
  two.tensor = 2;
  const Model model = of(layer);
  CHECK(local_parameters(model, model.kinds[0], two).dense == 3 * h * 96 / 2 + h + 4 * h * 8 + h * 3 + 3);
}

TEST_CASE("model parts: experts that pass a token on, and parts that run after others of the same layer") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.attention = Attention{8, 2, 16};
  layer.experts = Experts{6, 2, 24};
  const std::int64_t plain = weights(layer);
  layer.experts->zero = 3;
  CHECK(weights(layer) == plain + 3 * h + 3 * 2 * 24 * h);
  Layer after;
  after.attention = layer.attention;
  after.mlp = Mlp{96, true};
  const std::int64_t alone = weights(after);
  const double both = flops(layer, 32) + flops(after, 32);
  const Split split = one_rank(32);
  const double outputs = kept(layer, "output", split) + kept(after, "output", split);
  layer.then = {after};
  CHECK(weights(layer) == plain + 3 * h + 3 * 2 * 24 * h + alone);
  CHECK(flops(layer, 32) == Approx(both));
  CHECK(kept(layer, "output", split) == outputs);
  const Model model = of(layer);
  const Work work = work_of(model, model.kinds[0], split);
  CHECK(work.attention.size() == 2);
  CHECK(gradients_for_weight(model, model.kinds[0], split).size() == work.gemms.size());
  CHECK(kept_tensors(model, model.kinds[0], split, Recomputation::Full, {}).size() == 1);
}

TEST_CASE("model parts: windows, chunks and picked keys") {
  Layer layer;
  layer.attention = Attention{8, 8, 8};
  const double products = 3 * 2.0 * 4 * kHidden * kHidden;
  const double pair = 3 * 2.0 * 8 * (8 + 8);  // all heads, scores and values
  CHECK(flops(layer, 64) == Approx(products + pair * 64 / 2));
  layer.attention->window = 16;
  CHECK(flops(layer, 64) == Approx(products + pair * (16.0 * 64 - 16.0 * 16 / 2) / 64));
  layer.attention->chunked = true;
  CHECK(flops(layer, 64) == Approx(products + pair * 16 / 2));
  Layer latent;
  latent.latent_attention = LatentAttention{4, 24, 32, 16, 8, 16};
  const double full = flops(latent, 64);
  const std::int64_t without = weights(latent);
  latent.latent_attention->indexer = Indexer{2, 8, 16};
  // Queries of the compressed ones, a key and its norm with a bias, a weight for each head.
  const std::int64_t indexer = 24 * 2 * 8 + kHidden * 8 + kHidden * 2;
  CHECK(weights(latent) == without + indexer + 2 * 8);
  const double latent_pair = 3 * 2.0 * 4 * (24 + 16);
  CHECK(flops(latent, 64) == Approx(full + 3 * 2.0 * static_cast<double>(indexer) + 3 * 2.0 * 2 * 8 * 32 -
                                    latent_pair * (32 - (16.0 * 64 - 16.0 * 16 / 2) / 64)));
}

TEST_CASE("model parts: attention over compressed entries") {
  const std::int64_t h = kHidden;
  Layer layer;
  // 8 heads of 16 in 4 groups of rank 12; a window of 16 keys, no entries.
  layer.compressed_attention = CompressedAttention{8, 16, 24, 4, 12, 16};
  const std::int64_t products = h * 24 + 24 * 128 + h * 16 + 128 / 4 * (4 * 12) + 4 * 12 * h;
  CHECK(weights(layer) == products + 24 + 16 + 8 + h);  // norms of both, sinks, the layer's norm
  const double pair = 3 * 2.0 * 8 * (16 + 16);
  const double window = pair * (16.0 * 64 - 16.0 * 16 / 2) / 64;
  CHECK(flops(layer, 64) == Approx(3 * 2.0 * static_cast<double>(products) + window));
  // Entries of 4 tokens, each in two of them: keys and gates, a bias for each place, a norm.
  layer.compressed_attention->rate = 4;
  layer.compressed_attention->series = 2;
  const std::int64_t entries = h * 2 * 2 * 16;
  CHECK(weights(layer) == products + entries + 24 + 16 + 8 + h + 4 * 2 * 16 + 16);
  const double all = pair * 16 / 2;  // 64 / 4 entries, of which a query sees half
  CHECK(flops(layer, 64) == Approx(3 * 2.0 * static_cast<double>(products + entries) + window + all));
  // An indexer that picks 4 of the entries by 2 heads of 8, with entries of its own.
  layer.compressed_attention->indexer = Indexer{2, 8, 4};
  const std::int64_t indexer = 24 * 2 * 8 + h * 2 + h * 2 * 2 * 8;
  CHECK(weights(layer) == products + entries + indexer + 24 + 16 + 8 + h + 4 * 2 * 16 + 16 + 4 * 2 * 8 + 8);
  const double picked = pair * (4.0 * 16 - 4.0 * 4 / 2) / 16;
  const double scores = 3 * 2.0 * 2 * 8 * 16 / 2;
  CHECK(flops(layer, 64) ==
        Approx(3 * 2.0 * static_cast<double>(products + entries + indexer) + window + picked + scores));
  const Split split = one_rank(32);
  CHECK(kept(layer, "queries before and after their norm", split) == 2 * 2 * 32 * 8 * 16);
  CHECK(kept(layer, "output", split) == 2 * 32 * 8 * 16);
  CHECK(kept(layer, "output of groups", split) == 2 * 32 * 4 * 12);
  CHECK(kept(layer, "keys", split) == 2 * 32 * (16 + 4));
  CHECK(kept(layer, "entries: inputs and gates", split) == 2 * 32 * 2 * 2 * 16);
}

TEST_CASE("model parts: an indexer of plain attention, over blocks of keys") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.attention = Attention{8, 8, 8};
  const std::int64_t plain = weights(layer);
  const double products = 3 * 2.0 * 4 * kHidden * kHidden;
  layer.attention->indexer = Indexer{2, 4, 16, 8, true, false};
  const std::int64_t indexer = h * 2 * 4 + h * 4 + h * 4;  // queries, keys, gates of blocks
  CHECK(weights(layer) == plain + indexer + 2 * 4 + 8 * 4);
  const double seen = 3 * 2.0 * 8 * (8 + 8) * (16.0 * 64 - 16.0 * 16 / 2) / 64;
  const double scores = 3 * 2.0 * 2 * 4 * (64.0 / 8) / 2;
  CHECK(flops(layer, 64) == Approx(products + 3 * 2.0 * static_cast<double>(indexer) + seen + scores));
  const Model model = of(layer);
  const Work work = work_of(model, model.kinds[0], one_rank(64));
  REQUIRE(work.attention.size() == 2);
  CHECK(work.attention[1].keys == 64 / 8);
}

TEST_CASE("model parts: streams of states are kept in front of each part, and as a layer's input") {
  Layer layer;
  layer.attention = Attention{8, 8, 8};
  layer.mlp = Mlp{96, true};
  Model model = of(layer);
  const auto sum_of = [&](std::string_view name, Recomputation recomputation) {
    double sum = 0;
    for (const KeptTensor& tensor : kept_tensors(model, model.kinds[0], one_rank(32), recomputation, {}))
      if (name.empty() || tensor.name == name) sum += tensor.bytes;
    return sum;
  };
  const double one = 2 * 32 * kHidden;
  CHECK(sum_of("streams of states", Recomputation::None) == 0);
  CHECK(sum_of("", Recomputation::Full) == one);
  model.streams = 4;
  CHECK(sum_of("streams of states", Recomputation::None) == 2 * 4 * one);
  CHECK(sum_of("output of a part", Recomputation::None) == 2 * one);
  CHECK(sum_of("", Recomputation::Full) == 4 * one);
}

TEST_CASE("model parts: weights of linear mixers") {
  const std::int64_t h = kHidden;
  // 4 heads of 16 values over 2 key heads of 8: queries and keys 2 x 16, values and gate 64 each, two numbers a head.
  CHECK(weights(with({LinearRule::GatedDelta, 4, 16, 2, 8, 4})) ==
        h * (2 * 16 + 64 + 64 + 2 * 4) + 64 * h + (2 * 16 + 64) * 4 + 2 * 4 + 16 + h);
  // Decay and gate by products of rank 8 each; a step for each head; decays for each channel.
  CHECK(weights(with({LinearRule::KimiDelta, 4, 16, 4, 16, 4, 8})) ==
        h * (3 * 64 + 4) + 2 * (h * 8 + 8 * 64) + 64 * h + 3 * 64 * 4 + 4 + 64 + 16 + h);
  // By whole ones.
  CHECK(weights(with({LinearRule::KimiDelta, 4, 16, 4, 16, 4})) ==
        h * (3 * 64 + 4 + 2 * 64) + 64 * h + 3 * 64 * 4 + 4 + 64 + 16 + h);
  CHECK(weights(with({LinearRule::Lightning, 4, 16})) == h * 4 * 64 + 64 * h + 64 + h);
  // D = 128, N = 16, rank 4, taps with a bias, norms of 4 and 2 x 16.
  CHECK(weights(with({LinearRule::Mamba1, 128, 1, 0, 16, 4, 4, false, true, true})) ==
        h * 2 * 128 + 128 * (4 + 2 * 16) + 4 * 128 + 128 + 128 * 16 + 128 + 128 * 5 + 128 * h + 4 + 2 * 16 +
            h);
  CHECK(weights(with({LinearRule::ShortConv, 64, 1, 0, 0, 3})) == h * 3 * h + h * h + h * 3 + h);
}

TEST_CASE("model parts: FLOPs of linear mixers do not grow with the sequence") {
  const Layer delta = with({LinearRule::GatedDelta, 4, 16, 2, 8, 4});
  const double products = 2.0 * kHidden * (2 * 16 + 64 + 64 + 2 * 4) + 2.0 * 64 * kHidden;
  const double mixing = 8.0 * 64 * 8 + 2.0 * (2 * 16 + 64) * 4;
  CHECK(flops(delta, 64) == Approx(3 * (products + mixing)));
  CHECK(flops(delta, 4096) == Approx(3 * (products + mixing)));
  const Layer lightning = with({LinearRule::Lightning, 4, 16});
  CHECK(flops(lightning, 64) == Approx(3 * (2.0 * kHidden * 5 * 64 + 4.0 * 64 * 16)));
  const Layer mamba1 = with({LinearRule::Mamba1, 128, 1, 0, 16, 4, 4});
  const double weights = 64 * 256 + 128 * 36 + 4 * 128 + 128 * 64;
  CHECK(flops(mamba1, 64) == Approx(3 * (2 * weights + 9.0 * 128 * 16 + 2.0 * 128 * 4)));
}

TEST_CASE("model parts: norms around parts, after them, and one for all") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.attention = Attention{8, 8, 8};
  layer.mlp = Mlp{96, true};
  const std::int64_t products = 4 * h * h + 3 * h * 96;
  CHECK(weights(layer) == products + 2 * h);
  const Split split = one_rank(32);
  const double states = 2.0 * 32 * h;
  CHECK(kept(layer, "norm input", split) == 2 * states);
  layer.place = NormPlace::Around;
  CHECK(weights(layer) == products + 4 * h);
  CHECK(kept(layer, "norm input", split) + kept(layer, "input of a norm behind", split) == 4 * states);
  layer.place = NormPlace::Shared;
  CHECK(weights(layer) == products + h);
  CHECK(kept(layer, "norm input", split) == states);
  CHECK(kept(layer, "norm output", split) == states);
  layer.place = NormPlace::After;
  CHECK(weights(layer) == products + 2 * h);
}

TEST_CASE("model parts: two mixers side by side behind one norm") {
  const std::int64_t h = kHidden;
  Layer layer;
  layer.attention = Attention{8, 2, 8};
  Layer mamba;
  mamba.mamba = Mamba{8, 16, 2, 16};
  const std::int64_t alone = weights(layer) + weights(mamba);
  const Split split = one_rank(512);
  const double scanned = kept(mamba, "scanned", split);
  layer.mamba = mamba.mamba;
  CHECK(weights(layer) == alone - h);
  CHECK(kept(layer, "norm input", split) == 2.0 * 512 * h);
  CHECK(kept(layer, "scanned", split) == scanned);
  layer.mamba->gated_norm = false;
  layer.mamba->out_bias = true;
  CHECK(weights(layer) == alone - h - 8 * 16 + h);
}

TEST_CASE("model parts: biases of experts are shared out with them") {
  Layer layer;
  layer.experts = Experts{8, 2, 24};
  const Model plain = of(layer);
  layer.experts->bias = true;
  const Model biased = of(layer);
  Split split = one_rank(32);
  split.data = 4;
  split.expert = 4;
  // Of 2 experts on a rank: a bias of both gated products, and one of the states.
  CHECK(local_parameters(biased, biased.kinds[0], split).experts ==
        local_parameters(plain, plain.kinds[0], split).experts + 2 * (2 * 24 + kHidden));
}

TEST_CASE("model parts: tensor ranks share a linear mixer's heads") {
  const Layer layer = with({LinearRule::GatedDelta, 4, 16, 2, 8, 4});
  const Model model = of(layer);
  Split split = one_rank(64);
  const auto products = [&] {
    double sum = 0;
    for (const Gemm& gemm : work_of(model, model.kinds[0], split).gemms)
      sum += 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.k) * static_cast<double>(gemm.n);
    return sum;
  };
  const double whole = products();
  const double states = kept(layer, "scanned", split);
  split.tensor = 2;
  CHECK_NOTHROW(check(model, split, {}));
  CHECK(products() == whole / 2);
  CHECK(kept(layer, "scanned", split) == states / 2);
  split.tensor = 4;  // more than its key heads
  CHECK_THROWS_WITH(check(model, split, {}),
                    Catch::Matchers::Contains("number of key heads of layer 'T' is 2"));
}

}  // namespace
}  // namespace pipeloom::model::model_parts_test
