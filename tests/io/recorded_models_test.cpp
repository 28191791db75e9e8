// Every architecture of transformers 5.24.0 as its configuration saves it: the same parameters, or one line that refuses it.

#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/json/json_value.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/model/parameters.hpp"
#include "sim/model/tensors.hpp"
#include "sim/model/weights.hpp"
#include "sim/model/work.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::recorded_models_test {
namespace {

using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

std::int64_t whole(const Value& value) {
  return std::stoll(value.text());
}

/// Runs of decoder layers with as many parameters.
Runs runs_of(const model::Model& model) {
  Runs out;
  for (const char letter : model.layers) {
    const model::Layer& layer = *model.find(letter);
    if (layer.hidden != 0) continue;  // a tower's
    const std::int64_t each = model::parameters_of(model, layer).all();
    if (!out.empty() && out.back().second == each)
      ++out.back().first;
    else
      out.emplace_back(1, each);
  }
  return out;
}

/// The decoder's list: the only one, or the language model's.
Runs recorded_runs(const Value& lists) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < lists.keys().size(); ++i)
    for (const char* decoder : {"language_model.", "text_model."})
      if (lists.keys()[i].name.find(decoder) != std::string::npos && lists.keys()[i].name.ends_with("layers"))
        at = i;
  Runs out;
  for (const Value& run : lists.items().at(at).items())
    out.emplace_back(whole(run.items()[0]), whole(run.items()[1]));
  return out;
}

/// What is different, or "".
std::string difference(const model::Model& model, const Value& record) {
  std::string out;
  // No class builds MTP layers.
  const std::int64_t parameters = model::parameters_of(model) - model::mtp_parameters(model).all();
  if (parameters != whole(*record.find("parameters"))) out += " parameters";
  if (runs_of(model) != recorded_runs(*record.find("layers"))) out += " layers";
  if (model.tied != (record.find("tied")->text() == "true")) out += " tied";
  const std::vector<Value>& rows = record.find("embedding")->items().at(0).items();
  if (model.vocabulary != whole(rows[0]) || model.hidden != whole(rows[1])) out += " embedding";
  return out;
}

struct Tally {
  int equal = 0;
  int refused = 0;
};

TEST_CASE("recorded models: equal to the library in parameters, layers and ties, or refused") {
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/models/transformers_5.24.jsonl");
  std::map<std::string, Tally> types;
  int records = 0;
  for (std::string line; std::getline(file, line); ++records) {
    const Document document = Document::parse(line, "transformers_5.24.jsonl");
    const Value& record = document.root();
    const std::string type = record.find("type")->text();
    INFO(type << " " << record.find("variant")->text());
    try {
      const std::string found = difference(read_hugging_face(*record.find("config")), record);
      CHECK(found.empty());
      ++types[type].equal;
    } catch (const InputError& error) {
      CHECK(error.line().find('\n') == std::string::npos);
      ++types[type].refused;
    }
  }
  CHECK(records == 611);
  // What is read is read whole: these are refused for a key that another class than theirs would need.
  const std::map<std::string, int> partly = {{"flex_olmo", 1}, {"ovis2", 1}};
  int read = 0;
  for (const auto& [type, tally] : types) {
    if (tally.equal == 0) continue;
    ++read;
    INFO(type);
    CHECK(tally.refused == (partly.contains(type) ? partly.at(type) : 0));
  }
  CHECK(read == 199);
}

TEST_CASE("recorded models: other sizes and switches of types that were added later") {
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/models/more_5.24.jsonl");
  int records = 0;
  for (std::string line; std::getline(file, line); ++records) {
    const Document document = Document::parse(line, "more_5.24.jsonl");
    const Value& record = document.root();
    INFO(record.find("type")->text() << " " << record.find("variant")->text());
    CHECK(difference(read_hugging_face(*record.find("config")), record).empty());
  }
  CHECK(records == 223);
}

