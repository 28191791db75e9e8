// Vision and audio towers of Hugging Face's multimodal configurations. Sums are written out from the modules of the transformers library.

#include <algorithm>
#include <string>

#include "sim/io/models/find_model.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/work.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::towers_test {
namespace {

using Catch::Matchers::Contains;

model::Model parsed(const std::string& text) {
  return parse_model(text, "model.json");
}

/// Parameters of all layers of these letters.
std::int64_t parameters_of(const model::Model& model, const std::string& letters) {
  std::int64_t sum = 0;
  for (const char letter : model.layers)
    if (letters.find(letter) != std::string::npos)
      sum += model::parameters_of(model, *model.find(letter)).all();
  return sum;
}

/// An encoder's layer with biases everywhere: queries, keys, values and output; two products; two norms with biases.
std::int64_t encoder_layer(std::int64_t h, std::int64_t ffn) {
  return 4 * (h * h + h) + (h * ffn + ffn) + (ffn * h + h) + 2 * 2 * h;
}

/// Of Qwen 2.5 7B, whose decoder Qwen2-VL 7B and Qwen2.5-VL 7B have.
constexpr std::int64_t kQwen7b = 7'615'616'512;
const std::string kQwenText = R"("hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28,
    "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768,
    "use_sliding_window": false, "sliding_window": 32768, "tie_word_embeddings": false)";

const std::string kClip = R"("vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024,
    "image_size": 336, "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24,
    "patch_size": 14, "projection_dim": 768})";

std::string llava(const std::string& more) {
  // As published: the decoder's sizes are Llama's defaults, and not in the file.
  return R"({"model_type": "llava", "text_config": {"model_type": "llama", "vocab_size": 32064,
      "max_position_embeddings": 4096, "torch_dtype": "float16"}, )" +
         more + "}";
}

TEST_CASE("towers: LLaVA 1.5 7B is CLIP ViT-L/14 at 336 pixels, a projector and Llama 7B") {
  const model::Model found = parsed(llava(kClip));
  CHECK(found.layers == "P" + std::string(22, 'V') + "J" + std::string(32, 'T'));
  CHECK(found.hidden == 4096);
  CHECK(found.sequence == 4096);
  CHECK(found.warnings.empty());
  // (336 / 14)^2 patches and the class token.
  for (const char letter : {'P', 'V', 'J'}) {
    CHECK(found.find(letter)->tokens == 24 * 24 + 1);
    CHECK(found.find(letter)->hidden == 1024);
    CHECK_FALSE(found.find(letter)->attention->causal);
  }
  const std::int64_t h = 1024;
  // 14 x 14 pixels of 3 colours; class token; positions; norms in front and behind.
  const std::int64_t ends = 3 * 14 * 14 * h + h + (576 + 1) * h + 2 * h + 2 * h;
  const std::int64_t tower = 24 * encoder_layer(h, 4096) + ends;
  CHECK(tower == 303'507'456);  // as published
  const std::int64_t projector = (h * 4096 + 4096) + (4096 * 4096 + 4096);
  CHECK(parameters_of(found, "PVJ") == tower + projector);
  // Llama 7B with 32,064 rows in embedding and head.
  const std::int64_t w = 4096;
  const std::int64_t llama = 32 * (4 * w * w + 3 * w * 11008 + 2 * w) + 2 * 32064 * w + w;
  CHECK(model::parameters_of(found) == tower + projector + llama);
  CHECK(model::parameters_of(found) == 7'063'427'072);  // the published checkpoint
}

TEST_CASE("towers: LLaVA's projector sees what the strategy and the feature layers say") {
  const auto behind = [](const std::string& more) { return parsed(llava(kClip + more)).find('J')->behind; };
  CHECK(behind("").at(0).tokens == 576);  // without the class token
  CHECK(behind(R"(, "vision_feature_select_strategy": "full")").at(0).tokens == 577);
  CHECK(behind(R"(, "vision_feature_layer": -2)").at(0).inputs == 1024);
  CHECK(behind(R"(, "vision_feature_layer": [-2, -5, -8])").at(0).inputs == 3 * 1024);
  CHECK(behind("").at(0).bias);
  CHECK_FALSE(behind(R"(, "multimodal_projector_bias": false)").at(1).bias);
}

TEST_CASE("towers: LLaVA with SigLIP So400m/14 at 384 pixels and a Qwen 2 decoder") {
  const model::Model found = parsed(R"({"model_type": "llava", "text_config": {"model_type": "qwen2",
    "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14, "num_hidden_layers": 24,
    "num_key_value_heads": 2, "vocab_size": 152000, "tie_word_embeddings": true},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152, "image_size": 384,
    "intermediate_size": 4304, "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14},
    "vision_feature_layer": -1, "vision_feature_select_strategy": "full"})");
  CHECK(found.tied);
  CHECK(found.layers == "P" + std::string(25, 'V') + "J" + std::string(24, 'T'));
  // floor(384 / 14) = 27 patches a side, no class token.
  CHECK(found.find('P')->tokens == 27 * 27);
  const std::int64_t h = 1152;
  // Patches with a bias, positions, the norm behind, and its pooling head (15.2 M), which makes nothing for a decoder.
  const std::int64_t tower = 27 * encoder_layer(h, 4304) + (3 * 14 * 14 * h + h) + 27 * 27 * h + 2 * h;
  const std::int64_t pooling = h + 4 * (h * h + h) + 2 * h + (h * 4304 + 4304) + (4304 * h + h);
  CHECK(tower + pooling == 428'225'600);  // as published
  CHECK(parameters_of(found, "PVJ") == tower + pooling + (h * 896 + 896) + (896 * 896 + 896));
}

