// Parameters, counted exactly.

#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model_shapes.hpp"
#include "support/catch.hpp"

namespace pipeloom::model::model_parameters_test {
namespace {

using namespace shapes;

TEST_CASE("model parameters: Llamas as SlackPipe's configurations count them") {
  // L (2 h^2 + 2 h kv d + 3 h f + 2 h) + 2 V h + h; SlackPipe, configs/slackpipe_eval at 5f000dc.
  CHECK(parameters_of(llama({32, 3072, 8192, 24})) == 4'026'731'520);
  CHECK(parameters_of(llama({32, 4096, 14336, 32})) == 8'053'329'920);
  CHECK(parameters_of(llama({60, 6144, 21504, 48})) == 30'677'882'880);
}

TEST_CASE("model parameters: Nemotron-H likewise") {
  // Mamba layer: h + h (2 D + 2 G N + H) + (D + 2 G N)(4 + 1) + 3 H + D + D h, D = 64 H, G 8, N 128.
  CHECK(parameters_of(hybrid({"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-", 2816, 14848, 22, 11,
                              88})) == 4'127'801'280);
  CHECK(parameters_of(
            hybrid({"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-", 4864,
                    25600, 38, 19, 152})) == 16'566'348'008);
  CHECK(parameters_of(hybrid({"M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-M-M-"
                              "M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
                              5888, 30976, 46, 23, 184})) == 30'504'556'160);
}

TEST_CASE("model parameters: GPT-3") {
  const Model model = gpt(96, 12288, 96, 2048);
  // A layer: 12 h^2 + 13 h (two norms 4 h, biases 3 h + h + 4 h + h).
  const std::int64_t h = 12288;
  CHECK(parameters_of(model, model.kinds[0]).all() == 12 * h * h + 13 * h);
  CHECK(parameters_of(model) == 96 * (12 * h * h + 13 * h) + 51200 * h + 2048 * h + 2 * h);
  CHECK(static_cast<double>(parameters_of(model)) == Approx(1.746e11).epsilon(0.0005));
  CHECK(active_parameters_of(model) == parameters_of(model));
}

Model mixture() {
  Model model = llama({4, 1024, 1, 16, 4, 32000});
  Layer& layer = model.kinds[0];
  layer.mlp.reset();
  layer.experts = Experts{8, 2, 512, 256};
  layer.experts->shared_gate = true;
  layer.experts->router_bias = true;
  return model;
}

TEST_CASE("model parameters: experts, routed, shared and active") {
  const Model model = mixture();
  const Parameters layer = parameters_of(model, model.kinds[0]);
  CHECK(layer.experts == 8 * 3 * 1024 * 512);
  // q and out h^2 each, k and v 4 x 64 h each; router 8 h, its bias 8, shared 3 h 256, its gate h, two norms.
  CHECK(layer.dense == 2 * 1024 * 1024 + 2 * 256 * 1024 + 8 * 1024 + 8 + 3 * 1024 * 256 + 1024 + 2 * 1024);
  CHECK(parameters_of(model) - active_parameters_of(model) == 4 * 6 * 3 * 1024 * 512);
}

TEST_CASE("model parameters: what a rank holds") {
  const Model model = mixture();
  Split split;
  split.tensor = 4;
  split.data = 2;
  split.expert = 8;
  split.sequence = 4096;
  const Parameters local = local_parameters(model, model.kinds[0], split);
  CHECK(local.experts == 3 * 1024 * 512);
  // Matrices by 4; router, its bias, the shared expert's gate and norms whole.
  CHECK(local.dense ==
        (2 * 1024 * 1024 + 2 * 256 * 1024 + 3 * 1024 * 256) / 4 + 8 * 1024 + 8 + 1024 + 2 * 1024);
  CHECK(local_embedding(model, split) == 8000 * 1024);
  CHECK(local_head(model, split, false) == 8000 * 1024 + 1024);

  Model tied = model;
  tied.tied = true;
  CHECK(local_head(tied, split, true) == 1024);
  CHECK(local_head(tied, split, false) == 8000 * 1024 + 1024);
  CHECK(parameters_of(model) - parameters_of(tied) == 32000 * 1024);

  // Two stages that share the vocabulary out: half of these rows each. Positions are not dealt out.
  split.output = 2;
  tied.positions = 4096;
  CHECK(local_embedding(tied, split) == 4000 * 1024);
  CHECK(local_output(model, split, true) == 4000 * 1024);
  CHECK(local_output(tied, split, true) == 0);
  CHECK(position_parameters(tied) == 4096 * 1024);
}

TEST_CASE("model parameters: MTP layers") {
  Model model = mixture();
  const std::int64_t before = parameters_of(model);
  model.mtp = 2;
  // A layer, a product of 2 h inputs and three norms each.
  CHECK(mtp_parameters(model).all() ==
        2 * (parameters_of(model, model.kinds[0]).all() + 2 * 1024 * 1024 + 3 * 1024));
  CHECK(parameters_of(model) == before + mtp_parameters(model).all());
  CHECK(active_parameters_of(model) == before - 4 * 6 * 3 * 1024 * 512);
}

TEST_CASE("model parameters: latent attention") {
  Model model = llama({1, 7168, 18432, 128, 128, 129280});
  Layer& layer = model.kinds[0];
  layer.attention.reset();
  layer.latent_attention = LatentAttention{128, 1536, 512, 128, 64, 128};
  // DeepSeek-V3: 187.1M, its report's matrices: 1536 (h + 128 x 192) + 512 (128 x 256) + h 576 + 128 x 128 h, and both norms.
  const std::int64_t attention =
      1536 * (7168 + 128 * 192 + 1) + 512 * (128 * 256 + 1) + 7168 * 576 + 128 * 128 * 7168;
  CHECK(attention == 187'107'328);
  CHECK(parameters_of(model, layer).all() == attention + 3 * 7168 * 18432 + 2 * 7168);
  layer.latent_attention->q_rank = 0;
  CHECK(parameters_of(model, layer).all() ==
        attention - 1536 * (7168 + 128 * 192 + 1) + 7168 * 128 * 192 + 3 * 7168 * 18432 + 2 * 7168);
}

TEST_CASE("model parameters: an encoder with its ends") {
  const Model model = encoder();
  Layer layer = *model.find('P');
  // Four matrices with biases, two products, two norms of weights and biases; patches, projector, tables.
  const std::int64_t inside = 4 * (64 * 64 + 64) + (64 * 128 + 128) + (128 * 64 + 64) + 2 * 2 * 64;
  const std::int64_t ends = 48 * 64 + (256 * 512 + 512) + (512 * 256 + 256) + 7;
  CHECK(parameters_of(model, layer).all() == inside + ends);
  layer.attention->key_bias = false;
  CHECK(parameters_of(model, layer).all() == inside + ends - 64);
  layer.norm.reset();  // the decoder's, of weights alone
  CHECK(parameters_of(model, layer).all() == inside + ends - 64 - 2 * 64);
  // Ends are not cut; of the layer, the matrices, the bias of queries and values, and that of fc1 are.
  Split split;
  split.tensor = 2;
  CHECK(local_parameters(model, layer, split).all() ==
        ends + (4 * 64 * 64 + 2 * 64 * 128 + 2 * 64 + 128) / 2 + 64 + 64 + 2 * 64);
}

}  // namespace
}  // namespace pipeloom::model::model_parameters_test
