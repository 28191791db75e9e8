// Models by name, and from files of three formats.

#include <set>
#include <string>

#include "sim/io/json/json_value.hpp"
#include "sim/io/models/find_model.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/io/models/types.hpp"
#include "sim/model/check.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/work.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::models_test {
namespace {

using Catch::Matchers::Contains;

/// 1e9 parameters, as model cards print them.
double billions(std::int64_t parameters) {
  return static_cast<double>(parameters) / 1e9;
}

TEST_CASE("models: presets have the published numbers of parameters") {
  struct Row {
    const char* name;
    double all, active, half_digit;
  };
  // Cards and papers named in each file; half a unit of the last digit printed there.
  for (const Row& row : {Row{"gpt3-175b", 174.6, 174.6, 0.05}, Row{"llama3-8b", 8.03, 8.03, 0.005},
                         Row{"llama3-70b", 70.6, 70.6, 0.05}, Row{"llama3-405b", 405.9, 405.9, 0.05},
                         Row{"mixtral-8x7b", 46.7, 12.9, 0.05}, Row{"qwen3-30b-a3b", 30.5, 3.3, 0.06},
                         Row{"qwen3-235b-a22b", 235, 22, 0.5}, Row{"nemotron-h-8b", 8.1, 8.1, 0.05},
                         Row{"nemotron-nano-v2-9b", 8.9, 8.9, 0.05}, Row{"zb-1.5b", 1.5, 1.5, 0.05},
                         Row{"zb-6.2b", 6.2, 6.2, 0.05}, Row{"zb-14.6b", 14.6, 14.6, 0.05},
                         Row{"zb-28.3b", 28.3, 28.3, 0.05}}) {
    const model::Model found = find_model(row.name, {});
    CHECK(found.name == row.name);
    CHECK_FALSE(found.source.empty());
    CHECK(billions(model::parameters_of(found)) == Approx(row.all).margin(row.half_digit));
    CHECK(billions(model::active_parameters_of(found)) == Approx(row.active).margin(row.half_digit));
  }
  // GPT-3: 96 layers of 12 h^2 + 13 h, V + 2048 rows of h, a norm of 2 h.
  const std::int64_t h = 12288;
  CHECK(model::parameters_of(find_model("gpt3-175b", {})) ==
        96 * (12 * h * h + 13 * h) + (51200 + 2048) * h + 2 * h);
  // Exact totals of the published checkpoints.
  CHECK(model::parameters_of(find_model("llama3-8b", {})) == 8'030'261'248);
  CHECK(model::parameters_of(find_model("llama3-70b", {})) == 70'553'706'496);
  CHECK(model::parameters_of(find_model("mixtral-8x7b", {})) == 46'702'792'704);
  CHECK(model::parameters_of(find_model("qwen3-30b-a3b", {})) == 30'532'122'624);
}

TEST_CASE("models: presets of 2025 and 2026 have their checkpoints' numbers of parameters") {
  struct Row {
    const char* name;
    double all, half_digit;
  };
  // Cards' 10^9, half a unit of the last digit that they print; what a card counts besides is added below.
  for (const Row& row :
       {Row{"gpt-oss-20b", 20.91, 0.005}, Row{"gpt-oss-120b", 116.83, 0.005},
        Row{"qwen3-next-80b-a3b", 80, 0.5}, Row{"qwen3.5-35b-a3b", 35, 0.5}, Row{"glm-5", 744, 0.5},
        Row{"deepseek-v4-flash", 284, 0.5}, Row{"kimi-k2", 1026, 0.5}, Row{"minimax-m2", 229, 0.5},
        Row{"gemma3-27b", 27, 0.5}, Row{"olmo3-32b", 32, 0.5}, Row{"seed-oss-36b", 36, 0.5},
        Row{"ernie-4.5-300b-a47b", 299.5, 0.5}, Row{"hunyuan-a13b", 80, 0.5},
        Row{"nemotron-3-nano-30b-a3b", 31.6, 0.05}, Row{"llama4-maverick", 400.7, 0.05},
        Row{"llama4-scout", 107.8, 0.05}, Row{"deepseek-v3.2", 671.9, 0.05}}) {
    INFO(row.name);
    CHECK(billions(model::parameters_of(find_model(row.name, {}))) == Approx(row.all).margin(row.half_digit));
  }
  // The checkpoints' 358 and 110 10^9 hold embedding and head of the MTP layer a second time.
  const auto with_copies = [](const char* name) {
    const model::Model found = find_model(name, {});
    return billions(model::parameters_of(found) + 2 * found.vocabulary * found.hidden);
  };
  CHECK(with_copies("glm-4.5") == Approx(358).margin(0.5));
  CHECK(with_copies("glm-4.5-air") == Approx(110).margin(0.5));
  // Active ones pass the embedding's table whole, as everywhere here.
  CHECK(billions(model::active_parameters_of(find_model("gpt-oss-120b", {})) - 201088 * std::int64_t{2880}) ==
        Approx(5.13).margin(0.005));
  CHECK(billions(model::active_parameters_of(find_model("llama4-maverick", {}))) == Approx(17).margin(0.5));
}

TEST_CASE("models: DeepSeek-V3 with and without its MTP layer") {
  const model::Model found = find_model("deepseek-v3", {});
  const std::int64_t mtp = model::mtp_parameters(found).all();
  model::Model without = found;
  without.mtp = 0;
  // Attention's five matrices and two norms, and two norms of h; 3 dense layers; 58 with a router, its bias and 256 + 1 experts.
  const std::int64_t h = 7168;
  const std::int64_t attention = h * 1536 + 1536 * 128 * (128 + 64) + h * (512 + 64) +
                                 512 * 128 * (128 + 128) + 128 * 128 * h + 1536 + 512 + 2 * h;
  const std::int64_t routed = h * 256 + 256 + 257 * 3 * h * 2048;
  CHECK(model::parameters_of(without) ==
        61 * attention + 3 * 3 * h * 18432 + 58 * routed + 2 * 129280 * h + h);
  CHECK(model::active_parameters_of(without) ==
        model::parameters_of(without) - 58 * (256 - 8) * 3 * h * 2048);
  CHECK(billions(model::parameters_of(found) - mtp) == Approx(671).margin(0.5));
  CHECK(billions(model::active_parameters_of(found)) == Approx(37).margin(1));
  // The checkpoint's 685 10^9 hold embedding and head a second time.
  CHECK(billions(model::parameters_of(found) + 2 * 129280 * std::int64_t{7168}) ==
        Approx(684.5).margin(0.05));
}

TEST_CASE("models: names in any case, aliases, and names of nothing") {
  CHECK(find_model("LLaMA3-8B", {}).name == "llama3-8b");
  CHECK(find_model("qwen3-235b", {}).name == "qwen3-235b-a22b");
  CHECK_THROWS_WITH(
      find_model("lama3-8b", {"MODEL", 0, 0}),
      Contains("'lama3-8b' is no model and no file; did you mean 'llama3-8b'?") && Contains("zb-28.3b"));
  CHECK(model_names().size() == 33);
  for (const std::string& name : model_names()) model::check(find_model(name, {}));
}

model::Model parsed(const std::string& text) {
  return parse_model(text, "model.json");
}

TEST_CASE("models: a profile alone is a model") {
  const model::Model unit =
      parsed(R"({"layers": "EMM-L", "ticks": {"E": [1, 2, 0], "M": [3, 4, 5], "-": [6, 7, 8], "L": [9, 9, 9]},
                 "time_unit": "unit"})");
  CHECK(unit.layers == "MM-");
  CHECK_FALSE(model::has_sizes(unit));
  CHECK(unit.profile->unit == TimeUnit::Unit);
  CHECK(unit.profile->ticks.at('M')[2] == 5 * ticks_per(TimeUnit::Unit));
  const model::Model ms = parsed(R"({"layers": "M", "ticks": {"M": [2.68, "4.3ms", 1.76]}})");
  CHECK(ms.profile->ticks.at('M')[0] == 2'680'000'000);
  CHECK(ms.profile->ticks.at('M')[1] == 4'300'000'000);
  CHECK_THROWS_WITH(parsed(R"({"layers": "MX", "ticks": {"M": [1, 1, 1]}})"),
                    Contains("letter 'X' has no kind"));
  CHECK_THROWS_WITH(parsed(R"({"layers": "M", "ticks": {"M": [1, 1]}})"), Contains("three times"));
  CHECK_THROWS_WITH(parsed(R"({"layers": "M", "ticks": {"M": [1, 1, -1]}})"), Contains("0 or more"));
}

TEST_CASE("models: the measured profile of Nemotron nano v2") {
  const model::Model found =
      find_model(PIPELOOM_SOURCE_DIR "/configs/models/profiles/nemotron-nano-v2-9b.json", {});
  CHECK(found.layers == find_model("nemotron-nano-v2-9b", {}).layers);
  Ticks work = 0;
  for (const char letter : "E" + found.layers + "L")
    for (const Ticks ticks : found.profile->ticks.at(letter)) work += ticks;
  CHECK(work == 42597 * Ticks{10'000'000});  // 42,597 steps of 0.01 ms per microbatch, as its source counts
}

TEST_CASE("models: what our files may not say") {
  const std::string kinds = R"("kinds": {"T": {"mlp": {"ffn": 8}}}, "hidden": 4, "vocabulary": 16)";
  CHECK(parsed("{\"layers\": {\"T\": 3}, " + kinds + "}").layers == "TTT");
  CHECK_THROWS_WITH(parsed("{" + kinds + "}"), Contains("layers is missing"));
  CHECK_THROWS_WITH(parsed("{\"layers\": 3, " + kinds + "}"), Contains("a string with a letter per layer"));
  CHECK_THROWS_WITH(parsed("{\"layers\": {\"T\": 2000000}, " + kinds + "}"), Contains("at most 1048576"));
  CHECK_THROWS_WITH(parsed("{\"layers\": \"T\", \"hiden\": 4, " + kinds + "}"),
                    Contains("did you mean 'hidden'?"));
  CHECK_THROWS_WITH(parsed(R"({"layers": "T", "kinds": {"T": {"mlp": {"ffn": 1.5}}}})"),
                    Contains("kinds.T.mlp.ffn is 1.5; it must be a whole number"));
  CHECK_THROWS_WITH(parsed(R"({"layers": "T", "kinds": {"T": {"mlp": {}}}})"),
                    Contains("kinds.T.mlp.ffn is missing"));
  CHECK_THROWS_WITH(parsed(R"({"layers": "L", "kinds": {"L": {"mlp": {"ffn": 8}}}})"),
                    Contains("the embedding's and the head's"));
  CHECK_THROWS_AS(parsed("{\"layers\": \"T\", "), InputError);
  CHECK_THROWS_WITH(parsed("[]"), Contains("it must be an object"));
  CHECK_THROWS_AS(parsed(""), InputError);
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parsed(text));
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

TEST_CASE("models: every key of our files") {
  const model::Model found = parsed(R"({
    "name": "all", "source": "here", "hidden": 64, "vocabulary": 100, "tied": true, "head_bias": true, "norm": "layer",
    "final_norm": false, "dropout": true, "positions": 32, "sequence": 16, "mtp": 2, "mtp_letter": "B", "layers": "EABCDVL",
    "time_unit": "us", "ticks": {"A": [1, 2, 3], "B": [1, 1, 1], "C": [1, 1, 1], "D": [1, 1, 1], "V": [0, 0, 0], "L": [5, "6ms", 7]},
    "kinds": {
      "A": {"name": "a", "attention": {"heads": 8, "kv_heads": 2, "head_dim": 4, "qkv_bias": true, "output_bias": true,
                                       "head_norms": true, "causal": false, "window": 7},
            "mlp": {"ffn": 24, "gated": true, "bias": true}},
      "B": {"latent_attention": {"heads": 3, "q_rank": 5, "kv_rank": 6, "nope_dim": 7, "rope_dim": 8, "v_dim": 9}},
      "C": {"mamba": {"heads": 3, "head_dim": 4, "groups": 5, "state": 6, "conv": 7}},
      "D": {"experts": {"experts": 6, "top_k": 2, "ffn": 3, "shared_ffn": 4, "gated": false, "shared_gate": true,
                        "router_bias": true}},
      "V": {"mlp": {"ffn": 2}, "hidden": 10, "tokens": 11}}})");
  CHECK((found.name == "all" && found.source == "here" && found.layers == "ABCDV"));
  CHECK((found.hidden == 64 && found.vocabulary == 100 && found.positions == 32 && found.sequence == 16));
  CHECK((found.tied && found.head_bias && !found.final_norm && found.dropout));
  CHECK((found.norm == model::NormKind::Layer && found.mtp == 2 && found.mtp_letter == 'B'));
  const model::Attention& attention = *found.kinds[0].attention;
  CHECK(
      (attention.heads == 8 && attention.kv_heads == 2 && attention.head_dim == 4 && attention.window == 7));
  CHECK((attention.qkv_bias && attention.output_bias && attention.head_norms && !attention.causal));
  CHECK((found.kinds[0].name == "a" && found.kinds[0].mlp->ffn == 24));
  CHECK((found.kinds[0].mlp->gated && found.kinds[0].mlp->bias));
  const model::LatentAttention& latent = *found.kinds[1].latent_attention;
  CHECK((latent.heads == 3 && latent.q_rank == 5 && latent.kv_rank == 6));
  CHECK((latent.nope_dim == 7 && latent.rope_dim == 8 && latent.v_dim == 9));
  const model::Mamba& mamba = *found.kinds[2].mamba;
  CHECK(
      (mamba.heads == 3 && mamba.head_dim == 4 && mamba.groups == 5 && mamba.state == 6 && mamba.conv == 7));
  const model::Experts& experts = *found.kinds[3].experts;
  CHECK((experts.experts == 6 && experts.top_k == 2 && experts.ffn == 3 && experts.shared_ffn == 4));
  CHECK((!experts.gated && experts.shared_gate && experts.router_bias));
  CHECK((found.kinds[4].hidden == 10 && found.kinds[4].tokens == 11));
  CHECK(found.profile->unit == TimeUnit::Microsecond);
  CHECK(found.profile->ticks.at('A')[1] == 2'000'000);
  CHECK(found.profile->ticks.at('L')[1] == 6'000'000'000);
}

TEST_CASE("models: every key of the parts that Llama lacks") {
  const model::Model found =
      parsed(R"({"hidden": 64, "vocabulary": 100, "norm": "centered", "layers": "ABCD", "kinds": {
      "A": {"attention": {"heads": 8, "head_dim": 4, "gated": true, "head_gates": true, "sinks": true, "wide_norms": true,
                          "values": false, "chunked": true, "window": 9, "own_keys": false},
            "mamba": {"heads": 4, "head_dim": 4, "groups": 1, "state": 2, "in_bias": true, "out_bias": true,
                      "conv_bias": false, "gated_norm": false}, "norms": "shared"},
      "B": {"latent_attention": {"heads": 3, "kv_rank": 6, "nope_dim": 7, "rope_dim": 8, "v_dim": 9, "bias": true,
                                 "window": 5, "indexer": {"heads": 2, "head_dim": 3, "top_k": 4}}, "norms": "around"},
      "C": {"linear": {"rule": "mamba1", "heads": 2, "head_dim": 3, "key_heads": 4, "key_dim": 5, "conv": 6, "rank": 7,
                       "bias": true, "conv_bias": true, "norms": true}, "norms": "after"},
      "D": {"experts": {"experts": 6, "top_k": 2, "ffn": 3, "bias": true, "shared_bias": true}, "norm": "bare"}}})");
  CHECK(found.norm == model::NormKind::Centered);
  const model::Attention& a = *found.kinds[0].attention;
  CHECK((a.gated && a.head_gates && a.sinks && a.wide_norms && !a.values && a.chunked && !a.own_keys));
  const model::Mamba& mamba = *found.kinds[0].mamba;
  CHECK((mamba.in_bias && mamba.out_bias && !mamba.conv_bias && !mamba.gated_norm));
  CHECK(found.kinds[0].place == model::NormPlace::Shared);
  const model::LatentAttention& latent = *found.kinds[1].latent_attention;
  CHECK((latent.bias && latent.window == 5 && found.kinds[1].place == model::NormPlace::Around));
  CHECK((latent.indexer->heads == 2 && latent.indexer->head_dim == 3 && latent.indexer->top_k == 4));
  const model::Linear& linear = *found.kinds[2].linear;
  CHECK((linear.rule == model::LinearRule::Mamba1 && linear.heads == 2 && linear.head_dim == 3));
  CHECK((linear.key_heads == 4 && linear.key_dim == 5 && linear.conv == 6 && linear.rank == 7));
  CHECK((linear.bias && linear.conv_bias && linear.norms));
  CHECK(found.kinds[2].place == model::NormPlace::After);
  CHECK((found.kinds[3].experts->bias && found.kinds[3].experts->shared_bias));
  CHECK(found.kinds[3].norm == model::NormKind::Bare);
  CHECK_THROWS_WITH(
      parsed(
          R"({"hidden": 4, "vocabulary": 8, "layers": "T", "kinds": {"T": {"linear": {"rule": "mamba3"}}}})"),
      Contains("kinds.T.linear.rule is the string 'mamba3'; it must be one of gated_delta, kimi_delta"));
}

TEST_CASE("models: keys of parts that only newer models have") {
  const model::Model found = parsed(R"({"hidden": 64, "vocabulary": 100, "layers": "AB", "head_product": true,
    "head_product_bias": true, "kinds": {
      "A": {"latent_attention": {"heads": 3, "q_rank": 5, "kv_rank": 6, "nope_dim": 7, "rope_dim": 8, "v_dim": 9, "sinks": true,
                                 "gated": true, "head_gates": true, "joint_gate": true},
            "beside": [{"inputs": 256, "outputs": 8}]},
      "B": {"attention": {"heads": 8, "head_dim": 4, "v_dim": 5},
            "experts": {"experts": 6, "top_k": 2, "ffn": 3, "zero": 4}, "then": {"mlp": {"ffn": 7}}}}})");
  CHECK((found.head_product && found.head_product_bias));
  const model::LatentAttention& latent = *found.kinds[0].latent_attention;
  CHECK((latent.sinks && latent.gated && latent.head_gates && latent.joint_gate));
  CHECK((found.kinds[0].beside.at(0).inputs == 256 && found.kinds[0].beside.at(0).outputs == 8));
  CHECK((found.kinds[1].attention->v_dim == 5 && found.kinds[1].experts->zero == 4));
  CHECK(found.kinds[1].then.at(0).mlp->ffn == 7);
}

TEST_CASE("models: all rows of the table of types are rules, and say their classes once") {
  std::set<std::string> names;
  for (const std::string& type : models::TypeRow::names()) {
    INFO(type);
    CHECK(names.insert(type).second);
    const auto row = models::TypeRow::named(type);
    REQUIRE(row.has_value());
    // A file that says the type alone is refused for what it lacks, at its own place.
    const std::string error = error_of(R"({"model_type": ")" + type + R"("})");
    CHECK(error.starts_with("model.json:1:1: error: "));
    if (const Value* encoders = row->find({"encoders"}))
      for (const Value& name : encoders->items())
        CHECK(models::TypeRow::encoder(name.text()).find({"encoder", "hidden"}) != nullptr);
  }
  CHECK(names.size() == 234);
  CHECK(models::TypeRow::of_class("Qwen3NextForCausalLM")->name() == "qwen3_next");
}

TEST_CASE("models: a layer's side input, and the tables of all of them") {
  // Gemma 4: a layer of 64, heads of 16, and sides of 8; tables of 50 rows for each of the 2 layers, and the product that makes them.
  const std::string text =
      R"({"model_type": "gemma4_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "global_head_dim": 32, "vocab_size": 100,
    "layer_types": ["sliding_attention", "full_attention"], "hidden_size_per_layer_input": 8,
    "vocab_size_per_layer_input": 50)";
  const model::Model found = parsed(text + "}");
  const std::int64_t h = 64;
  const std::int64_t rest =
      3 * h * 96 + 4 * h + 2 * h * 8 + h;  // gated, norms around both parts, gate and side, its norm
  CHECK(model::parameters_of(found, found.kinds[0]).all() == h * 8 * 16 + 4 * 16 * h + 2 * 16 + rest);
  CHECK(model::parameters_of(found, found.kinds[1]).all() == h * 8 * 32 + 4 * 32 * h + 2 * 32 + rest);
  CHECK(found.tables == (50 + h) * 2 * 8 + 8);
  CHECK(model::embedding_parameters(found) == 100 * h + found.tables);
  const model::Model alone = parsed(text + R"(, "attention_k_eq_v": true, "num_global_key_value_heads": 1})");
  CHECK(model::parameters_of(alone, alone.kinds[1]).all() == h * (4 + 1) * 32 + 4 * 32 * h + 2 * 32 + rest);
  CHECK_THROWS_WITH(parsed(text + R"(, "num_kv_shared_layers": 1})"),
                    Contains("num_kv_shared_layers is 1; models of type"));
}

TEST_CASE("models: times of layers that are not there, and layers without times") {
  const std::string sizes =
      R"("kinds": {"T": {"mlp": {"ffn": 8}}}, "hidden": 4, "vocabulary": 16, "layers": "T")";
  CHECK(error_of("{" + sizes + ",\n \"ticks\": {\"T\": [1, 1, 1], \"X\": [1, 1, 1]}}") ==
        "model.json:2:28: error: 'X' has times but is no letter of kinds; name the kind or drop its times");
  CHECK_THROWS_WITH(parsed("{" + sizes + R"(, "ticks": {"L": [1, 1, 1]}})"),
                    Contains("layer letter 'T' has no times"));
  CHECK_THROWS_WITH(parsed(R"({"layers": "T", "ticks": {"T": [1, 1, 1]}, "mtp": 2000000000})"),
                    Contains("mtp of the model is 2000000000; it must be a whole number from 0 to 4096"));
}

TEST_CASE("models: errors have their place, on one line") {
  CHECK(error_of("{\"layers\": \"T\",\n  \"hidden\": \"4\"}") ==
        "model.json:2:13: error: hidden is the string '4'; it must be a whole number from 0 to "
        "9007199254740992");
  CHECK(error_of("{\"layers\": \"T\",\n \"layers\": \"T\"}") ==
        "model.json:2:2: error: the key 'layers' appears twice; keep one of them");
  CHECK(error_of("{\"model_type\": \"llama\", \"hidden_size\": [[8]]}") ==
        "model.json:1:40: error: hidden_size is an array of 1; it must be a whole number from 0 to "
        "9007199254740992");
  CHECK(error_of("--hidden-size 8 \\\n  --vocab-size many") ==
        "model.json:2:16: error: --vocab-size is 'many'; it must be a whole number from 0 to 1099511627776");
}

/// A model of one layer with this part, for sizes that no model has.
std::string one_layer(const std::string& part, const std::string& more = "") {
  return R"({"hidden": 1, "vocabulary": 8, "layers": "T", "kinds": {"T": {)" + part + "}}" + more + "}";
}

TEST_CASE("models: hostile sizes are refused, and overflow nowhere") {
  const std::string rows[] = {
      one_layer(R"("attention": {"heads": 0, "head_dim": 8})"),
      one_layer(R"("attention": {"heads": 8, "kv_heads": 0, "head_dim": 8})"),
      one_layer(R"("attention": {"heads": 1e400, "head_dim": 8})"),
      one_layer(R"("attention": {"heads": -1, "head_dim": 8})"),
      one_layer(R"("mlp": {"ffn": 1152921504606846976})"),
      one_layer(R"("mlp": [])"),
      one_layer(R"("mlp": {"ffn": [[[[8]]]]})"),
      one_layer(R"("mlp": {"ffn": 8}, "experts": {"experts": 2, "top_k": 1, "ffn": 8})"),
      one_layer(R"("experts": {"experts": 2, "top_k": 3, "ffn": 8})"),
      one_layer(""),
      // D x conv is 2^72 weights of a convolution, however narrow the model.
      one_layer(
          R"("mamba": {"heads": 16777216, "head_dim": 16777216, "groups": 1, "state": 1, "conv": 16777216})"),
      // 4096 layers of 3 x 2^50 parameters behind the only one.
      R"({"hidden": 1048576, "vocabulary": 8, "layers": "T", "mtp": 4096,
          "kinds": {"T": {"experts": {"experts": 65536, "top_k": 1, "ffn": 16384}}}})",
      R"({"layers": {"T": 1152921504606846976}, "hidden": 1, "vocabulary": 8, "kinds": {"T": {"mlp": {"ffn": 8}}}})",
      R"({"layers": "T?", "hidden": 1, "vocabulary": 8, "kinds": {"T": {"mlp": {"ffn": 8}}}})",
      R"({"layers": "T", "hidden": 1, "vocabulary": 8, "kinds": {"TT": {"mlp": {"ffn": 8}}}})",
      R"({"layers": "T", "ticks": {"T": [9e99, 1, 1]}})",
      R"({"layers": [["T"]]})",
      R"({"model_type": ["llama"]})",
      R"({"architectures": ["LlamaForCausalLM"]})",
      R"({"model_type": "gpt2", "n_embd": 8, "n_layer": 1152921504606846976, "n_head": 1, "n_positions": 1, "vocab_size": 8})",
      R"({"model_type": "llama", "hidden_size": 8, "vocab_size": 8, "num_hidden_layers": 2, "num_attention_heads": 0,
          "intermediate_size": 8})",
      std::string(100000, '['),
      std::string("\0\x01\xff", 3),
      "layers: T",
      "--hidden-size",
      "--hidden-size 8 --vocab-size 8 --make-vocab-size-divisible-by 1099511627776 "
      "--tensor-model-parallel-size 1099511627776",
  };
  for (const std::string& row : rows) {
    const std::string error = error_of(row);
    INFO(row.substr(0, 200));
    CHECK(error.starts_with("model.json"));
    CHECK(error.find(": error: ") != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
    CHECK(error.size() < 500);
  }
}