TEST_CASE("towers: Qwen2-VL 7B") {
  const std::string vision =
      R"("vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16,
    "in_chans": 3, "hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2)";
  const model::Model found = parsed(R"({"model_type": "qwen2_vl", )" + kQwenText + ", " + vision + "}}");
  CHECK(found.layers == "P" + std::string(30, 'V') + "J" + std::string(28, 'T'));
  const std::int64_t h = 1280;
  // Patches of two frames without a bias; four of them are merged behind a norm.
  const std::int64_t merger = 2 * h + (4 * h * 4 * h + 4 * h) + (4 * h * 3584 + 3584);
  const std::int64_t tower = 32 * encoder_layer(h, 4 * h) + 3 * 2 * 14 * 14 * h + merger;
  CHECK(tower == 675'759'104);  // "675M", arXiv 2409.12191
  CHECK(parameters_of(found, "PVJ") == tower);
  CHECK(model::parameters_of(found) == kQwen7b + tower);
  CHECK(model::parameters_of(found) == 8'291'375'616);  // the published checkpoint

  // Nothing says how large images are: 896 x 1120 = 64 x 80 patches, a fourth of that in the decoder.
  CHECK(found.find('V')->tokens == 64 * 80);
  CHECK(found.find('J')->behind.at(1).tokens == 32 * 40);
  REQUIRE(found.warnings.size() == 1);
  CHECK_THAT(
      found.warnings[0],
      Contains("one image of 896 x 1120 pixels a sample is assumed, 5120 patches that become 1280 tokens"));
  // A stated one loses what fills no merged patch: 1000 / 28 = 35 a side, of 4 patches each.
  const model::Model stated = parsed(R"({"model_type": "qwen2_vl", )" + kQwenText + ", " + vision +
                                     R"(, "image_size": [1000, 56]}})");
  CHECK(stated.warnings.empty());
  CHECK(stated.find('V')->tokens == 35 * 2 * 4);
}

TEST_CASE("towers: Qwen2.5-VL 7B, whose layers see windows but for every eighth") {
  const std::string vision = R"("vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420,
    "num_heads": 16, "in_chans": 3, "out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2,
    "window_size": 112, "fullatt_block_indexes": [7, 15, 23, 31], "temporal_patch_size": 2})";
  const model::Model found = parsed(R"({"model_type": "qwen2_5_vl", )" + kQwenText + ", " + vision + "}");
  const std::string eight = "WWWWWWWV";
  CHECK(found.layers ==
        "P" + eight.substr(1) + eight + eight + eight.substr(0, 7) + "J" + std::string(28, 'T'));
  // 112 / 14 = 8 patches a side.
  CHECK(found.find('P')->attention->window == 64);
  CHECK(found.find('W')->attention->window == 64);
  CHECK(found.find('V')->attention->window == 0);
  CHECK(found.find('J')->attention->window == 0);
  const std::int64_t h = 1280;
  // Norms without biases, three products in the feed-forward part.
  const std::int64_t layer = 4 * (h * h + h) + 3 * h * 3420 + 2 * 3420 + h + 2 * h;
  const std::int64_t merger = h + (4 * h * 4 * h + 4 * h) + (4 * h * 3584 + 3584);
  const std::int64_t tower = 32 * layer + 3 * 2 * 14 * 14 * h + merger;
  CHECK(tower == 676'550'144);  // as published
  CHECK(parameters_of(found, "PVWJ") == tower);
  CHECK(model::parameters_of(found) == 8'292'166'656);  // the published checkpoint

  // Newer files have the decoder in text_config, under a type of its own.
  const model::Model newer =
      parsed(R"({"model_type": "qwen2_5_vl", "text_config": {"model_type": "qwen2_5_vl_text", )" + kQwenText +
             "}, " + vision + "}");
  CHECK(model::parameters_of(newer) == model::parameters_of(found));
  CHECK(newer.layers == found.layers);
}

