// Models and splits that make no sense.

#include <functional>
#include <string>

#include "sim/model/check.hpp"
#include "sim/model_shapes.hpp"
#include "support/catch.hpp"

namespace pipeloom::model::model_check_test {
namespace {

using namespace shapes;
using Catch::Matchers::Contains;

void refuses(const std::function<void(Model&)>& change, const std::string& message) {
  Model model = llama({4, 1024, 4096, 16, 4, 32000});
  model.where = {"model.json", 3, 1};
  check(model);
  change(model);
  CHECK_THROWS_WITH(check(model), Contains(message));
}

TEST_CASE("model check: sizes and letters") {
  refuses([](Model& m) { m.layers.clear(); }, "the model has no layers");
  refuses([](Model& m) { m.layers = "TX"; }, "layer letter 'X' has no kind; known are: T");
  refuses([](Model& m) { m.kinds.push_back(m.kinds[0]); }, "two kinds of layers have the letter 'T'");
  refuses([](Model& m) { m.vocabulary = 0; },
          "vocabulary of the model is 0; it must be a whole number from 1");
  refuses([](Model& m) { m.hidden = -1; }, "hidden of the model is -1");
  refuses([](Model& m) { m.hidden = 0; }, "the hidden size is missing or 0, and the model has no profile");
  refuses([](Model& m) { m.kinds[0].attention->heads = 6; }, "heads of layer 'T' is 6, no multiple of its 4");
  refuses([](Model& m) { m.kinds[0].latent_attention = LatentAttention{8, 0, 8, 8, 8, 8}; },
          "layer 'T' has two mixers of a kind");
  refuses([](Model& m) { m.kinds[0].experts = Experts{8, 2, 64}; }, "has an mlp and experts");
  refuses([](Model& m) { m.kinds[0] = Layer{}; }, "neither a mixer nor a feed-forward part");
  refuses(
      [](Model& m) {
        m.kinds[0].mlp.reset();
        m.kinds[0].experts = Experts{8, 9, 64};
      },
      "top_k of layer 'T' is 9, more than its 8 experts");
  refuses(
      [](Model& m) {
        m.kinds[0].mlp.reset();
        m.kinds[0].experts = Experts{1 << 16, 2, 1 << 24};
        m.hidden = 1 << 24;
      },
      "parameters; at most");
  refuses(
      [](Model& m) {
        m.mtp = 1;
        m.mtp_letter = 'D';
      },
      "the MTP layers' letter 'D' has no kind");
}

TEST_CASE("model check: an encoder's ends") {
  const auto refuses_layer = [](const std::function<void(Layer&)>& change, const std::string& message) {
    refuses([&](Model& m) { m = encoder(), change(m.kinds.back()); }, message);
  };
  refuses_layer([](Layer& l) { l.before.resize(5); }, "there are 5 products before layer 'P'; at most 4");
  refuses_layer([](Layer& l) { l.beside.resize(9); }, "there are 9 products beside layer 'P'; at most 8");
  refuses_layer([](Layer& l) { l.before[0].inputs = 0; }, "inputs of a product before layer 'P' is 0");
  refuses_layer([](Layer& l) { l.behind[0].tokens = -1; }, "tokens of a product behind layer 'P' is -1");
  refuses_layer(
      [](Layer& l) { l.before[0].outputs = 32; },
      "outputs of the last product before layer 'P' is 32; it must be 64, the width that follows it");
  refuses_layer([](Layer& l) { l.tables = -1; }, "tables of layer 'P' is -1");
}

TEST_CASE("model check: a profile alone needs times for its letters") {
  Model model;
  Layer layer;
  layer.letter = 'M';
  model.kinds = {layer};
  model.layers = "MM";
  model.profile.emplace();
  model.profile->ticks['M'] = {1, 2, 3};
  check(model);
  CHECK_FALSE(has_sizes(model));
  model.profile->ticks.clear();
  CHECK_THROWS_WITH(check(model), Contains("layer letter 'M' has no times"));
}

void refuses_split(const std::function<void(Split&)>& change, const std::string& message) {
  const Model model = llama({4, 1024, 4096, 16, 4, 32000});
  Split split;
  split.sequence = 4096;
  check(model, split, {});
  change(split);
  CHECK_THROWS_WITH(check(model, split, {"--tp", 0, 0}), Contains(message));
}

TEST_CASE("model check: splits") {
  const Model six = llama({4, 1536, 4608, 24, 6, 32000});
  Split eight;
  eight.sequence = 4096;
  eight.tensor = 8;
  CHECK_THROWS_WITH(
      check(six, eight, {"--tp", 0, 0}),
      Contains("tensor parallelism (tp) is 8, but the number of key/value heads of layer 'T' is "
               "6; tp must divide it, or be a multiple of it"));
  eight.tensor = 12;
  eight.sequence = 12 * 256;
  check(six, eight, {"--tp", 0, 0});
  refuses_split([](Split& s) { s.tensor = 32; }, "number of heads of layer 'T' is 16; tp must divide it");
  refuses_split([](Split& s) { s.tensor = 3; },
                "which 3 ranks of tensor and context parallelism cannot share");
  refuses_split([](Split& s) { s.context = 0; }, "context parallelism (cp) is 0");
  refuses_split([](Split& s) { s.expert = 2; }, "has no experts to share; leave ep out");
  refuses_split([](Split& s) { s.zero = 4; }, "zero is 4; it must be a whole number from 0 to 3");
  refuses_split([](Split& s) { s.documents = {4000}; }, "the documents have 4000 tokens together");
  refuses_split([](Split& s) { s.micro_batch = 0; }, "the microbatch (micro_batch) is 0");

  const Model model = gpt(2, 1024, 16, 1024);
  Split split;
  split.sequence = 2048;
  CHECK_THROWS_WITH(check(model, split, {}), Contains("but the model has 1024 positions"));
}

TEST_CASE("model check: splits of experts") {
  Model model = llama({4, 1024, 4096, 16, 4, 32000});
  model.kinds[0].mlp.reset();
  model.kinds[0].experts = Experts{8, 2, 512};
  Split split;
  split.sequence = 4096;
  split.data = 3;
  split.expert = 2;
  CHECK_THROWS_WITH(check(model, split, {}), Contains("tp x cp x dp is 3; ep must divide it"));
  split.data = 16;
  split.expert = 16;
  CHECK_THROWS_WITH(check(model, split, {}), Contains("layer 'T' has 8 experts; ep must divide it"));
  split.expert = 8;
  split.tensor = 2;
  check(model, split, {});
  split.sequence_parallel = false;
  CHECK_THROWS_WITH(check(model, split, {}), Contains("tensor parallelism needs sequence parallelism"));
}

}  // namespace
}  // namespace pipeloom::model::model_check_test
