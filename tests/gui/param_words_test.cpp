// How the parameters panel speaks of keys.

#include "gui/model/edit/param_words.hpp"

#include <set>
#include <string>
#include <tuple>

#include "support/catch.hpp"

namespace pipeloom::gui::param_words_test {
namespace {

const io::Key& key(std::string_view path) {
  const io::Key* found = io::find_config_key(path);
  REQUIRE(found != nullptr);
  return *found;
}

std::string shown(std::string_view path, std::string_view value, std::string_view unit = "ms") {
  const ShownValue text = shown_of(key(path), value, unit);
  return text.unit.empty() ? text.text : text.text + " " + text.unit;
}

TEST_CASE("parameters: values read with their units, whether typed with one or not") {
  CHECK(shown("costs.forward", "14.2") == "14.2 ms");
  CHECK(shown("costs.forward", "23.6us") == "23.6 us");
  CHECK(shown("costs.forward", "1", "unit") == "1 unit");
  CHECK(shown("costs.forward", "1.5", "unit") == "1.5 units");
  CHECK(shown("costs.forward", "[1,2]") == "[1,2]");
  CHECK(shown("memory.limit_bytes", "80000000000") == "80.0 GB");
  CHECK(shown("memory.limit_bytes", "80GiB") == "80 GiB");
  CHECK(shown("memory.limit_bytes", "null") == "none");
  // Activations that nobody gave a size are counted.
  CHECK(shown("memory.activation_bytes", "1") == "1");
  CHECK(shown("costs.transfer.bandwidth_gbps", "400") == "400 Gbit/s");
  CHECK(shown("costs.transfer.model", "latency") == "hidden latency");
  CHECK(shown("ranks", "8") == "8");
}

TEST_CASE("parameters: in each group no two keys have one name, and each key has a short one") {
  std::set<std::tuple<ParamGroup, std::string>> seen;
  for (const io::Key& each : io::config_keys()) {
    if (each.type == io::KeyType::Object || each.path == "schedule") continue;
    CAPTURE(each.path);
    CHECK(seen.emplace(group_of(each), label_of(each)).second);
    CHECK(label_of(each).size() <= 18);
  }
}

TEST_CASE("parameters: times of the schedule's kinds of ops have rows, of others none") {
  const KindSet split{OpKind::Forward, OpKind::BackwardInput, OpKind::BackwardWeight};
  CHECK(is_main(key("costs.backward_input"), split));
  CHECK_FALSE(is_main(key("costs.backward"), split));
  CHECK(is_main(key("ranks"), split));
  CHECK_FALSE(is_main(key("costs.rank_scale"), split));
  CHECK(group_of(key("costs.transfer.latency")) == ParamGroup::Costs);
  CHECK(group_of(key("costs.tp")) == ParamGroup::Model);
  CHECK(label_of(key("costs.backward_input")) == "I");
  CHECK(is_told_elsewhere(key("costs.per")));
  CHECK_FALSE(is_told_elsewhere(key("step.rule")));
}

}  // namespace
}  // namespace pipeloom::gui::param_words_test