/// Qwen3-VL's tower for a decoder of this width.
std::string qwen3_vision(std::int64_t width) {
  return R"("vision_config": {"model_type": "qwen3_vl", "depth": 27, "hidden_size": 1152, "intermediate_size": 4304,
    "num_heads": 16, "in_channels": 3, "out_hidden_size": )" +
         std::to_string(width) + R"(, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2,
    "num_position_embeddings": 2304, "deepstack_visual_indexes": [8, 16, 24]})";
}
std::int64_t qwen3_tower(std::int64_t width) {
  const std::int64_t h = 1152;
  const std::int64_t merger = (4 * h * 4 * h + 4 * h) + (4 * h * width + width);
  // Patches with a bias, positions; a merger behind a norm of one patch, three behind norms of four merged ones.
  return 27 * encoder_layer(h, 4304) + (3 * 2 * 16 * 16 * h + h) + 2304 * h + (2 * h + merger) +
         3 * (2 * 4 * h + merger);
}

TEST_CASE("towers: Qwen3-VL 8B and 30B-A3B, where layers inside feed the decoder too") {
  const model::Model dense =
      parsed(R"({"model_type": "qwen3_vl", "text_config": {"model_type": "qwen3_vl_text",
    "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128, "num_attention_heads": 32,
    "num_hidden_layers": 36, "num_key_value_heads": 8, "vocab_size": 151936, "max_position_embeddings": 262144},
    "tie_word_embeddings": false, )" +
             qwen3_vision(4096) + "}");
  const std::string v7(7, 'V');
  CHECK(dense.layers == "P" + v7 + "X" + v7 + "X" + v7 + "XVJ" + std::string(36, 'T'));
  // The same image as of Qwen2-VL in patches of 16: 56 x 70.
  CHECK(dense.find('V')->tokens == 56 * 70);
  CHECK(dense.find('X')->behind.at(1).tokens == 28 * 35);
  CHECK(parameters_of(dense, "PVXJ") == qwen3_tower(4096));
  CHECK(model::parameters_of(dense) == 8'190'735'360 + qwen3_tower(4096));  // Qwen 3 8B
  CHECK(model::parameters_of(dense) == 8'767'123'696);                      // the published checkpoint

  const model::Model experts = parsed(R"({"model_type": "qwen3_vl_moe", "text_config": {
    "model_type": "qwen3_vl_moe_text", "hidden_size": 2048, "intermediate_size": 6144, "head_dim": 128,
    "num_attention_heads": 32, "num_hidden_layers": 48, "num_key_value_heads": 4, "vocab_size": 151936,
    "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "max_position_embeddings": 262144}, "tie_word_embeddings": false, )" +
                                      qwen3_vision(2048) + "}");
  CHECK(model::parameters_of(experts) == 30'532'122'624 + qwen3_tower(2048));  // Qwen 3 30B-A3B
  CHECK(model::parameters_of(experts) == 31'070'754'032);                      // the published checkpoint
}

TEST_CASE("towers: Qwen2-Audio 7B is Whisper's large encoder, a projector and a decoder of Qwen's size") {
  const model::Model found = parsed(R"({"model_type": "qwen2_audio", "audio_config": {
    "model_type": "qwen2_audio_encoder", "num_mel_bins": 128, "encoder_layers": 32, "encoder_attention_heads": 20,
    "encoder_ffn_dim": 5120, "d_model": 1280, "max_source_positions": 1500}, "text_config": {"model_type": "qwen2",
    "intermediate_size": 11008, "max_position_embeddings": 8192, "sliding_window": 32768, "vocab_size": 156032},
    "vocab_size": 156032})");
  CHECK(found.layers == "P" + std::string(30, 'V') + "J" + std::string(32, 'T'));
  // 30 s are 3000 frames, the second convolution leaves 1500 states, and the mean of two makes 750 tokens.
  CHECK(found.find('P')->before.at(0).tokens == 3000);
  CHECK(found.find('P')->tokens == 1500);
  CHECK(found.find('J')->behind.at(0).tokens == 750);
  const std::int64_t h = 1280;
  // Keys have no bias; both convolutions see three frames.
  const std::int64_t tower =
      32 * (encoder_layer(h, 5120) - h) + (3 * 128 * h + h) + (3 * h * h + h) + 1500 * h + 2 * h;
  CHECK(tower == 636'968'960);  // Whisper large-v3's encoder
  const std::int64_t projector = h * 4096 + 4096;
  CHECK(parameters_of(found, "PVJ") == tower + projector);
  const std::int64_t w = 4096;
  const std::int64_t qwen = 32 * (4 * w * w + 3 * w + 3 * w * 11008 + 2 * w) + 2 * 156032 * w + w;
  CHECK(model::parameters_of(found) == tower + projector + qwen);
  CHECK(model::parameters_of(found) == 8'397'094'912);  // the published checkpoint
}

TEST_CASE("towers: a sample's FLOPs have the tower's tokens beside the decoder's") {
  const model::Model found = parsed(llava(kClip));
  const std::int64_t sequence = 4096;
  model::Model decoder = found;
  decoder.layers.assign(32, 'T');
  const double h = 1024, tokens = 577;
  // 2 per weight of the products, 4 T^2 h for attention without a mask; patches and projector see 576.
  const double layers = 24 * (2 * tokens * (4 * h * h + 2 * h * 4096) + 4 * tokens * tokens * h);
  const double ends = 2.0 * 576 * (588 * h + h * 4096 + 4096.0 * 4096);
  CHECK(model::flops_per_token(found, sequence) ==
        Approx(model::flops_per_token(decoder, sequence) + 3 * (layers + ends) / sequence));
}

TEST_CASE("towers: one of a single layer has both ends there") {
  const model::Model found = parsed(R"({"model_type": "llava", "text_config": {"num_hidden_layers": 2},
    "vision_config": {"num_hidden_layers": 1}})");
  CHECK(found.layers == "PTT");
  CHECK(found.find('P')->before.size() == 1);
  CHECK(found.find('P')->behind.size() == 2);
  // CLIP's defaults are ViT-B/32 at 224 pixels.
  CHECK(found.find('P')->tokens == 7 * 7 + 1);
  CHECK(found.find('P')->hidden == 768);
}

TEST_CASE("towers: what is not known or cannot be is one line that says what can") {
  const auto refused = [](const std::string& text, const std::string& message) {
    INFO(text);
    CHECK_THROWS_WITH(parsed(text), Contains(message));
  };
  refused(llava(R"("vision_config": {"model_type": "pixtral"})"),
          "unknown tower in vision_config 'pixtral'; valid: clip_vision_model, siglip_vision_model");
  refused(R"({"model_type": "qwen2_audio", "text_config": {}, "audio_config": {"model_type": "wav2vec2"}})",
          "unknown tower in audio_config 'wav2vec2'; valid: qwen2_audio_encoder");
  refused(R"({"model_type": "idefics9"})", "unknown model_type 'idefics9'; docs/models.md lists the types");
  refused(R"({"model_type": "llava", "text_config": {"model_type": "gema"}})",
          "unknown text_config.model_type 'gema'; did you mean 'gemma'? docs/models.md lists the types");
  refused(R"({"model_type": "llava"})", "text_config is missing; give the decoder's sizes as an object");
  refused(llava(R"("image_token_index": 1)"),
          "vision_config is missing; give the tower's sizes as an object");
  refused(llava(R"("vision_config": {"image_size": 8})"),
          "vision_config.image_size is 8; it must be at least 32 (patch_size.0)");
  refused(llava(R"("vision_config": {"num_attention_heads": 0})"),
          "vision_config.num_attention_heads is 0; it must be from 1 to 16777216");
  refused(llava(R"("vision_config": {"patch_size": 9007199254740992})"),
          "it must be at least 9007199254740992 (patch_size.0)");
  refused(llava(R"("vision_config": {"image_size": [1, 2, 3]})"),
          "vision_config.image_size is an array of 3");
  refused(llava(kClip + R"(, "vision_feature_select_strategy": "none")"),
          R"(it must be "default" or "full")");
  refused(R"({"model_type": "qwen2_5_vl", )" + kQwenText + R"(, "vision_config": {"window_size": 27}})",
          "vision_config.window_size is 27; it must be at least 28 (patch_size*spatial_merge_size)");
  refused(R"({"model_type": "internvl", "text_config": {}, "vision_config": {"num_attention_heads": 15}})",
          "vision_config.num_attention_heads is 15; it must be a divisor of 1024, the width");
  refused(R"({"model_type": "pixtral"})",
          "unknown model_type 'pixtral'; did you mean 'mixtral'? docs/models.md");
  refused(R"({"model_type": "internvl", "text_config": {}, "vision_config": {"norm_type": "rms_norm"}})",
          "vision_config.norm_type is the string 'rms_norm'; models of type 'internvl_vision' are read with");
}

TEST_CASE(
    "towers: one that is not as wide as its decoder is counted as the library builds it, with a warning") {
  const model::Model found =
      parsed(R"({"model_type": "qwen2_vl", )" + kQwenText + R"(, "vision_config": {"hidden_size": 1536}})");
  CHECK(found.find('J')->behind.back().outputs == 1536);
  REQUIRE(found.warnings.size() == 2);
  CHECK_THAT(found.warnings[1], Contains("the tower makes 1536 numbers a token and the decoder reads 3584"));
}

/// A decoder of two layers and 1000 words, its parameters behind it.
const std::string kTinyLlama =
    R"("text_config": {"model_type": "llama", "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000}, "tie_word_embeddings": false)";
