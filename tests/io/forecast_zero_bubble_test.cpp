// Op times that the zero-bubble paper profiled on A100 (tests/golden/measured/zero_bubble.json), from the preset alone: nothing was fitted to them.

#include <array>
#include <cmath>
#include <map>
#include <string>

#include "io/forecast_rows.hpp"
#include "sim/hardware/layer_time.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "support/catch.hpp"

namespace pipeloom::io::forecast_zero_bubble_test {

using namespace forecast;

TEST_CASE("forecast: the zero-bubble paper's op times from the A100 preset") {
  // Table 3 there: layers, hidden, heads; the first and the last stage hold one layer less. Sequences of 1024 tokens; scores are in memory.
  struct Shape {
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
  };
  const std::map<std::string, Shape> shapes = {{"6.2B", {30, 4096, 32}}, {"28.3B", {62, 6144, 48}}};
  const auto a100 = find_hardware("a100", {});
  const std::string path = std::string(PIPELOOM_GOLDEN_DIR) + "/measured/zero_bubble.json";
  const Document document = Document::parse(read_file(path), path);
  Errors sums;
  Errors passes;
  for (const Value& row : document.root().find("rows")->items()) {
    const Shape& shape = shapes.at(row.find("model")->text());
    const auto model = gpt_of(shape.layers, shape.hidden, shape.heads, 1024);
    model::Split split;
    split.sequence = 1024;
    split.micro_batch = whole(row, "samples_per_microbatch");
    split.sequence_parallel = false;
    split.flash = false;
    const auto layer = layer_time(*a100, work_of(model, model.kinds[0], split), split, model.norm);
    const auto layers = static_cast<double>((shape.layers + 2) / whole(row, "ranks"));
    const std::array<const char*, 3> keys = {"forward_us", "backward_input_us", "backward_weight_us"};
    double measured = 0;
    for (std::size_t pass = 0; pass < keys.size(); ++pass) {
      const double seconds = row.find(keys[pass])->number() * 1e-6;
      passes.add(seconds, layers * layer.passes[pass].total());
      measured += seconds;
    }
    sums.add(measured, layers * layer.total());
  }
  REQUIRE(sums.percent.size() == 6);
  print("zero bubble, F + I + W", sums);
  print("zero bubble, each pass", passes);
  CHECK(sums.largest() <= 2);
  CHECK(passes.largest() <= 11);
}

}  // namespace pipeloom::io::forecast_zero_bubble_test
