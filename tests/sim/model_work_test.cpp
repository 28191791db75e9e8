// Products, attention, traffic and collectives of a rank, and FLOPs of a model.

#include <chrono>
#include <string>

#include "sim/model/parameters.hpp"
#include "sim/model/work.hpp"
#include "sim/model_shapes.hpp"
#include "support/catch.hpp"

namespace pipeloom::model::model_work_test {
namespace {

using namespace shapes;

Split split_of(int tensor, std::int64_t sequence, std::int64_t micro_batch = 1) {
  Split split;
  split.tensor = tensor;
  split.sequence = sequence;
  split.micro_batch = micro_batch;
  return split;
}

double gemm_flops(const Work& work) {
  double sum = 0;
  for (const Gemm& gemm : work.gemms)
    sum += 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.k) * static_cast<double>(gemm.n) *
           static_cast<double>(gemm.groups);
  return sum;
}

double traffic_bytes(const Work& work, bool forward) {
  double sum = 0;
  for (const Traffic& traffic : work.traffic) sum += forward ? traffic.forward : traffic.backward;
  return sum;
}

struct Product {
  std::string what;
  std::int64_t m, k, n, groups;
  bool operator==(const Product&) const = default;
};

std::vector<Product> products(const Work& work) {
  std::vector<Product> out;
  for (const Gemm& gemm : work.gemms)
    out.push_back({std::string(gemm.what), gemm.m, gemm.k, gemm.n, gemm.groups});
  return out;
}

TEST_CASE("model work: FLOPs of published GPTs per sequence") {
  // Narayanan et al. (arXiv 2104.04473), section 5.1, without recomputation: 72 L s h^2 (1 + s / (6 h) + V / (12 L h)); s 2048, V 51200.
  struct Row {
    std::int64_t layers, hidden, heads;
    double flops;
  };
  for (const Row& row : {Row{48, 6144, 64, 2.8589e14}, Row{96, 12288, 96, 2.2046e15},
                         Row{105, 20480, 128, 6.6151e15}, Row{128, 25600, 160, 1.2551e16}}) {
    const double found = 2048 * flops_per_token(gpt(row.layers, row.hidden, row.heads, 2048), 2048, true);
    CHECK(found == Approx(row.flops).epsilon(0.00005));
    const auto h = static_cast<double>(row.hidden);
    const auto layers = static_cast<double>(row.layers);
    CHECK(
        found ==
        Approx(72 * layers * 2048 * h * h * (1 + 2048 / (6 * h) + 51200 / (12 * layers * h))).epsilon(1e-12));
  }
  // Causal: half of the square.
  CHECK(2048 * flops_per_token(gpt(96, 12288, 96, 2048), 2048) == Approx(2.174868e15).epsilon(2e-7));
}

TEST_CASE("model work: FLOPs are 6 per active weight and token, and attention") {
  Model model = llama({4, 1024, 1, 16, 4, 32000});
  model.kinds[0].mlp.reset();
  model.kinds[0].experts = Experts{8, 2, 512, 256};
  // Norms and the embedding's rows multiply nothing.
  const double weights = static_cast<double>(active_parameters_of(model)) - 32000.0 * 1024 - 9.0 * 1024;
  CHECK(flops_per_token(model, 512) == Approx(6 * weights + 3 * 4 * 2.0 * 512 * 1024).epsilon(1e-12));
  // A window of 128 keys: 128 x 512 - 128^2 / 2 pairs.
  model.kinds[0].attention->window = 128;
  CHECK(flops_per_token(model, 512) ==
        Approx(6 * weights + 3 * 4 * 4.0 * (128 * 512 - 128 * 64) / 512 * 1024).epsilon(1e-12));
}

TEST_CASE("model work: a Mamba layer as Megatron-LM counts it") {
  // 2 h (2 D + 2 G N + H) + 7 D N + 2 D h per token forward.
  const Model model = hybrid({"M", 2816, 1, 22, 11, 88});
  const double d = 88 * 64;
  CHECK(flops_per_token(model, 4096) ==
        3 * (2 * 2816 * (2 * d + 2 * 8 * 128 + 88) + 7 * d * 128 + 2 * d * 2816 + 2 * 2816 * 131072.0));
}

TEST_CASE("model work: products of a Llama layer on two ranks") {
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  const Work work = work_of(model, model.kinds[0], split_of(2, 4096));
  CHECK(products(work) == std::vector<Product>{{"qkv", 4096, 8192, 5120, 1},
                                               {"out", 4096, 4096, 8192, 1},
                                               {"fc1", 4096, 8192, 28672, 1},
                                               {"fc2", 4096, 14336, 8192, 1}});
  REQUIRE(work.attention.size() == 1);
  CHECK(work.attention[0].heads == 32);
  CHECK(work.attention[0].kv_heads == 4);
  CHECK(work.attention[0].flops() == 2.0 * 4096 * 4096 * 32 * 128);
  CHECK(work.attention[0].full_flops() == 4.0 * 4096 * 4096 * 32 * 128);
  const Work head = head_work(model, split_of(2, 4096));
  CHECK(products(head) == std::vector<Product>{{"head", 4096, 8192, 64128, 1}});
}

TEST_CASE("model work: products of a DeepSeek layer on eight expert ranks") {
  Model model = llama({1, 5120, 1, 128, 128, 102400});
  Layer& layer = model.kinds[0];
  layer.attention.reset();
  layer.mlp.reset();
  layer.latent_attention = LatentAttention{128, 1536, 512, 128, 64, 128};
  layer.experts = Experts{160, 6, 1536, 3072};
  Split split = split_of(1, 4096);
  split.data = 8;
  split.expert = 8;
  // 6 x 4096 / 160 = 153.6, padded to 154, from each of 8 ranks.
  CHECK(products(work_of(model, layer, split)) == std::vector<Product>{{"q down", 4096, 5120, 1536, 1},
                                                                       {"q up", 4096, 1536, 24576, 1},
                                                                       {"kv down", 4096, 5120, 576, 1},
                                                                       {"kv up", 4096, 512, 32768, 1},
                                                                       {"out", 4096, 16384, 5120, 1},
                                                                       {"router", 4096, 5120, 160, 1},
                                                                       {"shared fc1", 4096, 5120, 6144, 1},
                                                                       {"shared fc2", 4096, 3072, 5120, 1},
                                                                       {"expert fc1", 1232, 5120, 3072, 20},
                                                                       {"expert fc2", 1232, 1536, 5120, 20}});
  const Work work = work_of(model, layer, split);
  REQUIRE(work.collectives.size() == 2);
  for (const Collective& collective : work.collectives) {
    CHECK(collective.kind == CollectiveKind::AllToAll);
    CHECK(collective.group == Group::Expert);
    CHECK(collective.bytes == 2.0 * 160 * 154 * 5120);
    CHECK(collective.times == std::array<int, kPasses>{1, 1, 0});
  }
}

TEST_CASE("model work: ranks of a split do the whole work together") {
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  const double whole = gemm_flops(work_of(model, model.kinds[0], split_of(1, 8192)));
  for (const int t : {2, 4, 8})
    for (const int c : {1, 2, 16}) {
      Split split = split_of(t, 8192);
      split.context = c;
      const Work work = work_of(model, model.kinds[0], split);
      CHECK(gemm_flops(work) * t * c == whole);
      // Heads where they divide, else queries.
      REQUIRE(work.attention.size() == 1);
      CHECK(work.attention[0].flops() * t * c == 2.0 * 8192 * 8192 * 64 * 128);
      CHECK(work.attention[0].queries == (t * c <= 8 ? 8192 : 8192 / c));
    }
}

TEST_CASE("model work: packed documents attend to themselves alone") {
  const Model model = llama({1, 1024, 1, 8, 8});
  Split split = split_of(1, 1000, 2);
  split.documents = {300, 400, 300};
  const Work work = work_of(model, model.kinds[0], split);
  REQUIRE(work.attention.size() == 2);
  CHECK(work.attention[0].batch == 4);
  CHECK(work.attention[0].flops() + work.attention[1].flops() ==
        2.0 * 2 * (300 * 300 + 400 * 400 + 300 * 300) * 1024);
}

TEST_CASE("model work: traffic of a GPT layer") {
  // Per layer 34 T h + 32 T h / t + 13 T s a / t bytes, 1.5 times that backward.
  const Model model = gpt(1, 4096, 32, 2048);
  Split split = split_of(4, 2048);
  split.sequence_parallel = false;
  split.flash = false;
  const Work work = work_of(model, model.kinds[0], split);
  const double tokens = 2048;
  const double bytes = 34 * tokens * 4096 + 32 * tokens * 4096 / 4 + 13 * tokens * 2048 * 32 / 4;
  CHECK(traffic_bytes(work, true) == bytes);
  CHECK(traffic_bytes(work, false) == 1.5 * bytes);
  CHECK(traffic_bytes(embedding_work(model, split), true) == 10 * tokens * 4096);
}

TEST_CASE("model work: traffic of a Llama layer") {
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  const Work work = work_of(model, model.kinds[0], split_of(2, 4096));
  const double tokens = 4096.0 / 2;
  const double qkv = 2 * tokens * (64 + 16) * 128;
  CHECK(traffic_bytes(work, true) == tokens * 2 * (4 + 6) * 8192 + 2 * qkv + 6 * tokens * 28672);
  CHECK(traffic_bytes(work, false) == tokens * 2 * (8 + 6) * 8192 + qkv + 10 * tokens * 28672);
  const Work head = head_work(model, split_of(2, 4096));
  CHECK(traffic_bytes(head, true) == tokens * (4.0 * 8192 + 5.0 * 128256));
  CHECK(traffic_bytes(head, false) == tokens * (8.0 * 8192 + 5.0 * 128256));
}

int calls(const Work& work, CollectiveKind kind, Pass pass) {
  int count = 0;
  for (const Collective& collective : work.collectives)
    if (collective.kind == kind) count += collective.times[static_cast<std::size_t>(pass)];
  return count;
}

TEST_CASE("model work: collectives of tensor parallelism") {
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  const Work shared = work_of(model, model.kinds[0], split_of(8, 4096));
  for (const Pass pass : {Pass::Forward, Pass::BackwardInput}) {
    CHECK(calls(shared, CollectiveKind::AllGather, pass) == 2);
    CHECK(calls(shared, CollectiveKind::ReduceScatter, pass) == 2);
  }
  CHECK(calls(shared, CollectiveKind::AllGather, Pass::BackwardWeight) == 2);
  CHECK(calls(shared, CollectiveKind::AllReduce, Pass::Forward) == 0);
  for (const Collective& collective : shared.collectives) CHECK(collective.bytes == 2.0 * 4096 * 8192);

  Split split = split_of(8, 4096);
  split.sequence_parallel = false;
  const Work whole = work_of(model, model.kinds[0], split);
  CHECK(calls(whole, CollectiveKind::AllReduce, Pass::Forward) == 2);
  CHECK(calls(whole, CollectiveKind::AllReduce, Pass::BackwardInput) == 2);
  CHECK(calls(whole, CollectiveKind::AllGather, Pass::BackwardWeight) == 0);
  CHECK(work_of(model, model.kinds[0], split_of(1, 4096)).collectives.empty());
}

TEST_CASE("model work: collectives of context parallelism") {
  const Model model = llama({1, 8192, 28672, 64, 8, 128256});
  Split split = split_of(1, 4096);
  split.context = 8;
  const Work heads = work_of(model, model.kinds[0], split);
  CHECK(calls(heads, CollectiveKind::AllToAll, Pass::Forward) == 2);
  CHECK(calls(heads, CollectiveKind::AllToAll, Pass::BackwardInput) == 2);
  split.context = 16;  // 8 key/value heads
  const Work queries = work_of(model, model.kinds[0], split);
  CHECK(calls(queries, CollectiveKind::AllGather, Pass::Forward) == 1);
  CHECK(queries.collectives[0].bytes == 2.0 * 4096 * 2 * 8 * 128);
}

TEST_CASE("model work: where there are fewer key/value heads than ranks, each rank has one of them") {
  const Model model = llama({1, 2048, 8192, 32, 4, 32000});
  const Work four = work_of(model, model.kinds[0], split_of(4, 4096));
  const Work eight = work_of(model, model.kinds[0], split_of(8, 4096));
  CHECK(four.attention[0].kv_heads == 1);
  CHECK(eight.attention[0].kv_heads == 1);
  CHECK(eight.attention[0].heads == 4);
  // What the cut weights make is gathered whole: 4096 tokens of 32 queries' and 2 x 4 keys' and values' heads of 64.
  const auto gathered = std::ranges::find(eight.collectives, "qkv", &Collective::what);
  REQUIRE(gathered != eight.collectives.end());
  CHECK(gathered->bytes == 2.0 * 4096 * (32 + 8) * 64);
  CHECK(std::ranges::find(four.collectives, "qkv", &Collective::what) == four.collectives.end());
  // Weights are cut as before: a half of what four ranks have.
  CHECK(2 * products(eight)[0].n == products(four)[0].n);
}

TEST_CASE("model work: products at an encoder's ends see tokens of their own") {
  const Model model = encoder();
  const Layer& layer = *model.find('P');
  const Work work = work_of(model, layer, split_of(1, 4096, 3));
  const std::vector<Product> found = products(work);
  REQUIRE(found.size() == 7);
  CHECK(found[0] == Product{"patches", 300, 48, 64, 1});  // 3 samples of the layer's 100
  CHECK(found[5] == Product{"projector", 75, 256, 512, 1});
  CHECK(found[6] == Product{"projector", 75, 512, 256, 1});
  // Tensor ranks share their tokens, not their weights.
  CHECK(products(work_of(model, layer, split_of(2, 4096, 3)))[5] == Product{"projector", 38, 256, 512, 1});
  Split whole = split_of(2, 4096, 3);
  whole.sequence_parallel = false;
  CHECK(products(work_of(model, layer, whole))[5] == Product{"projector", 75, 256, 512, 1});
  // The one activation between them, in the list of the model: 4 bytes an element there, 6 back.
  CHECK(work.traffic.back().forward == 4.0 * 75 * 512);
  CHECK(work.traffic.back().backward == 6.0 * 75 * 512);
}

}  // namespace
}  // namespace pipeloom::model::model_work_test