constexpr std::int64_t kTinyParameters = 2 * (4 * 64 * 64 + 3 * 64 * 96 + 2 * 64) + 2 * 1000 * 64 + 64;

TEST_CASE("towers: GLM-4.1V's merges patches by a product and passes them through a gated part") {
  const model::Model found = parsed(R"({"model_type": "glm4v", )" + kTinyLlama +
                                    R"(, "vision_config": {"depth": 3, "out_hidden_size": 64}})");
  CHECK(found.layers == "PVJTT");
  const std::int64_t h = 1536, out = 64, ffn = 13696;
  // No biases inside; the feed-forward part of the layers is as wide as what the tower makes.
  const std::int64_t layer = 4 * h * h + 3 * h * out + 2 * h;
  const std::int64_t front = (3 * 2 * 14 * 14 * h + h) + h + 24 * 24 * h;  // patches, a norm, positions
  const std::int64_t merger = (4 * h * out + out) + out * out + 2 * out + 3 * out * ffn;
  CHECK(parameters_of(found, "PVJ") == 3 * layer + front + h + merger);
  CHECK(model::parameters_of(found) == 3 * layer + front + h + merger + kTinyParameters);
  REQUIRE(found.warnings.size() == 1);
  CHECK_THAT(found.warnings[0], Contains("5120 patches that become 1280 tokens"));
}