TEST_CASE("models: a preset cut anywhere is one clear line") {
  const auto& preset = model_presets().front();
  for (std::size_t end = 1; end + 2 < preset.json.size(); end += 7) {
    const std::string error = error_of(std::string(preset.json.substr(0, end)));
    INFO(end);
    CHECK(error.starts_with("model.json:"));
    CHECK(error.find('\n') == std::string::npos);
  }
  CHECK(parsed("\xEF\xBB\xBF" + std::string(preset.json)).name == preset.name);  // a mark of UTF-8 in front
}

void same_sizes(const model::Model& found, const std::string& preset) {
  const model::Model wanted = find_model(preset, {});
  CHECK(model::parameters_of(found) == model::parameters_of(wanted));
  CHECK(model::active_parameters_of(found) == model::active_parameters_of(wanted));
  CHECK(model::flops_per_token(found, 4096) == model::flops_per_token(wanted, 4096));
}

TEST_CASE("models: Hugging Face's files are the presets' models") {
  same_sizes(
      parsed(
          R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": false,
    "max_position_embeddings": 131072, "rope_scaling": null, "torch_dtype": "bfloat16"})"),
      "llama3-8b");
  same_sizes(
      parsed(
          R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2,
    "sliding_window": null})"),
      "mixtral-8x7b");
  same_sizes(
      parsed(R"({"model_type": "qwen3_moe", "hidden_size": 2048, "head_dim": 128, "num_attention_heads": 32,
    "num_hidden_layers": 48, "num_key_value_heads": 4, "vocab_size": 151936, "num_experts": 128, "num_experts_per_tok": 8,
    "moe_intermediate_size": 768, "intermediate_size": 6144, "decoder_sparse_step": 1, "mlp_only_layers": []})"),
      "qwen3-30b-a3b");
  const model::Model deepseek = parsed(
      R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "num_attention_heads": 128,
    "num_hidden_layers": 61, "vocab_size": 129280, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048, "first_k_dense_replace": 3, "num_nextn_predict_layers": 1, "topk_method": "noaux_tc"})");
  same_sizes(deepseek, "deepseek-v3");
  CHECK(
      deepseek.warnings.at(0).find("training holds 14848 biases of routers, which the class keeps beside its "
                                   "parameters; they are counted") != std::string::npos);
  same_sizes(
      parsed(
          R"({"model_type": "nemotron_h", "hidden_size": 4480, "intermediate_size": 15680, "num_attention_heads": 40,
    "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 131072, "mamba_num_heads": 128, "mamba_head_dim": 80, "n_groups": 8,
    "ssm_state_size": 128, "conv_kernel": 4, "num_hidden_layers": 56,
    "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"})"),
      "nemotron-nano-v2-9b");
}

