// Encoders of text and decoders of pairs, read as language models. Sums are written out from the modules of transformers 5.24.0.

#include <string>

#include "sim/io/models/find_model.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/work.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::bert_models_test {
namespace {

using Catch::Matchers::Contains;

model::Model parsed(const std::string& text) {
  return parse_model(text, "model.json");
}

const std::string kBert =
    R"({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "vocab_size": 30522)";

/// Queries, keys, values and output, two products, and two norms; biases everywhere.
std::int64_t layer_of(std::int64_t h, std::int64_t ffn) {
  return 4 * (h * h + h) + (h * ffn + ffn) + (ffn * h + h) + 2 * 2 * h;
}

TEST_CASE("BERT: a product and a norm in front of the head, and tables of positions and types") {
  const model::Model found = parsed(kBert + "}");
  const std::int64_t h = 768;
  const std::int64_t embedding = 30522 * h + 512 * h + 2 * h + 2 * h;
  const std::int64_t head = h * h + h + 2 * h + 30522;
  CHECK(model::parameters_of(found) == embedding + 12 * layer_of(h, 3072) + head);
  CHECK(model::parameters_of(found) == 109'514'298);  // the published checkpoint
  CHECK((found.tied && found.head_product && found.head_product_bias && found.head_bias));
  // Without ties the head has its product and, in the class, two biases.
  const model::Model apart = parsed(kBert + R"(, "tie_word_embeddings": false})");
  CHECK(model::parameters_of(apart) == 109'514'298 + 30522 * (h + 1));
}

TEST_CASE("BERT: the product in front of the head is work of the last stage") {
  model::Model found = parsed(kBert + "}");
  model::Split split;
  split.sequence = 512;
  const model::Work head = model::head_work(found, split);
  REQUIRE(head.gemms.size() == 2);
  CHECK((head.gemms[1].m == 512 && head.gemms[1].k == 768 && head.gemms[1].n == 768));
  CHECK(model::final_norm_work(found, split).gemms.size() == 1);
  const double with = model::flops_per_token(found, 512);
  found.head_product = false;
  CHECK(with - model::flops_per_token(found, 512) == Approx(3 * 2 * 768.0 * 768.0));
  split.tensor = 4;
  found.head_product = true;
  CHECK(model::head_work(found, split).gemms[1].m == 128);
}

TEST_CASE("BERT: all tokens see each other unless the file says is_decoder") {
  CHECK_FALSE(parsed(kBert + "}").kinds[0].attention->causal);
  CHECK(parsed(kBert + R"(, "is_decoder": true})").kinds[0].attention->causal);
  // Blocks of 64 keys: three beside each other, two at the ends, and three by chance.
  const model::Model sparse = parsed(
      R"({"model_type": "big_bird", "hidden_size": 768, "num_hidden_layers": 2, "num_attention_heads": 12, "vocab_size": 50358})");
  CHECK(sparse.kinds[0].attention->window == 8 * 64);
}

TEST_CASE("BERT: classes that build other weights are refused by their name") {
  CHECK(model::parameters_of(parsed(kBert + R"(, "architectures": ["BertForMaskedLM"]})")) == 109'514'298);
  CHECK_THROWS_WITH(
      parsed(kBert + R"(, "architectures": ["BertForPreTraining"]})"),
      Contains("architectures is the string 'BertForPreTraining'; it must be of the classes that are "
               "read as 'bert': BertLMHeadModel BertForMaskedLM"));
  CHECK_THROWS_WITH(parsed(kBert + R"(, "add_cross_attention": true})"),
                    Contains("add_cross_attention is true"));
}

TEST_CASE("BART: its decoder alone, with a cross attention that gets nothing") {
  const std::string sizes =
      R"({"model_type": "bart", "d_model": 1024, "decoder_layers": 12, "decoder_attention_heads": 16,
    "decoder_ffn_dim": 4096, "vocab_size": 50265, "is_encoder_decoder": )";
  const model::Model found = parsed(sizes + "false}");
  const std::int64_t h = 1024;
  const std::int64_t cross = 4 * (h * h + h) + 2 * h;
  CHECK(model::parameters_of(found, found.kinds[0]).all() == layer_of(h, 4096) + cross);
  CHECK(model::parameters_of(found) == 50265 * h + 1026 * h + 2 * h + 12 * (layer_of(h, 4096) + cross));
  CHECK_THROWS_WITH(parsed(sizes + "true}"), Contains("is_encoder_decoder is true; it must be \"false\""));
  CHECK_THROWS_WITH(parsed(sizes + R"(false, "architectures": ["BartModel"]})"), Contains("BartForCausalLM"));
}

TEST_CASE("ModernBERT: its first layer has no norm in front of attention") {
  const model::Model found = parsed(
      R"({"model_type": "modernbert-decoder", "hidden_size": 768, "intermediate_size": 1152, "num_hidden_layers": 6,
    "num_attention_heads": 12, "vocab_size": 50368})");
  CHECK(found.layers.size() == 6);
  const std::int64_t whole = 4 * 768 * 768 + 3 * 768 * 1152 + 2 * 768;
  CHECK(model::parameters_of(found, *found.find(found.layers[0])).all() == whole - 768);
  CHECK(model::parameters_of(found, *found.find(found.layers[3])).all() == whole);
  CHECK(found.find(found.layers[1])->attention->window == 64);
}

}  // namespace
}  // namespace pipeloom::io::bert_models_test