TEST_CASE("towers: InternVL's layers have scales, and its patches are put side by side by fours") {
  const model::Model found = parsed(R"({"model_type": "internvl", )" + kTinyLlama +
                                    R"(, "vision_config": {"num_hidden_layers": 3}})");
  const std::int64_t h = 1024, w = 64;
  const std::int64_t layer = encoder_layer(h, 4096) - 3 * h + 2 * h;  // no biases of queries, keys, values
  const std::int64_t front = (3 * 14 * 14 * h + h) + h + (32 * 32 + 1) * h;
  const std::int64_t projector = 2 * 4 * h + (4 * h * w + w) + (w * w + w);
  CHECK(parameters_of(found, "PVJ") == 3 * layer + front + projector);
  CHECK(found.find('P')->tokens == 1025);
  CHECK(found.find('J')->behind.at(0).tokens == 256);
}

TEST_CASE("towers: projectors of Idefics 3, LLaVA-NeXT, Cohere 2 Vision and PaliGemma") {
  const auto projected = [](const std::string& type, const std::string& vision, const std::string& more) {
    return parsed(R"({"model_type": ")" + type + "\", " + kTinyLlama + more +
                  R"(, "vision_config": {"hidden_size": 32,
        "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 64, "patch_size": 16)" +
                  vision + "}}");
  };
  const std::int64_t h = 32, w = 64;
  // 4 x 4 patches with a bias, positions, two layers, the norm behind.
  const std::int64_t siglip = (3 * 256 * h + h) + 16 * h + 2 * encoder_layer(h, 48) + 2 * h;
  CHECK(parameters_of(projected("idefics3", "", ""), "PJ") == siglip + 4 * h * w);
  CHECK(parameters_of(projected("paligemma", R"(, "vision_use_head": false)", R"(, "projection_dim": 64)"),
                      "PJ") == siglip + h * w + w);
  CHECK(parameters_of(projected("cohere2_vision", R"(, "vision_use_head": false)",
                                R"(, "alignment_intermediate_size": 40)"),
                      "PJ") == siglip + (4 * h * 40 + 40) + (20 * w + w));
  // CLIP: patches without a bias, a class token, 17 positions, a norm in front; the newline of images.
  const std::int64_t clip = 3 * 256 * h + h + 17 * h + 2 * h + 2 * encoder_layer(h, 48) + 2 * h;
  CHECK(parameters_of(projected("llava_next", "", ""), "PJ") == clip + (h * w + w) + (w * w + w) + w);
  CHECK(parameters_of(projected("vipllava", "", R"(, "vision_feature_layers": [-2, -1, 1])"), "PJ") ==
        clip + 2 * 3 * h + (3 * h * w + w) + (w * w + w));
}

