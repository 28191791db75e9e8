// How the parameters panel speaks of keys.

#include "gui/model/edit/param_words.hpp"

#include <set>
#include <string>
#include <tuple>

#include "gui/model/run/build_run.hpp"
#include "gui/model/session/session.hpp"
#include "study/run/evaluate.hpp"
#include "support/catch.hpp"
#include "support/run_config.hpp"

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
  CHECK(shown("costs.transfer.model", "latency") == "overlapped");
  CHECK(shown("ranks", "8") == "8");
  // Stages that differ: the least and the most.
  CHECK(shown("costs.forward", "36.874492 to 46.109736") == "36.9-46.1 ms");
  CHECK(shown("memory.static_bytes", "900000000 to 3600000000") == "900 MB-3.6 GB");
}

TEST_CASE("parameters: fields of a model's run show what follows from the model") {
  const io::Config config = test::config_of(
      R"({"schedule": "1f1b", "ranks": 2, "microbatches": 4,
          "costs": {"model": "llama3-8b", "hardware": "h100", "tp": 8}})");
  const RunPtr run = build_run(study::evaluate(config), "", RunSource::Configuration, "");
  const auto& forwards = run->costs->duration[static_cast<std::size_t>(OpKind::Forward)];
  Session session;
  HeldValues held(session);
  // Embedding and head make the two stages different: forwards take other times, and both hold the same kept tensors.
  const std::string forward = held.of(key("costs.forward"), run.get());
  const auto [first, last] =
      std::pair(forward.substr(0, forward.find(" to ")), forward.substr(forward.find(" to ") + 4));
  CHECK(std::stod(first) == Approx(static_cast<double>(forwards[0]) / 1e9));
  CHECK(std::stod(last) == Approx(static_cast<double>(forwards[1]) / 1e9));
  CHECK(held.of(key("costs.time_unit"), run.get()) == "ms");
  CHECK(held.of(key("memory.static_bytes"), run.get()).find(" to ") != std::string::npos);
  for (const char* path :
       {"costs.forward", "memory.activation_bytes", "memory.static_bytes", "memory.limit_bytes"})
    CHECK(held.from_model(key(path), run.get()));
  CHECK_FALSE(held.from_model(key("ranks"), run.get()));
  CHECK_FALSE(held.from_model(key("costs.forward"), nullptr));
}

TEST_CASE("parameters: the frameworks have words of their own for the keys of a layout") {
  REQUIRE(dialects_of(key("costs.tp")) != nullptr);
  CHECK(dialects_of(key("costs.tp"))->megatron == "--tensor-model-parallel-size");
  CHECK(dialects_of(key("costs.tp"))->torch == "parallelism.tensor_parallel_degree");
  CHECK(dialects_of(key("costs.backward_weight"))->megatron == "wgrad");
  CHECK(dialects_of(key("memory.limit_bytes")) == nullptr);
}

TEST_CASE("parameters: a table per stage reads as its least and its most") {
  CHECK(summary_of_table("[2.5,2,3]") == "2 to 3");
  CHECK(summary_of_table("[2,2,2]") == "2");
  CHECK(summary_of_table("[\"23.6ms\",1]").empty());
}

TEST_CASE("parameters: in each group no two keys have one name, and each key has a short one") {
  std::set<std::tuple<ParamGroup, std::string>> seen;
  for (const io::Key& each : io::config_keys()) {
    if (each.type == io::KeyType::Object || each.path == "schedule") continue;
    CAPTURE(each.path);
    CHECK(seen.emplace(group_of(each), label_of(each)).second);
    CHECK(label_of(each).size() <= 22);
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
  CHECK(label_of(key("costs.backward_input")) == "Input grad (I)");
  CHECK(is_told_elsewhere(key("costs.per")));
  CHECK_FALSE(is_told_elsewhere(key("step.rule")));
}

TEST_CASE("parameters: a refusal begins with the field's label and says what is allowed") {
  CHECK(subject_of(key("ranks")) == "Ranks");
  CHECK(subject_of(key("costs.transfer.latency")) == "Latency");
  CHECK(label_of(key("costs.forward")) == "Forward (F)");
  CHECK(subject_of(key("costs.backward_weight")) == "Weight grad");
  CHECK(refusal_line(key("ranks"), "ranks is 3.5; it must be a whole number from 1 to 1048576") ==
        "Ranks: a whole number from 1 to 1048576");
  CHECK(refusal_line(key("memory.limit_bytes"), "memory.limit_bytes: memory.limit_bytes is too small") ==
        "Limit is too small");
  CHECK(refusal_line(key("memory.limit_bytes"), "no limit is known") == "Limit: no limit is known");
}

TEST_CASE("parameters: a count is what the configuration's reader takes for one") {
  CHECK(plain_count(key("ranks"), "1e3") == "1000");
  CHECK(plain_count(key("ranks"), " 16 ") == "16");
  CHECK(plain_count(key("ranks"), "8.0") == "8");
  // The reader refuses these, and says why.
  CHECK(plain_count(key("ranks"), "3.5") == "3.5");
  CHECK(plain_count(key("ranks"), "1e99") == "1e99");
  CHECK(plain_count(key("ranks"), "many") == "many");
  // Other keys keep their digits.
  CHECK(plain_count(key("costs.forward"), "1e3") == "1e3");
}

}  // namespace
}  // namespace pipeloom::gui::param_words_test
