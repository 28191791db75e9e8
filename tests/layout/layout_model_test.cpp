#include "sim/io/formats/layout_model.hpp"

#include <sstream>

#include <pipeloom/error.hpp>
#include "sim/io/formats/formats.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::layout_model_test {
namespace {

LayoutModel read(const std::string& text) {
  return read_layout_model(Document::parse(text, "model.json").root());
}

std::string refusal_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const InputError& error) {
    return error.line();
  }
  return "";
}

std::string layout_string(const Placement& placement) {
  ScheduleBuilder builder(placement, 1);
  for (Rank rank{0}; rank < Rank(placement.ranks()); ++rank) builder.begin_rank(rank);
  const Schedule schedule = std::move(builder).build();
  Exported exported;
  exported.schedule = &schedule;
  std::ostringstream out;
  find_format("megatron-layout").write(out, exported);
  return out.str();
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("layout model: layers and weights") {
  CHECK(read(R"({"layers": 32})").layers == 32);
  CHECK_FALSE(read(R"({"layers": 32})").weights.has_value());
  const LayoutModel model = read(R"({"layer_weights": [1, 2, 3e9], "embedding_weight": 5, "mtp": 1})");
  CHECK(model.layers == 3);
  CHECK(model.mtp == 1);
  CHECK(model.weights->layers == std::vector<std::int64_t>{1, 2, 3000000000});
  CHECK(model.weights->embedding == 5);
  CHECK(model.weights->output == 0);
  CHECK(read(R"({"layers": 2, "layer_weights": 7})").weights->layers == std::vector<std::int64_t>{7, 7});
  CHECK(read(R"({"layers": 2, "output_weight": 7})").weights->layers == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("layout model: refusals say where and what") {
  CHECK_THAT(refusal_of("[]"), Contains("model.json:1:1: error: a model is an object"));
  CHECK_THAT(refusal_of("{}"), Contains("the number of layers is missing"));
  CHECK_THAT(refusal_of(R"({"layer": 3})"),
             Contains("1:2: error: unknown key of a model 'layer'; did you mean 'layers'"));
  CHECK_THAT(refusal_of(R"({"layers": 0})"),
             Contains("layers is 0; it must be a whole number from 1 to 1048576"));
  CHECK_THAT(refusal_of(R"({"layers": "x"})"), Contains("layers is the string 'x'"));
  CHECK_THAT(refusal_of(R"({"layers": 3, "layer_weights": [1]})"),
             Contains("1:32: error: layer_weights has 1 numbers, but layers is 3"));
  CHECK_THAT(refusal_of(R"({"layers": 3, "output_weight": -1})"), Contains("output_weight is -1"));
  CHECK_THAT(refusal_of(R"({"layers": 3, "output_weight": 1.5})"), Contains("output_weight is 1.5"));
}

TEST_CASE("format megatron-layout: loop placements, one layer per stage") {
  CHECK(layout_string(Placement::loop(4, 2)) == "Et|(t|)*6,tL\n");
  CHECK(layout_string(Placement::linear(2)) == "Et|tL\n");
  CHECK(layout_string(Placement::linear(1)) == "EtL\n");
  CHECK_THROWS_WITH(layout_string(Placement::wave(2, 2)), Contains("stage 2 is on rank 1"));
  CHECK_THROWS_WITH(read_schedule("Et|tL", "file", "megatron-layout"), Contains("see `pipeloom layout"));
}

}  // namespace pipeloom::io::layout_model_test