TEST_CASE("towers: MiniMax M3's patches pass two products each, and by fours two more") {
  const model::Model found = parsed(R"({"model_type": "minimax_m3_vl", "projector_hidden_size": 48, )" +
                                    kTinyLlama + R"(, "vision_config": {"num_hidden_layers": 2}})");
  const std::int64_t h = 1280, w = 64, p = 48;
  // Patches of two frames without a bias, a norm in front and none after the layers.
  const std::int64_t tower = 3 * 2 * 14 * 14 * h + 2 * h + 2 * encoder_layer(h, 5120);
  const std::int64_t projector = (h * p + p) + (p * w + w) + (4 * w * p + p) + (p * w + w);
  CHECK(parameters_of(found, "PJ") == tower + projector);
  CHECK(found.find('J')->behind.at(1).tokens == 64 * 80);
  CHECK(found.find('J')->behind.at(3).tokens == 32 * 40);
}

TEST_CASE(
    "towers: Step 3.7's layers with windows have heads of their own, and its tower ends in two "
    "convolutions") {
  const model::Model found = parsed(R"({"model_type": "step3p7", "text_config": {"hidden_size": 64,
    "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "num_sliding_attention_heads": 6, "sliding_window": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 16, "share_expert_dim": 16, "vocab_size": 1000,
    "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]},
    "vision_config": {"num_hidden_layers": 2}})");
  CHECK(found.layers == "PJDGGT");
  const std::int64_t w = 64;
  const auto attention = [&](std::int64_t heads) {  // a gate for each head, norms of queries and keys
    return w * (heads + 4) * 8 + heads * 8 * w + w * heads + 2 * 8;
  };
  CHECK(parameters_of(found, "D") == attention(4) + 3 * w * 96 + 2 * w);
  CHECK(parameters_of(found, "GG") == 2 * (attention(6) + 3 * w * 96 + 2 * w));
  CHECK(found.find('G')->attention->window == 32);
  const std::int64_t h = 1536;
  const std::int64_t layer = encoder_layer(h, 8960) + 2 * h;  // a scale for each of its parts
  const std::int64_t ends = 3 * 14 * 14 * h + 52 * 52 * h + 2 * h;
  CHECK(parameters_of(found, "PJ") ==
        2 * layer + ends + (9 * h * 2 * h + 2 * h) + (18 * h * 4 * h + 4 * h) + 4 * h * w);
  CHECK(found.find('J')->behind.at(2).tokens == 13 * 13);
}

