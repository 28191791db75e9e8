// Frozen weights: which passes, bytes and FLOPs are left. Every expected number is counted by hand from the sizes of the model.

#include "sim/model/trainable.hpp"

#include <vector>

#include "sim/estimate/estimate.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/tensors.hpp"
#include "sim/model/work.hpp"
#include "support/catch.hpp"

namespace trainable_test {

using namespace pipeloom;
using namespace pipeloom::model;

namespace {

constexpr std::int64_t kH = 256;
constexpr std::int64_t kF = 1024;
constexpr std::int64_t kWords = 1000;
constexpr std::int64_t kTokens = 512;
constexpr std::int64_t kRank = 8;

/// Four layers of four heads, h x 3h, h x h, h x 2f, f x h.
Model model_of() {
  Model out;
  out.name = "m";
  out.hidden = kH;
  out.vocabulary = kWords;
  Layer layer;
  layer.attention = Attention{4, 4, 64};
  layer.mlp = Mlp{kF, true};
  out.kinds = {layer};
  out.layers = "TTTT";
  return out;
}

Split split_of(const Model& model, const std::string& words, int rank = 0) {
  Split out;
  out.sequence = kTokens;
  out.trainable = trainable_of(model, words, rank);
  return out;
}

/// 2 m k n FLOPs of the products in each pass.
std::array<double, 3> flops_of(const Work& work) {
  std::array<double, 3> out = {};
  for (const Gemm& gemm : work.gemms) {
    const double each = 2.0 * static_cast<double>(gemm.m * gemm.k * gemm.n);
    out[0] += each;
    if (gemm.input_gradient) out[1] += each;
    if (gemm.weight_gradient) out[2] += each;
  }
  return out;
}

double kept(const Model& model, const Split& split, bool until_weight) {
  double sum = 0;
  for (const KeptTensor& tensor : kept_tensors(model, model.kinds[0], split, Recomputation::None))
    if (tensor.until_weight == until_weight) sum += tensor.bytes;
  return sum;
}

using Reaches = std::vector<Reach>;
constexpr Reach kWhole = Reach::Whole;
constexpr Reach kNone = Reach::None;

constexpr double kMixerWeights = kH * 3 * kH + kH * kH;
constexpr double kMlpWeights = kH * 2 * kF + kF * kH;

}  // namespace

TEST_CASE("trainable: the backward ends at the first part that is trained") {
  const Model model = model_of();
  CHECK(reaches_of(model, trainable_of(model, "all", 0)) == Reaches(4, kWhole));
  CHECK(reaches_of(model, trainable_of(model, "embedding", 0)) == Reaches(4, kWhole));
  CHECK(reaches_of(model, trainable_of(model, "attention", 0)) == Reaches(4, kWhole));
  CHECK(reaches_of(model, trainable_of(model, "mlp", 0)) == Reaches{Reach::Late, kWhole, kWhole, kWhole});
  CHECK(reaches_of(model, trainable_of(model, "head", 0)) == Reaches(4, kNone));
  CHECK_FALSE(trainable_of(model, "head", 0).head_backward);
  CHECK(trainable_of(model, "mlp", 0).head_backward);
  // Adapters are in every layer, whatever their rank.
  CHECK(reaches_of(model, trainable_of(model, "none", 0)) == Reaches(4, kWhole));
  CHECK(reaches_of(model, trainable_of(model, "head", 8)) == Reaches(4, kWhole));

  Model towers = model;
  Layer tower = model.kinds[0];
  tower.letter = 'V';
  tower.hidden = 128;
  tower.attention = Attention{2, 2, 64};
  Layer last = tower;
  last.letter = 'P';
  last.behind = {Product{128, kH}};
  towers.kinds = {tower, last, model.kinds[0]};
  towers.layers = "VPTT";
  CHECK(reaches_of(towers, trainable_of(towers, "encoder", 0)) == Reaches(4, kWhole));
  CHECK(reaches_of(towers, trainable_of(towers, "projector", 0)) ==
        Reaches{kNone, Reach::Late, kWhole, kWhole});
  CHECK(reaches_of(towers, trainable_of(towers, "embedding", 0)) == Reaches{kNone, kNone, kWhole, kWhole});
  CHECK(reaches_of(towers, trainable_of(towers, "none", 8)) == Reaches{kNone, kNone, kWhole, kWhole});
}

TEST_CASE("trainable: tied weights are one") {
  Model model = model_of();
  model.tied = true;
  CHECK(trainable_of(model, "head", 0).embedding);
  CHECK(trainable_of(model, "embedding", 0).head);
  CHECK_FALSE(trainable_of(model, "mlp", 0).embedding);
}

TEST_CASE("trainable: frozen products have no W, and no I in front of what is trained") {
  const Model model = model_of();
  const auto flops = [&](const std::string& words, Reach reach, int rank = 0) {
    Split split = split_of(model, words, rank);
    split.trainable.reach = reach;
    return flops_of(work_of(model, model.kinds[0], split));
  };
  const double mixer = 2 * kTokens * kMixerWeights;
  const double mlp = 2 * kTokens * kMlpWeights;
  using Passes = std::array<double, 3>;
  CHECK(flops("all", kWhole) == Passes{mixer + mlp, mixer + mlp, mixer + mlp});
  CHECK(flops("none", kWhole) == Passes{mixer + mlp, mixer + mlp, 0});
  CHECK(flops("mlp", kWhole) == Passes{mixer + mlp, mixer + mlp, mlp});
  CHECK(flops("mlp", Reach::Late) == Passes{mixer + mlp, mlp, mlp});
  CHECK(flops("head", kNone) == Passes{mixer + mlp, 0, 0});
  // A pair beside each of the four products: r (k + n) weights.
  const double adapters = 2.0 * kTokens * kRank * ((kH + 3 * kH) + (kH + kH) + (kH + 2 * kF) + (kF + kH));
  CHECK(flops("none", kWhole, kRank) == Passes{mixer + mlp + adapters, mixer + mlp + adapters, adapters});

  Split head = split_of(model, "attention");
  CHECK(flops_of(output_work(model, head))[1] > 0);
  CHECK(flops_of(output_work(model, head))[2] == 0);
  head = split_of(model, "head");
  CHECK(flops_of(output_work(model, head))[1] == 0);
  CHECK(flops_of(output_work(model, head))[2] > 0);
}

TEST_CASE("trainable: FLOPs of a token are those of the passes that are left") {
  const Model model = model_of();
  const auto flops = [&](const std::string& words, int rank = 0) {
    return flops_per_token(model, kTokens, false, {}, trainable_of(model, words, rank));
  };
  const double products = 2 * 4 * (kMixerWeights + kMlpWeights);
  const double head = 2.0 * kH * kWords;
  const double attention = 4 * 2.0 * (kTokens / 2.0) * 2 * kH;  // causal: half of the square
  CHECK(flops("all") == Approx(3 * (products + head + attention)));
  CHECK(flops("none") == Approx(2 * (products + head) + 3 * attention));
  CHECK(flops("head") == Approx(products + attention + 2 * head));
  const double adapters = 2.0 * 4 * kRank * ((kH + 3 * kH) + (kH + kH) + (kH + 2 * kF) + (kF + kH));
  CHECK(flops("none", kRank) == Approx(flops("none") + 3 * adapters));
}

TEST_CASE("trainable: the inputs of frozen products are not kept, those of adapted ones are") {
  const Model model = model_of();
  const Split all = split_of(model, "all");
  const Split none = split_of(model, "none");
  // Attention's backward needs its output, which its product no longer does.
  const double output = 2.0 * kTokens * kH;
  CHECK(kept(model, none, true) == 0);
  CHECK(kept(model, none, false) == kept(model, all, false) + output);
  // Two norms' outputs, attention's output, and the activation's.
  CHECK(kept(model, all, true) == 2.0 * kTokens * (3 * kH + kF));
  const Split adapted = split_of(model, "none", kRank);
  CHECK(kept(model, adapted, true) == kept(model, all, true) + 4 * 2.0 * kTokens * kRank);
  CHECK(kept(model, adapted, false) == kept(model, all, false));
  Split front = split_of(model, "head");
  front.trainable.reach = kNone;
  CHECK(kept(model, front, false) + kept(model, front, true) == 0);
  CHECK(gradients_for_weight(model, model.kinds[0], none).empty());
  CHECK(gradients_for_weight(model, model.kinds[0], split_of(model, "mlp")).size() == 2);
  CHECK(stand_in_bytes(model, "T", none) == 0);
}

TEST_CASE("trainable: parameters that are trained, and those of adapters") {
  const Model model = model_of();
  Split split = split_of(model, "mlp", kRank);
  split.tensor = 2;
  // The feed-forward part has its norm.
  CHECK(local_trained(model, model.kinds[0], split).dense == static_cast<std::int64_t>(kMlpWeights) / 2 + kH);
  // Beside h x 3h, whose outputs are cut, and h x h, whose inputs are.
  CHECK(local_adapters(model, model.kinds[0], split).dense ==
        kRank * (kH + 3 * kH / 2) + kRank * (kH / 2 + kH));
  CHECK(local_adapters(model, model.kinds[0], split_of(model, "all")).dense == 0);
}

TEST_CASE("trainable: what a model has not is refused") {
  const Model model = model_of();
  CHECK(trainable_refusal(model, "attention,head", 8).empty());
  CHECK(trainable_refusal(model, "none", 0).empty());
  CHECK(trainable_refusal(model, "experts", 0) == "m has no experts; leave it out");
  CHECK(trainable_refusal(model, "encoder", 0) == "m has no encoder; leave it out");
  CHECK(trainable_refusal(model, "all", 8).find("all is trained") != std::string::npos);
}

}  // namespace trainable_test
