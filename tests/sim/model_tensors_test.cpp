// What a microbatch leaves in memory.

#include "sim/model/shares.hpp"
#include "sim/model/tensors.hpp"
#include "sim/model_shapes.hpp"
#include "support/catch.hpp"

namespace pipeloom::model::model_tensors_test {
namespace {

using namespace shapes;

/// Bytes of a layer's activations by Korthikanti et al. (arXiv 2205.05198, Table 2): no flash attention, dropout, f = 4h.
double korthikanti_bytes(const Model& model, const Layer& layer, const Split& split,
                         Recomputation recomputation) {
  const Shares shares = shares_of(layer, split);
  const auto states = static_cast<double>(shares.tokens * model.hidden_of(layer));  // s b h
  const auto t = static_cast<double>(shares.tensor);
  const auto sequence = static_cast<double>(shares.sequence);
  if (recomputation == Recomputation::Full) return 2 * states / sequence;
  const double scores = recomputation == Recomputation::Selective || !layer.attention
                            ? 0
                            : 5.0 * static_cast<double>(shares.tokens) * static_cast<double>(split.sequence) *
                                  static_cast<double>(layer.attention->heads);
  return states * (10 / sequence + 24 / t) + scores / t;
}

constexpr double kMiB = 1024.0 * 1024.0;

double sum_of(const std::vector<KeptTensor>& tensors) {
  double sum = 0;
  for (const KeptTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

/// Without the statistics of norms, which Korthikanti et al. leave out.
double without_statistics(const std::vector<KeptTensor>& tensors) {
  double sum = 0;
  for (const KeptTensor& tensor : tensors)
    if (tensor.name != "norm statistics") sum += tensor.bytes;
  return sum;
}

Split split_of(int tensor, bool sequence_parallel, std::int64_t sequence, std::int64_t micro_batch) {
  Split split;
  split.tensor = tensor;
  split.sequence_parallel = sequence_parallel;
  split.flash = false;
  split.sequence = sequence;
  split.micro_batch = micro_batch;
  return split;
}

struct Published {
  std::int64_t sequence, batch, hidden, heads;
  /// none, TP, TP + SP, selective with TP, with TP + SP, full; MiB at t = 8.
  std::array<double, 6> mib;
};

TEST_CASE("model tensors: Korthikanti's table, by its formula and by the list of tensors") {
  // arXiv 2205.05198, Table 2 and Table 3's models: s b h (34 + 5 a s / h), (10 + 24 / t + 5 a s / (h t)), ..., 2 s b h.
  const Published rows[] = {{2048, 4, 6144, 64, {6752, 1264, 844, 624, 204, 96}},
                            {2048, 1, 12288, 96, {2736, 552, 342, 312, 102, 48}},
                            {2048, 1, 20480, 128, {3920, 840, 490, 520, 170, 80}},
                            {2048, 1, 25600, 160, {4900, 1050, 612.5, 650, 212.5, 100}}};
  for (const Published& row : rows) {
    const Model model = gpt(1, row.hidden, row.heads, row.sequence);
    const Layer& layer = model.kinds[0];
    const auto none = Recomputation::None;
    const auto selective = Recomputation::Selective;
    const std::pair<Split, Recomputation> modes[] = {
        {split_of(1, true, row.sequence, row.batch), none},
        {split_of(8, false, row.sequence, row.batch), none},
        {split_of(8, true, row.sequence, row.batch), none},
        {split_of(8, false, row.sequence, row.batch), selective},
        {split_of(8, true, row.sequence, row.batch), selective},
        {split_of(8, false, row.sequence, row.batch), Recomputation::Full}};
    for (std::size_t i = 0; i < 6; ++i) {
      const auto& [split, recomputation] = modes[i];
      CHECK(korthikanti_bytes(model, layer, split, recomputation) / kMiB == row.mib[i]);
      CHECK(without_statistics(kept_tensors(model, layer, split, recomputation)) / kMiB == row.mib[i]);
    }
  }
}

TEST_CASE("model tensors: what is left for the weights' pass is 32 h per token of a GPT") {
  // Zero bubble pipeline parallelism (arXiv 2401.10241), section 4.1: M_B = 34 h + 5 a s, M_W = 32 h per token. Inputs of products 2 h + 2 h + 2 h +
  // 8 h, gradients of their outputs 6 h + 2 h + 8 h + 2 h.
  const Model model = gpt(1, 4096, 32, 1024);
  const Split split = split_of(1, true, 1024, 1);
  double inputs = 0;
  for (const KeptTensor& tensor : kept_tensors(model, model.kinds[0], split, Recomputation::None))
    if (tensor.until_weight) inputs += tensor.bytes;
  CHECK(inputs == 14.0 * 4096 * 1024);
  CHECK(sum_of(gradients_for_weight(model, model.kinds[0], split)) == 18.0 * 4096 * 1024);
}

TEST_CASE("model tensors: a Llama layer with flash attention") {
  // Per token, t ranks: norms 8 h, q k v 2 (a + 2 g) d, output 2 a d, sums 4 a, fc1 4 f, SwiGLU 2 f, statistics 8.
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  Split split = split_of(2, true, 4096, 1);
  split.flash = true;
  const double per_token = 8.0 * 8192 + 2.0 * (64 + 16) * 128 + 2.0 * 8192 + 4.0 * 64 + 6.0 * 28672 + 8;
  CHECK(sum_of(kept_tensors(model, model.kinds[0], split, Recomputation::None)) == 4096 / 2 * per_token);

  split.context = 2;  // half the tokens; the output is kept before the all-to-all too
  CHECK(sum_of(kept_tensors(model, model.kinds[0], split, Recomputation::None)) ==
        4096 / 2 / 2 * (per_token + 2.0 * 8192));
}

TEST_CASE("model tensors: what products read in 8 bits is kept in 8") {
  // Of the Llama layer above, per token: norms' outputs 2 h instead of 4 h and SwiGLU's f instead of 2 f. Attention's backward has its output in 16 bits, 2 h,
  // until I, and the product behind it in 8, h, until W.
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  Split split = split_of(2, true, 4096, 1);
  split.flash = true;
  const auto until = [&](bool weight) {
    double sum = 0;
    for (const KeptTensor& tensor : kept_tensors(model, model.kinds[0], split, Recomputation::None))
      if (tensor.until_weight == weight) sum += tensor.bytes;
    return sum / (4096 / 2);
  };
  const double input = until(false);
  const double gradients = sum_of(gradients_for_weight(model, model.kinds[0], split));
  CHECK(until(true) == 4.0 * 8192 + 2.0 * 8192 + 2.0 * 28672);
  split.product_bytes = 1;
  CHECK(until(true) == 2.0 * 8192 + 8192 + 28672);
  CHECK(until(false) == input + 2.0 * 8192);
  CHECK(sum_of(gradients_for_weight(model, model.kinds[0], split)) == gradients / 2);
}

TEST_CASE("model tensors: modules made again") {
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  Split split = split_of(1, true, 4096, 1);
  split.flash = true;
  const auto kept = [&](const std::vector<std::string>& modules) {
    return sum_of(kept_tensors(model, model.kinds[0], split, Recomputation::None, modules)) / 4096;
  };
  const double all = kept({});
  CHECK(all - kept({"mlp"}) == 6.0 * 28672);
  CHECK(all - kept({"layernorm"}) == 4.0 * 8192);
  CHECK(all - kept({"core_attn"}) == 4.0 * 64);
  CHECK(all - kept({"mlp", "layernorm"}) == 6.0 * 28672 + 4.0 * 8192);
  CHECK(all == kept({"moe"}));
}

Model mixture() {
  Model model = llama({1, 7168, 1, 128, 128, 129280});
  Layer& layer = model.kinds[0];
  layer.attention.reset();
  layer.mlp.reset();
  layer.latent_attention = LatentAttention{128, 1536, 512, 128, 64, 128};
  layer.experts = Experts{256, 8, 2048, 2048};
  return model;
}

TEST_CASE("model tensors: a router reads its norm's output in 16 bits, experts what they are given in 8") {
  const Model model = mixture();
  Split split = split_of(1, true, 4096, 1);
  split.data = split.expert = 8;
  const auto bytes = [&](std::string_view name) {
    for (const KeptTensor& tensor : kept_tensors(model, model.kinds[0], split, Recomputation::None))
      if (tensor.module == "moe" && tensor.name == name) return tensor.bytes;
    return 0.0;
  };
  // 8 experts a token, so that N = 8 T.
  CHECK(bytes("permuted input") == 2.0 * 8 * 4096 * 7168);
  split.product_bytes = 1;
  CHECK(bytes("permuted input") == 8.0 * 4096 * 7168);
  CHECK(bytes("norm output") == 2.0 * 4096 * 7168);
}

TEST_CASE("model tensors: latent attention and experts") {
  const Model model = mixture();
  Split split = split_of(1, true, 4096, 1);
  split.flash = true;
  split.data = 8;
  split.expert = 8;
  const double tokens = 4096;
  // 8 x 4096 / 256 = 128 tokens for each expert, exactly: N = 8 T.
  const double routed = 8 * tokens;
  const double attention = tokens * (4.0 * 7168 + 4.0 * (1536 + 512) + 2.0 * 128 * (2 * 192 + 128) +
                                     4.0 * 128 + 2.0 * 128 * 128 + 4);
  const double experts =
      tokens * (4.0 * 7168 + 4 + 8.0 * 256 + 6.0 * 2048) + routed * (2.0 * 7168 + 6.0 * 2048);
  CHECK(sum_of(kept_tensors(model, model.kinds[0], split, Recomputation::None)) == attention + experts);
  CHECK(sum_of(kept_tensors(model, model.kinds[0], split, Recomputation::None, {"moe"})) ==
        attention + tokens * (4.0 * 7168 + 4));
  CHECK(sum_of(kept_tensors(model, model.kinds[0], split, Recomputation::None, {"moe_act"})) ==
        attention + experts - routed * 2.0 * 2048);
}

TEST_CASE("model tensors: stand-ins for weight gradients, one a shape") {
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  Split split = split_of(2, true, 4096, 1);
  // qkv [8192, 10240 / 2], out [8192 / 2, 8192], fc1 [8192, 57344 / 2], fc2 [28672 / 2, 8192].
  CHECK(stand_in_bytes(model, "TTT", split) == 2.0 * 8192 * (5120 + 4096 + 28672 + 14336));
  CHECK(stand_in_bytes(model, "", split) == 0);
}

TEST_CASE("model tensors: an encoder keeps its patches and what its projector needs") {
  const Model model = encoder();
  const Layer& layer = *model.find('P');
  Layer without = layer;
  without.before.clear();
  without.behind.clear();
  Split split = split_of(1, true, 4096, 2);
  // 200 patches of 48; 50 merged tokens: the inputs of two products and the activation's input between them.
  const double ends = 2 * 200.0 * 48 + 2 * 50.0 * (256 + 512 + 512);
  CHECK(sum_of(kept_tensors(model, layer, split, Recomputation::None)) -
            sum_of(kept_tensors(model, without, split, Recomputation::None)) ==
        ends);
  // Outputs' gradients wait for the weights' pass.
  CHECK(sum_of(gradients_for_weight(model, layer, split)) -
            sum_of(gradients_for_weight(model, without, split)) ==
        2 * 200.0 * 64 + 2 * 50.0 * (512 + 256));
  // Its norms keep two numbers a token, as layer norms do, in a model of RMS norms.
  Layer rms = without;
  rms.norm.reset();
  CHECK(sum_of(kept_tensors(model, without, split, Recomputation::None)) -
            sum_of(kept_tensors(model, rms, split, Recomputation::None)) ==
        2 * 4 * 200.0);
}

}  // namespace
}  // namespace pipeloom::model::model_tensors_test