TEST_CASE("towers: Nemotron H's is RADIO, and its norm is there where the decoder predicts more tokens") {
  const auto read = [](const std::string& more) {
    return parsed(
        R"({"model_type": "nemotron_h_omni", "text_config": {"layers_block_type": ["mlp"], "hidden_size": 64)" +
        more + R"(}, "vision_config": {"num_hidden_layers": 2, "video_temporal_patch_size": 2}})");
  };
  const std::int64_t h = 1280, w = 64, p = 4096;
  const std::int64_t layer = encoder_layer(h, 4 * h) + 2 * h;  // a scale for each of its parts
  // Patches of images and of two frames; positions of 128 x 128; three class tokens and seven registers.
  const std::int64_t front = 768 * h + 2 * 768 * h + 128 * 128 * h + 10 * h;
  const std::int64_t projector = 4 * h + 4 * h * p + p * w;
  const model::Model found = read("");
  CHECK(parameters_of(found, "PJ") == 2 * layer + front + projector);
  CHECK(found.find('P')->tokens == 56 * 70 + 10);
  CHECK(parameters_of(read(R"(, "num_nextn_predict_layers": 1)"), "PJ") ==
        2 * layer + front + projector + 2 * h);
}

TEST_CASE(
    "towers: Mistral Large 4's decoder has a layer without positions after each three, and picks its keys") {
  const auto read = [](const std::string& more) {
    return parsed(
        R"({"model_type": "mistral_large4", "text_config": {"model_type": "mistral_large4_text", "hidden_size": 64,
      "intermediate_size": 96, "moe_intermediate_size": 16, "num_hidden_layers": 4, "num_attention_heads": 4,
      "n_routed_experts": 4, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
      "num_experts_per_tok": 2, "index_n_heads": 2, "index_head_dim": 8, "index_topk": 32, "vocab_size": 1000)" +
        more + R"(}, "vision_config": {"num_hidden_layers": 2, "image_size": 64}})");
  };
  const model::Model found = read("");
  CHECK(found.layers == "PJDTTS");
  const std::int64_t h = 64;
  // Queries of 16, and of the indexer 2 x 8 with keys of 8 and 2 weights; norms of the rank, of both of the indexer's inputs; scales and
  // biases of the softmax of each head, two norms.
  const std::int64_t rest =
      h * 4 * 16 + 4 * 8 * h + 16 + h * 2 * 8 + h * 8 + h * 2 + 2 * 8 + 2 * h + 2 * (4 + 2) + 2 * h;
  const std::int64_t experts = 4 * h + 4 * 3 * h * 16 + 3 * h * 16;
  CHECK(parameters_of(found, "D") == rest + h * (16 + 8) + 16 * 4 * (8 + 8) + 3 * h * 96);
  CHECK(parameters_of(found, "TT") == 2 * (rest + h * (16 + 8) + 16 * 4 * (8 + 8) + experts));
  CHECK(parameters_of(found, "S") == rest + h * 16 + 16 * 4 * (16 + 8) + experts);
  CHECK(found.tables == 4);  // a frequency for each pair of the part with positions
  CHECK(read(R"(, "indexer_types": ["full", "full", "full", "full"], "kv_source_layers": [0, 1, 2, 3])")
            .layers == found.layers);
  CHECK_THROWS_WITH(read(R"(, "indexer_types": ["full", "full", "shared", "full"])"),
                    Contains(R"(text_config.indexer_types is the string 'shared'; it must be "full")"));
  CHECK_THROWS_WITH(read(R"(, "kv_source_layers": [0, 1, 1, 3])"),
                    Contains("text_config.kv_source_layers is 1; it must be 2, its place in the list"));
}

TEST_CASE("towers: Gemma 4's has norms around its parts, and a mean of 3 x 3 patches") {
  const std::string text =
      R"({"model_type": "gemma4", "text_config": {"model_type": "gemma4_text", "hidden_size": 64})";
  const model::Model bare = parsed(text + "}");
  const model::Model found =
      parsed(text + R"(, "vision_config": {"num_hidden_layers": 3, "num_key_value_heads": 4}})");
  CHECK(found.layers == "PVJ" + bare.layers);
  const std::int64_t h = 768;
  // Heads of 64 and a norm of these for queries and for keys; values have none with weights.
  const std::int64_t layer = h * (12 + 2 * 4) * 64 + 12 * 64 * h + 2 * 64 + 3 * h * 3072 + 4 * h;
  const std::int64_t tower = 3 * layer + 3 * 16 * 16 * h + 2 * 10240 * h + h * 64;
  CHECK(parameters_of(found, "PVJ") == tower);
  CHECK(model::parameters_of(found) == model::parameters_of(bare) + tower);
  CHECK(found.find('P')->tokens == 42 * 60);
  CHECK(found.find('J')->behind.at(0).tokens == 280);  // what its processor's class makes of an image
  CHECK_THROWS_WITH(parsed(text + R"(, "vision_config": {}, "audio_config": {}})"),
                    Contains("audio_config is an object; models of type 'gemma4' are read with null alone"));
}