TEST_CASE("recorded models: of a type that two classes read, architectures says which") {
  const std::map<std::string, std::string> classes = {
      {"causal llama4", "Llama4ForCausalLM"},
      {"itt llama4", "Llama4ForConditionalGeneration"},
      {"causal qwen3_5", "Qwen3_5ForCausalLM"},
      {"itt qwen3_5", "Qwen3_5ForConditionalGeneration"},
      {"causal qwen3_5_moe", "Qwen3_5MoeForCausalLM"},
      {"itt qwen3_5_moe", "Qwen3_5MoeForConditionalGeneration"}};
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/models/transformers_5.24.jsonl");
  int equal = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string without = Document::parse(line, "").root().find("type")->text();
    const auto found = classes.find(Document::parse(line, "").root().find("kind")->text() + " " + without);
    if (found == classes.end()) continue;
    const std::string key = R"("config":{)";
    line.insert(line.find(key) + key.size(), R"("architectures":[")" + found->second + "\"],");
    const Document document = Document::parse(line, "transformers_5.24.jsonl");
    INFO(found->first << " " << document.root().find("variant")->text());
    CHECK(difference(read_hugging_face(*document.root().find("config")), document.root()).empty());
    ++equal;
  }
  CHECK(equal == 14);
}

/// The smallest recorded model of each type that the library builds for text alone, as a line.
std::map<std::string, std::string> smallest_lines() {
  std::map<std::string, std::pair<std::int64_t, std::string>> found;
  for (const char* name : {"/models/transformers_5.24.jsonl", "/models/more_5.24.jsonl"}) {
    std::ifstream file(std::string(PIPELOOM_GOLDEN_DIR) + name);
    for (std::string line; std::getline(file, line);) {
      const Document document = Document::parse(line, name);
      if (document.root().find("kind")->text() != "causal") continue;
      const std::int64_t parameters = whole(*document.root().find("parameters"));
      const auto [at, is_new] =
          found.try_emplace(document.root().find("type")->text(), std::pair(parameters, line));
      if (!is_new && parameters < at->second.first) at->second = {parameters, line};
    }
  }
  std::map<std::string, std::string> out;
  for (auto& [type, row] : found) out.emplace(type, std::move(row.second));
  return out;
}

/// The line with another value of a key of its configuration.
std::string with_key(std::string line, const std::string& key, const std::string& value) {
  const std::size_t config = line.find(R"("config":)");
  const std::string name = '"' + key + "\":";
  const std::size_t at = line.find(name, config);
  REQUIRE(at != std::string::npos);
  const std::size_t from = line.find_first_not_of(' ', at + name.size());
  return line.replace(from, line.find_first_of(",}", from) - from, value);
}

TEST_CASE(
    "recorded models: sizes and switches that a class keeps and ignores change nothing, or are refused") {
  const std::map<std::string, std::string> models = smallest_lines();
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/models/ignored_5.24.json");
  const Document document = Document::parse(std::string(std::istreambuf_iterator<char>(file), {}), "ignored");
  int equal = 0;
  for (const Value& row : document.root().items()) {
    const std::string type = row.items()[0].text();
    const std::string key = row.items()[1].text();
    INFO(type << " " << key);
    const Document changed =
        Document::parse(with_key(models.at(type), key, row.items()[2].canonical_text()), "");
    try {
      const std::string found = difference(read_hugging_face(*changed.root().find("config")), changed.root());
      CHECK(found.empty());
      ++equal;
    } catch (const InputError& error) {
      CHECK(error.line().find('\n') == std::string::npos);
    }
  }
  CHECK(equal >= 120);
}

TEST_CASE("recorded models: files of transformers 4.57 are what that version counts, or refused") {
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/models/transformers_4.57.jsonl");
  std::map<std::string, Tally> types;
  for (std::string line; std::getline(file, line);) {
    const Document document = Document::parse(line, "transformers_4.57.jsonl");
    const Value& record = document.root();
    const std::string type = record.find("type")->text();
    INFO(type << " " << record.find("variant")->text());
    try {
      const model::Model model = read_hugging_face(*record.find("config"));
      const std::int64_t parameters = model::parameters_of(model) - model::mtp_parameters(model).all();
      CHECK(parameters == whole(*record.find("parameters")));
      CHECK(model.tied == (record.find("tied")->text() == "true"));
      ++types[type].equal;
    } catch (const InputError& error) {
      CHECK(error.line().find('\n') == std::string::npos);
      ++types[type].refused;
    }
  }
  Tally all;
  for (const auto& [type, tally] : types) {
    all.equal += tally.equal;
    all.refused += tally.refused;
  }
  CHECK(types.size() == 44);
  CHECK(all.equal == 151);
  // Llama 4 without `architectures`, keys that layers of Gemma 3n share, and biases of experts that version 5 no longer has.
  CHECK(all.refused == 6);
}