TEST_CASE("models: Hugging Face's Qwen 2.5 7B, Qwen 3 8B and GPT-2") {
  // Totals of the published checkpoints.
  CHECK(
      model::parameters_of(parsed(R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
    "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 152064,
    "use_sliding_window": false, "sliding_window": 131072})")) == 7'615'616'512);
  CHECK(model::parameters_of(parsed(
            R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128,
    "num_attention_heads": 32, "num_hidden_layers": 36, "num_key_value_heads": 8, "vocab_size": 151936})")) ==
        8'190'735'360);
  CHECK(model::parameters_of(
            parsed(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
    "vocab_size": 50257})")) == 124'439'808);
}

TEST_CASE("models: Hugging Face's Falcon 7B and 40B, MPT 7B and DBRX") {
  const auto falcon = [](const std::string& more) {
    return parsed(R"({"model_type": "falcon", "vocab_size": 65024, )" + more + "}");
  };
  // One key/value head, one norm of two vectors for both parts that run side by side: h (73 d + h) + 8 h^2 + 2 h.
  const model::Model small = falcon(
      R"("hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32, "multi_query": true)");
  CHECK(model::parameters_of(small) == 6'921'720'704);
  CHECK(small.kinds[0].place == model::NormPlace::Shared);
  // Eight of them and a norm for each part: 41.3e9, as published.
  const std::int64_t h = 8192;
  const model::Model large = falcon(
      R"("hidden_size": 8192, "num_attention_heads": 128, "num_kv_heads": 8, "num_hidden_layers": 60,
         "new_decoder_architecture": true)");
  CHECK(model::parameters_of(large) ==
        60 * (h * (128 + 16) * 64 + h * h + 8 * h * h + 4 * h) + 65024 * h + 2 * h);
  CHECK(large.kinds[0].place == model::NormPlace::Before);
  CHECK(falcon(R"("hidden_size": 8192, "num_attention_heads": 128, "num_kv_heads": 8, "num_hidden_layers": 60,
         "new_decoder_architecture": true, "num_ln_in_parallel_attn": 1)")
            .kinds[0]
            .place == model::NormPlace::Shared);
  CHECK(
      falcon(R"("hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 24, "multi_query": false,
         "parallel_attn": false, "bias": true)")
          .kinds[0]
          .attention->kv_heads == 32);
  // Norms without biases: 32 (12 h^2 + 2 h) + 50432 h + h.
  CHECK(model::parameters_of(parsed(R"({"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
      "vocab_size": 50432})")) == 6'649'286'656);
  const model::Model dbrx = parsed(R"({"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40,
      "vocab_size": 100352, "attn_config": {"kv_n_heads": 8}, "ffn_config": {"ffn_hidden_size": 10752,
      "moe_num_experts": 16, "moe_top_k": 4}})");
  CHECK(model::parameters_of(dbrx) == 131'596'523'520);  // the published checkpoint
}

TEST_CASE("models: Hugging Face's CWM, XGLM, Lara Mini and Beam") {
  // Defaults of the classes, as counted_5.24.jsonl has them.
  const std::string sizes = R"("hidden_size": 6144, "vocab_size": 128256, "num_hidden_layers": 64,
      "num_attention_heads": 48)";
  const model::Model cwm = parsed(R"({"model_type": "cwm", )" + sizes + "}");
  CHECK(model::parameters_of(cwm) == 32'581'097'472);
  CHECK(cwm.layers.substr(0, 5) == "TSSST");
  CHECK(model::parameters_of(
            parsed(R"({"model_type": "xglm", "d_model": 1024, "vocab_size": 256008, "num_layers": 24,
      "attention_heads": 16})")) == 564'463'616);
  CHECK_THROWS_WITH(
      parsed(
          R"({"model_type": "xglm", "d_model": 1024, "vocab_size": 9, "num_layers": 1, "attention_heads": 3})"),
      Contains("d_model is 1024; it must be 1023"));
  std::string order;
  for (int i = 0; i < 6; ++i)
    order +=
        R"("linear_attention", "sliding_attention", "linear_attention", "full_attention", "sliding_attention", )";
  CHECK(model::parameters_of(parsed(R"({"model_type": "lara_mini", "hidden_size": 1024, "vocab_size": 151936,
      "num_hidden_layers": 34, "num_attention_heads": 16, "layer_types": [)" +
                                    order + R"("linear_attention", "sliding_attention", "linear_attention",
      "full_attention"]})")) == 7'281'684'672);
  // A gate as wide as the output with a bias for each head, norms around both parts, the last layer without a window.
  const model::Model beam = parsed(R"({"model_type": "beam", "hidden_size": 64, "vocab_size": 1000,
      "num_hidden_layers": 5, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 96,
      "attention_bias": true, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16})");
  CHECK(beam.layers == "DDDTS");
  const std::int64_t h = 64;
  CHECK(model::parameters_of(beam, *beam.find('D')).all() ==
        h * (4 + 2 * 2 + 4) * 8 + 4 * 8 * h + (4 + 2 * 2) * 8 + h + 4 + 2 * 8 + 3 * h * 96 + 4 * h);
}

TEST_CASE("models: biases that a key gives to some products of a type and not to others") {
  const auto more_by = [](const std::string& text, const std::string& key) {
    return model::parameters_of(parsed(text + ", \"" + key + "\": true}")) -
           model::parameters_of(parsed(text + "}"));
  };
  const std::string sizes =
      R"("hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 3, "num_attention_heads": 4,
      "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 96, "moe_intermediate_size": 16)";
  // Not to AFMoE's gate.
  CHECK(more_by(R"({"model_type": "afmoe", )" + sizes, "attention_bias") == 3 * ((4 + 2 * 2) * 8 + 64));
  // To Hunyuan 3's dense layer and shared experts, not to the routed ones.
  CHECK(more_by(R"({"model_type": "hy_v3", )" + sizes, "mlp_bias") == 2 * 96 + 64 + 2 * (2 * 16 + 64));
  // Its class knows the keys and gives no product a bias by them.
  const std::string nemotron =
      R"({"model_type": "nemotron_h", "hidden_size": 64, "vocab_size": 100, "layers_block_type": ["mamba", "attention"])";
  CHECK(more_by(nemotron, "attention_bias") == 0);
  CHECK(more_by(nemotron, "mamba_proj_bias") == 0);
}

TEST_CASE("models: GPT-Neo's windows are those of attention_layers, and lists of types alone are refused") {
  const std::string neo = R"({"model_type": "gpt_neo", "hidden_size": 64, "num_heads": 4, "num_layers": 4,
      "vocab_size": 100)";
  CHECK(parsed(neo + "}").layers == "TSTS");
  CHECK(parsed(neo + R"(, "attention_layers": ["local", "local", "global", "local"]})").layers == "TTST");
  CHECK(parsed(neo + "}").kinds[1].attention->window == 256);
  CHECK_THROWS_WITH(parsed(neo + R"(, "attention_types": [[["global"], 4]]})"),
                    Contains("attention_types is"));
}

TEST_CASE("models: a class's name alone says the type") {
  const model::Model found = parsed(
      R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192, "vocab_size": 128256,
    "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 16, "head_dim": 64, "tie_word_embeddings": true})");
  CHECK(model::parameters_of(found) == 1'235'814'400);  // Llama 3.2 1B
  const std::string kimi =
      R"({"architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "hidden_size": 7168,
    "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "first_k_dense_replace": 1,
    "n_routed_experts": 384, "num_experts_per_tok": 8, "num_attention_heads": 64, "vocab_size": 163840,
    "topk_method": "noaux_tc", "num_nextn_predict_layers": 0})";
  CHECK(model::parameters_of(parsed(kimi)) == 1'026'408'232'448);  // Kimi K2
}

TEST_CASE("models: keys that a class does not know, and those that it knows and are not known here") {
  const std::string qwen3 =
      R"({"model_type": "qwen3", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000)";
  // The class's heads are of 128: 4 layers of h (8 + 2 x 2) 128 + 8 x 128 h + 2 x 128 + 3 h 96 + 2 h.
  const std::int64_t h = 64;
  const std::int64_t right =
      4 * (h * 12 * 128 + 8 * 128 * h + 2 * 128 + 3 * h * 96 + 2 * h) + 2 * 1000 * h + h;
  CHECK(model::parameters_of(parsed(qwen3 + "}")) == right);
  const model::Model more = parsed(qwen3 + R"(, "mlp_bias": true, "rope_theta": 5})");
  CHECK(model::parameters_of(more) == right);
  CHECK(more.warnings ==
        std::vector<std::string>{
            "model.json: the class of 'qwen3' does not know these keys, so they change nothing: mlp_bias"});
  CHECK_THROWS_WITH(
      parsed(
          R"({"model_type": "nemotron_h", "hidden_size": 64, "vocab_size": 1000, "layers_block_type": ["mlp"], "moe_latent_size": 16})"),
      Contains("moe_latent_size is 16; models of type 'nemotron_h' are read with null alone"));
  CHECK_THROWS_WITH(
      parsed(R"({"model_type": "mistral5"})"),
      Contains("unknown model_type 'mistral5'; docs/models.md lists"));  // no hint of another version
}

TEST_CASE("models: what Hugging Face's files may not say") {
  CHECK_THROWS_WITH(parsed(R"({"model_type": "lama"})"), Contains("did you mean 'llama'?"));
  CHECK_THROWS_WITH(parsed(R"({"model_type": "llama", "hidden_size": "big"})"),
                    Contains("hidden_size is the string 'big'"));
  CHECK_THROWS_WITH(parsed(R"({"model_type": "llama", "hidden_size": 8, "vocab_size": 8})"),
                    Contains("num_hidden_layers is missing"));
  CHECK_THROWS_WITH(
      parsed(R"({"model_type": "nemotron_h", "hidden_size": 8, "vocab_size": 8, "num_hidden_layers": 3,
    "hybrid_override_pattern": "M-"})"),
      Contains("num_hidden_layers is 3; it must be 2"));
  CHECK_THROWS_AS(
      parsed(
          R"({"model_type": "gpt2", "n_embd": 9007199254740992, "n_layer": 1, "n_head": 0, "n_positions": 1,
    "vocab_size": 8})"),
      InputError);
}

TEST_CASE("models: Megatron's arguments are the presets' models") {
  same_sizes(
      find_model(
          "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
          "--group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm "
          "--disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 128256 "
          "--position-embedding-type rope --seq-length 8192 --hidden-dropout 0 --attention-dropout=0.0 "
          "--lr 3e-4 --bf16",
          {}),
      "llama3-8b");
  same_sizes(
      parsed(
          "# GPT-3\n--num-layers 96 \\\n--hidden-size 12288 \\\n--num-attention-heads 96 --vocab-size 50257 "
          "--make-vocab-size-divisible-by 128 --tensor-model-parallel-size 8 --seq-length 2048 "
          "--max-position-embeddings 2048\n"),
      "gpt3-175b");
  model::Model deepseek = parsed(
      "--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --swiglu "
      "--normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --vocab-size "
      "129280 "
      "--position-embedding-type rope --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 "
      "--qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --num-experts 256 --moe-router-topk 8 "
      "--moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048 --moe-router-enable-expert-bias "
      "--moe-layer-freq ([0]*3+[1]*58) --mtp-num-layers 1");
  same_sizes(deepseek, "deepseek-v3");
}

/// What Llama-like models have in common.
const std::string kLlamaLike =
    "--swiglu --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights "
    "--position-embedding-type rope --group-query-attention --num-query-groups 8 ";

TEST_CASE("models: Megatron's Mixtral and hybrid patterns") {
  same_sizes(parsed(kLlamaLike +
                    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
                    "--vocab-size 32000 --num-experts 8 --moe-router-topk 2"),
             "mixtral-8x7b");
  const std::string hybrid =
      "--hidden-size 4096 --ffn-hidden-size 21504 --num-attention-heads 32 --group-query-attention "
      "--num-query-groups 8 --kv-channels 128 --normalization RMSNorm --disable-bias-linear --squared-relu "
      "--untie-embeddings-and-output-weights --position-embedding-type none --vocab-size 131072 "
      "--mamba-num-heads 128 --mamba-head-dim 64 ";
  const std::string layers = find_model("nemotron-h-8b", {}).layers;
  same_sizes(parsed(hybrid + "--num-layers 52 --hybrid-override-pattern '" + layers + "'"), "nemotron-h-8b");
  CHECK(parsed(hybrid + "--hybrid-override-pattern M-|M*").layers == "M-M*");  // the bar is a stage's end
  CHECK(parsed(hybrid + "--num-experts 8 --hybrid-override-pattern ME").kinds.size() == 4);
  CHECK_THROWS_WITH(parsed(hybrid + "--hybrid-override-pattern ME"), Contains("and E with --num-experts"));
  CHECK_THROWS_WITH(parsed(hybrid + "--hybrid-override-pattern MXM"), Contains("a letter of M*- per layer"));
  CHECK_THROWS_WITH(parsed(hybrid + "--num-layers 3 --hybrid-override-pattern M-"),
                    Contains("--num-layers is '3'; it must be 2, as many as the letters"));
  CHECK_THROWS_WITH(parsed(hybrid + "--num-layers 8 --hybrid-attention-ratio 0.1"),
                    Contains("replaced by --hybrid-override-pattern"));
}

TEST_CASE("models: Megatron's patterns of experts") {
  const std::string good =
      "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 --num-experts 8 "
      "--moe-layer-freq ";
  CHECK(parsed(good + "2").layers == "TDTD");  // layer i where i mod 2 is 0
  CHECK(parsed(good + "[0,1]*2").layers == "DTDT");
  CHECK(parsed(good + "'([0] * 1 + [1] * 3)'").layers == "DTTT");
  std::string many = "[0]*1";
  for (int i = 0; i < 100000; ++i) many += "+[1]*4096";
  for (const std::string& pattern :
       {std::string("0"), std::string("[0]*2.5+[1]*2"), std::string("[2]*4"), std::string("[0]*-4"),
        std::string("[0"), std::string("[]*4"), std::string("[0]*1099511627776"), many})
    CHECK_THROWS_WITH(parsed(good + pattern), Contains("--moe-layer-freq is '") && Contains("for 4 layers"));
}

TEST_CASE("models: Megatron's arguments of recomputation") {
  const std::string model = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 ";
  const std::string full = model + "--recompute-granularity full ";
  CHECK_FALSE(parsed(model).recompute);
  CHECK(parsed(full + "--recompute-method block --recompute-num-layers 7").recompute ==
        RecomputeOption{.on = true, .layers = 7});
  CHECK(parsed(full + "--recompute-method uniform --recompute-num-layers 2").recompute ==
        RecomputeOption{.on = true, .layers = 2, .method = RecomputeMethod::Uniform});
  // Groups of one layer are what "full" is.
  CHECK(parsed(full + "--recompute-method uniform --recompute-num-layers 1").recompute ==
        RecomputeOption{.on = true});
  CHECK(parsed(model + "--recompute-granularity selective").recompute ==
        RecomputeOption{.modules = "core_attn"});
  CHECK(parsed(model + "--recompute-activations").recompute == RecomputeOption{.modules = "core_attn"});
  CHECK(parsed(model + "--recompute-granularity selective --recompute-modules mlp moe --swiglu").recompute ==
        RecomputeOption{.modules = "mlp,moe"});
  CHECK_THROWS_WITH(parsed(model + "--recompute-granularity selective --recompute-modules mlp gdn_norm_out"),
                    Contains("--recompute-modules is 'mlp'; it must be one or more of core_attn"));
  CHECK_THROWS_WITH(parsed(model + "--recompute-granularity most"), Contains("it must be full or selective"));
  CHECK_THROWS_WITH(parsed(full), Contains("have --recompute-method (block or uniform) beside it"));
  CHECK_THROWS_WITH(parsed(full + "--recompute-method block --recompute-num-layers 0"),
                    Contains("--recompute-num-layers is '0'"));
}

TEST_CASE("models: what Megatron's arguments may not say") {
  const std::string good = "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --vocab-size 100 ";
  CHECK(parsed(good).vocabulary == 128);
  CHECK(parsed(good).kinds[0].mlp->ffn == 256);
  CHECK(parsed(good + "--swiglu").kinds[0].mlp->ffn == 128);  // 2/3 of 256, in steps of 64
  CHECK_THROWS_WITH(parsed("hello"), Contains("--hidden-size is missing"));
  CHECK_THROWS_WITH(parsed(good + "\n --num-layers 0"), Contains("--num-layers is '0'"));
  CHECK_THROWS_WITH(parsed(good + "--num-query-groups x --group-query-attention"),
                    Contains("--num-query-groups is 'x'"));
  CHECK_THROWS_WITH(parsed(good + "--num-experts 8 --moe-layer-freq [0]*3"), Contains("for 4 layers"));
  CHECK_THROWS_WITH(parsed(good + "--num-experts 8 --moe-layer-freq [0]*999999999"),
                    Contains("for 4 layers"));
}

}  // namespace
}  // namespace pipeloom::io::models_test