TEST_CASE("towers: LFM2-VL as its classes have it") {
  const model::Model found =
      parsed(R"({"model_type": "lfm2_vl", "text_config": {"model_type": "lfm2"}, "vision_config": {}})");
  CHECK(model::parameters_of(found) == 2'812'857'088);  // counted_5.24.jsonl
  CHECK(found.find('J')->behind.at(1).tokens == 16 * 16);
}

TEST_CASE("towers: where a file says that embeddings are tied") {
  const auto tied = [](const std::string& type, const std::string& inside, const std::string& more) {
    return parsed(R"({"model_type": ")" + type +
                  R"(", "text_config": {"model_type": "llama", "hidden_size": 64,
        "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 1000,
        "tie_word_embeddings": )" +
                  inside + R"(}, "vision_config": {"num_hidden_layers": 2})" + more + "}")
        .tied;
  };
  // Classes that hand on what text_config says, and others.
  for (const char* type : {"llava", "llava_next_video", "qwen2_vl", "qwen2_5_vl", "glm4v", "glm_ocr",
                           "hunyuan_vl", "minimax_m3_vl", "video_llama_3"}) {
    INFO(type);
    CHECK(tied(type, "true", R"(, "tie_word_embeddings": false)"));
    CHECK(tied(type, "false", R"(, "tie_word_embeddings": true)"));
  }
  for (const char* type : {"llava_next", "vipllava", "qwen3_vl", "glm46v", "exaone4_5", "idefics3"}) {
    INFO(type);
    CHECK_FALSE(tied(type, "true", R"(, "tie_word_embeddings": false)"));
    CHECK(tied(type, "false", R"(, "tie_word_embeddings": true)"));
  }
  // The decoder inside ties by its own.
  const std::string llama4 = R"(, "architectures": ["Llama4ForConditionalGeneration"])";
  CHECK(tied("llama4", "true", llama4 + R"(, "tie_word_embeddings": false)"));
  CHECK_FALSE(tied("llama4", "false", llama4 + R"(, "tie_word_embeddings": true)"));
  CHECK_FALSE(tied("cosmos3_edge", "false", R"(, "tie_word_embeddings": true)"));  // its class ties none
}

TEST_CASE("towers: our files say the same") {
  const model::Model found = parsed(R"({"hidden": 4096, "vocabulary": 32064, "layers": "PVT", "kinds": {
    "P": {"hidden": 1024, "tokens": 577, "norm": "layer", "tables": 593920,
          "attention": {"heads": 16, "head_dim": 64, "qkv_bias": true, "output_bias": true, "causal": false},
          "mlp": {"ffn": 4096, "bias": true}, "before": [{"inputs": 588, "outputs": 1024, "tokens": 576}]},
    "V": {"hidden": 1024, "tokens": 577, "norm": "layer",
          "attention": {"heads": 16, "head_dim": 64, "qkv_bias": true, "output_bias": true, "causal": false},
          "mlp": {"ffn": 4096, "bias": true},
          "behind": [{"inputs": 1024, "outputs": 4096, "tokens": 576, "bias": true, "activation": true},
                     {"inputs": 4096, "outputs": 4096, "tokens": 576, "bias": true}]},
    "T": {"mlp": {"ffn": 11008, "gated": true}}}})");
  const model::Model published = parsed(llava(kClip));
  CHECK(model::parameters_of(found, *found.find('P')).all() ==
        model::parameters_of(published, *published.find('P')).all());
  // All but the norm behind the tower, which is a table.
  CHECK(model::parameters_of(found, *found.find('V')).all() + 2 * 1024 ==
        model::parameters_of(published, *published.find('J')).all());
  CHECK(found.find('V')->behind.at(0).activation);
  CHECK_THROWS_WITH(parsed(R"({"hidden": 8, "vocabulary": 8, "layers": "V", "kinds": {"V": {"hidden": 4,
      "mlp": {"ffn": 8}, "behind": [{"inputs": 4, "outputs": 6}]}}})"),
                    Contains("outputs of the last product behind layer 'V' is 6; it must be 8"));
}

}  // namespace
}  // namespace pipeloom::io::towers_test
