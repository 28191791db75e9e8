// Layers that run again, as Megatron-core was recorded to run them (tests/golden/targets/megatron.json): the reader of its arguments, what a
// stage takes and keeps, and the arguments that a plan prints.

#include <nlohmann/json.hpp>

#include <fstream>
#include <memory>
#include <string>

#include "sim/estimate/estimate.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "sim/io/models/find_model.hpp"
#include "sim/model/tensors.hpp"
#include "support/catch.hpp"

namespace pipeloom::recompute_test {
namespace {

using estimate::Category;
using nlohmann::json;

std::vector<json> cases() {
  std::ifstream in(std::string(PIPELOOM_GOLDEN_DIR) + "/targets/megatron.json");
  REQUIRE(in.good());
  const json record = json::parse(in);
  std::vector<json> out;
  for (const json& one : record.at("cases"))
    if (one.contains("words")) out.push_back(one);
  return out;
}

/// Arguments of a small model with these of recomputation.
std::string arguments_of(const json& one) {
  std::string out =
      "--hidden-size 256 --num-attention-heads 16 --vocab-size 1024 --seq-length 1024 --num-layers " +
      one["stage_layers"].dump();
  for (const std::string word : one["words"]) out += ' ' + word;
  return out;
}

/// The one stage of a model, which keeps what this says.
estimate::Stage stage_of(const model::Model& model, const std::optional<RecomputeOption>& recompute) {
  estimate::Setting setting;
  setting.model = std::make_shared<const model::Model>(model);
  setting.hardware = io::find_hardware("h100", {});
  setting.split.sequence = model.sequence;
  if (recompute) {
    setting.recomputation = model::Recomputation::Full;
    setting.layers_again = recompute->layers;
    setting.method = recompute->method;
  }
  const int layers[] = {static_cast<int>(model.layers.size())};
  return estimate::estimate(setting, layers).stages.front();
}

Bytes activations(const estimate::Stage& stage) {
  return stage.bytes.of(Category::UntilInput) + stage.bytes.of(Category::UntilWeight);
}

}  // namespace

TEST_CASE("layers that run again are those that Megatron-core runs again") {
  int compared = 0;
  for (const json& one : cases()) {
    if (!one.contains("run_again")) continue;
    INFO(one.dump());
    const model::Model model = io::find_model(arguments_of(one), {});
    REQUIRE(model.recompute);
    const estimate::Stage stage = stage_of(model, model.recompute);
    const estimate::Stage none = stage_of(model, std::nullopt);
    const auto layers = one["stage_layers"].get<int>();
    // A layer keeps 2 T h bytes where it runs again, its input; the whole of its activations where it does not.
    const Bytes input = 2 * 1024 * 256;
    const Bytes whole = activations(none) / layers;
    int again = 0;
    std::size_t largest = 0;
    for (const json& group : one["run_again"]) {
      again += static_cast<int>(group.size());
      largest = std::max(largest, group.size());
    }
    const auto groups = static_cast<int>(one["run_again"].size());
    CHECK(activations(stage) == groups * input + (layers - again) * whole);
    CHECK(stage.stash == activations(stage));
    // Each of them takes the forward of a layer once more; embedding and head, the rest of F, do not run again.
    const RecomputeOption all{.on = true};
    CHECK(stage.recomputed_ticks == Approx(stage_of(model, all).recomputed_ticks * again / layers));
    // While a group runs again its activations are back, but for the input that was kept.
    const Bytes back = static_cast<Bytes>(largest) * whole - input;
    CHECK(stage.bytes.of(Category::Temporaries) - none.bytes.of(Category::Temporaries) == back);
    ++compared;
  }
  CHECK(compared == 24);
}

TEST_CASE("arguments of recomputation that Megatron-core refuses are refused") {
  int refused = 0;
  for (const json& one : cases()) {
    if (!one.contains("refused")) continue;
    INFO(one.dump());
    CHECK_THROWS_AS(io::find_model(arguments_of(one), {}), InputError);
    ++refused;
  }
  CHECK(refused == 4);
}

}  // namespace pipeloom::recompute_test
