// Model files of layers that were counted, as pipeloom.torch.model writes them.

#include <string>

#include "sim/io/json/json_value.hpp"
#include "sim/io/models/model_readers.hpp"
#include "sim/model/parameters.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::counted_model_test {
namespace {

using Catch::Matchers::Contains;

const std::string kFile = R"({
"hidden": 8, "vocabulary": 100, "final_norm": false, "sequence": 16, "tables": 5,
"kinds": {"A": {"name": "Block", "counted": {"parameters": 576, "active": 480, "flops": [10, 20, 30],
"products": [[32, 8, 32, 1, 2]], "inner": [[32, 4, 16, 2, 1]], "attention": [[2, 16, 16, 2, 1, 4, 4, 136, 1]],
"elementwise": [1000, 2000], "kernels": [3, 5], "kept": 700, "kept_for_weights": 400, "input": 64, "gradients": 90,
"sequence": 16, "micro_batch": 2}}},
"layers": "AA",
"modules": {"embedding": "embed", "layers": ["layers.0", "layers.1"], "head": "head"}
})";

model::Model read(const std::string& text) {
  return read_model(Document::parse(text, "model.json").root());
}

void refuses(const std::string& what, const std::string& other, const std::string& message) {
  std::string text = kFile;
  const auto at = text.find(what);
  REQUIRE(at != std::string::npos);
  CHECK_THROWS_WITH(read(text.replace(at, what.size(), other)), Contains(message));
}

TEST_CASE("counted model files: every number is read") {
  const model::Model found = read(kFile);
  CHECK(model::parameters_of(found) == 2 * 576 + 5 + 2 * 100 * 8);
  REQUIRE(found.kinds[0].counted);
  const model::Counted& counted = *found.kinds[0].counted;
  CHECK(counted.active == 480);
  CHECK(counted.flops == std::array<std::int64_t, 3>{10, 20, 30});
  REQUIRE(counted.products.size() == 1);
  CHECK(counted.products[0].outputs == 32);
  CHECK(counted.products[0].times == 2);
  REQUIRE(counted.inner.size() == 1);
  CHECK(counted.inner[0].groups == 2);
  REQUIRE(counted.attention.size() == 1);
  CHECK(counted.attention[0].pairs == 136);
  CHECK(counted.elementwise[1] == 2000);
  CHECK(counted.kernels[1] == 5);
  CHECK(counted.kept == 700);
  CHECK(counted.kept_for_weights == 400);
  CHECK(counted.input == 64);
  CHECK(counted.gradients == 90);
  CHECK(counted.sequence == 16);
  CHECK(counted.micro_batch == 2);
  REQUIRE(found.modules);
  CHECK(found.modules->embedding == "embed");
  CHECK(found.modules->layers == std::vector<std::string>{"layers.0", "layers.1"});
  CHECK(found.modules->norm.empty());
  CHECK(found.modules->head == "head");
}

TEST_CASE("counted model files: what is wrong is said with its place") {
  refuses("[10, 20, 30]", "[10, 20]", "it must be 3 whole numbers");
  refuses("[[32, 8, 32, 1, 2]]", "[[32, 8, 32]]", "it must be rows of 5 whole numbers");
  refuses("136, 1]", "257, 1]",
          "pairs of an attention of layer 'A' is 257; it must be a whole number from 1 to 256");
  refuses("\"kept\": 700, ", "", "kept");
  refuses("[\"layers.0\", \"layers.1\"]", "[\"layers.0\"]", "it must be 2 names, one a layer");
  refuses("\"layers.1\"", "1", "modules.layers is 1; it must be a name such as \"model.layers.0\"");
  refuses("\"name\": \"Block\"", "\"mlp\": {\"ffn\": 8}", "was counted and has parts besides");
}

}  // namespace
}  // namespace pipeloom::io::counted_model_test