TEST_CASE("recorded models: each layer that is read has work, and keeps something for its backward") {
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/models/transformers_5.24.jsonl");
  model::Split split;
  split.sequence = 512;
  int kinds = 0;
  for (std::string line; std::getline(file, line);) {
    const Document document = Document::parse(line, "transformers_5.24.jsonl");
    INFO(document.root().find("type")->text());
    std::optional<model::Model> model;
    try {
      model = read_hugging_face(*document.root().find("config"));
    } catch (const InputError&) {
      continue;
    }
    CHECK(model::flops_per_token(*model, split.sequence) > 0);
    for (const model::Layer& kind : model->kinds) {
      ++kinds;
      const model::Work work = model::work_of(*model, kind, split);
      CHECK_FALSE(work.gemms.empty());
      for (const model::Gemm& gemm : work.gemms) CHECK((gemm.m > 0 && gemm.k > 0 && gemm.n > 0));
      double kept = 0;
      for (const model::KeptTensor& tensor :
           model::kept_tensors(*model, kind, split, model::Recomputation::None, {}))
        kept += tensor.bytes;
      CHECK(kept > 0);
      CHECK_FALSE(model::gradients_for_weight(*model, kind, split).empty());
    }
  }
  CHECK(kinds > 378);
}

/// Forward, of the products of a layer, of so many tokens.
double product_flops(const model::Model& model, const model::Layer& layer, double tokens) {
  double sum = 0;
  for (const model::Matrix& matrix : model::weights_of(model, layer).matrices)
    sum += 2 * tokens * static_cast<double>(matrix.inputs * matrix.outputs) *
           static_cast<double>(matrix.experts == 0 ? 1 : layer.experts->top_k);
  return sum;
}

/// The class's own sizes: the first recorded file that has them.
std::optional<model::Model> usual_model(const std::string& type) {
  std::ifstream file(PIPELOOM_GOLDEN_DIR "/models/transformers_5.24.jsonl");
  for (std::string line; std::getline(file, line);) {
    const Document document = Document::parse(line, "transformers_5.24.jsonl");
    const std::string variant = document.root().find("variant")->text();
    if (document.root().find("type")->text() == type && variant != "odd1" && variant != "odd2")
      return read_hugging_face(*document.root().find("config"));
  }
  return std::nullopt;
}

TEST_CASE("recorded models: FLOPs of a layer's products are those that were counted") {
  // mm, addmm and grouped products of one layer's forward at 256 tokens, counted by a dispatcher on the meta device (torch 2.15.0), kind by kind.
  const std::map<std::string, std::vector<double>> counted = {{"llama", {103616086016}},
                                                              {"qwen3", {172872433664}},
                                                              {"qwen3_moe", {24293408768}},
                                                              {"deepseek_v3", {298735108096, 299674632192}},
                                                              {"gpt_oss", {64739082240}},
                                                              {"gemma3_text", {39862665216}},
                                                              {"glm4_moe", {87174414336, 98314485760}},
                                                              {"mixtral", {201880240128}},
                                                              {"qwen3_next", {32213303296, 35501637632}},
                                                              {"falcon_h1", {119453777920}},
                                                              {"olmo2", {103616086016}},
                                                              {"falcon", {106015227904}},
                                                              {"bloom", {25165824}},
                                                              {"dbrx", {15841886208}},
                                                              {"gpt_neo", {25769803776}},
                                                              {"biogpt", {6442450944}},
                                                              {"bert", {3623878656}},
                                                              {"beam", {214748364800, 215419453440}},
                                                              {"cohere_compass_text", {420906795008}},
                                                              {"minimax_m3_vl_text", {200118632448}}};
  for (const auto& [type, flops] : counted) {
    INFO(type);
    const auto model = usual_model(type);
    REQUIRE(model.has_value());
    std::set<double> found;
    for (const model::Layer& kind : model->kinds) found.insert(product_flops(*model, kind, 256));
    REQUIRE(found.size() == flops.size());
    std::size_t at = 0;
    // The gate of Qwen's shared expert, h weights, is no product here.
    for (const double each : found)
      CHECK(each == Approx(flops[at++]).epsilon(type == "qwen3_next" ? 1e-4 : 1e-12));
  }
}

}  // namespace
}  // namespace pipeloom::io::recorded_models_test
