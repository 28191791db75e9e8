// The table of targets against what the frameworks took, refused and ran: an own order is named for just the sizes that were taken.

#include <nlohmann/json.hpp>

#include <fstream>
#include <memory>
#include <string>

#include "schedules/generator.hpp"
#include "sim/io/models/find_model.hpp"
#include "study/targets/own_order.hpp"
#include "study/targets/verdict.hpp"
#include "support/catch.hpp"

namespace pipeloom::verdicts_test {
namespace {

nlohmann::json cases_of(const std::string& framework) {
  std::ifstream in(std::string(PIPELOOM_GOLDEN_DIR) + "/targets/" + framework + ".json");
  REQUIRE(in.good());
  return nlohmann::json::parse(in).at("cases");
}

/// The order that the word makes at the recorded sizes; nothing where the registry refuses them by itself.
std::optional<study::Deployment> deployed(const std::string& word, const nlohmann::json& one) {
  const schedules::Found found = schedules::find(word);
  Params params{.ranks = one["p"], .microbatches = one["m"], .chunks = one["v"]};
  if (one.contains("group_size")) params.options.group_size = one["group_size"].get<int>();
  // A size that the framework's own rule refuses is planned with the schedule's defaults: as plans do.
  try {
    if (found.alias != nullptr && found.alias->defaults) found.alias->defaults(params);
  } catch (const ScheduleError&) {
    if (!one.contains("group_size")) params.options.group_size.reset();
  }
  if (!schedules::refusal(*found.generator, params).empty()) return std::nullopt;
  study::Deployment out{.schedule = found.generator->name,
                        .order = std::make_shared<const Schedule>(schedules::make(*found.generator, params))};
  out.layers.assign(static_cast<std::size_t>(out.order->stages()), 2);
  return out;
}

/// Cases where the framework was asked for its word at sizes, not for something else.
bool is_of_sizes(const nlohmann::json& one) {
  return one.contains("p") && one.contains("m") && !one.contains("settings") && !one.contains("layers") &&
         (one.contains("sha256") || one.contains("refused"));
}

int least_chunks(const study::Target& target, const std::string& word) {
  for (const study::OwnOrder& own : target.orders)
    if (own.word == word) return own.min_chunks;
  return 0;
}

struct Counts {
  int taken = 0;
  int refused = 0;
};

/// Each case of PyTorch's classes under the target.
Counts check_classes(const std::string& target_name) {
  const study::Target& target = study::target_named(target_name);
  Counts counts;
  for (const nlohmann::json& one : cases_of(target_name)) {
    if (!is_of_sizes(one) || !one.contains("schedule")) continue;
    INFO(target_name << ' ' << one.dump());
    const std::string word = one["schedule"];
    const auto deployment = deployed(word, one);
    if (!deployment) {
      CHECK(one.contains("refused"));
      continue;
    }
    const study::TargetVerdict verdict = study::verdict_of(target, *deployment);
    if (one.contains("sha256")) {
      // Of two classes with one order at these sizes the first is named; a class of several stages with one comes from a file where its own
      // number of stages is another.
      CHECK(verdict.taken());
      CHECK((!verdict.from_file || least_chunks(target, word) > one["v"].get<int>()));
      ++counts.taken;
    } else {
      CHECK(verdict.word != word);
      ++counts.refused;
    }
  }
  return counts;
}

/// A model of experts with these heads, and its deployment over two ranks.
study::Deployment spread(const nlohmann::json& one, std::int64_t heads, std::int64_t kv_heads) {
  study::Deployment out{
      .schedule = "1f1b",
      .order = std::make_shared<const Schedule>(
          schedules::make(*schedules::find("1f1b").generator, {.ranks = 2, .microbatches = 2, .chunks = 1}))};
  model::Model model = io::find_model("qwen3-30b-a3b", Where{"test"});
  for (model::Layer& layer : model.kinds) {
    layer.attention->heads = heads;
    layer.attention->kv_heads = kv_heads;
  }
  out.model = std::make_shared<const model::Model>(std::move(model));
  out.layers = {24, 24};
  out.split.tensor = one.value("tp", 1);
  out.split.context = one.value("cp", 1);
  out.split.data = one.value("dp", 1);
  out.split.expert = one.value("ep", 1);
  out.split.sequence = one.value("sequence", 4096);
  return out;
}

}  // namespace

TEST_CASE("PyTorch's classes are named for the sizes that they took, and for no others") {
  const Counts torch = check_classes("torch");
  CHECK(torch.taken > 500);
  CHECK(torch.refused > 90);
  const Counts torchtitan = check_classes("torchtitan");
  CHECK(torchtitan.taken > 500);
  CHECK(torchtitan.refused > 60);
}

TEST_CASE("AReaL is told what its engine made, and refused where it made another number of microbatches") {
  const study::Target& target = study::target_named("areal");
  int taken = 0;
  int refused = 0;
  for (const nlohmann::json& one : cases_of("areal")) {
    if (!is_of_sizes(one) || !one.contains("made")) continue;
    INFO(one.dump());
    const auto deployment = deployed(one["schedule"], one);
    if (!deployment) continue;
    const study::TargetVerdict verdict = study::verdict_of(target, *deployment);
    const bool made = one["made"]["kk"] == one["m"];
    CHECK(verdict.taken() == made);
    if (!verdict.taken()) {
      ++refused;
      continue;
    }
    ++taken;
    const bool asks_for_kk = verdict.to_run.text.find("packing_algorithm: \"kk\"") != std::string::npos;
    CHECK(asks_for_kk == (one["made"]["ffd"] != one["m"]));
  }
  CHECK(taken > 100);
  CHECK(refused > 50);
}

TEST_CASE(
    "AReaL is told how experts and heads are spread where its engine deals them out, and nowhere else") {
  const study::Target& target = study::target_named("areal");
  Counts counts;
  for (const nlohmann::json& one : cases_of("areal")) {
    if (!one.contains("heads")) continue;
    INFO(one.dump());
    const bool took = one.contains("taken");
    CHECK(study::verdict_of(target, spread(one, one["heads"], one["kv_heads"])).taken() == took);
    ++(took ? counts.taken : counts.refused);
  }
  CHECK(counts.taken > 60);
  CHECK(counts.refused > 60);
}

TEST_CASE("AReaL is told of models of the types that its engine took, and of no others") {
  const study::Target& target = study::target_named("areal");
  Counts counts;
  for (const nlohmann::json& one : cases_of("areal")) {
    if (!one.contains("model_type")) continue;
    INFO(one.dump());
    study::Deployment deployment = spread({{"tp", 1}}, 32, 4);
    model::Model typed = *deployment.model;
    typed.type = one["model_type"];
    deployment.model = std::make_shared<const model::Model>(std::move(typed));
    const bool took = one.contains("taken");
    CHECK(study::verdict_of(target, deployment).taken() == took);
    ++(took ? counts.taken : counts.refused);
  }
  CHECK(counts.taken == 7);
  CHECK(counts.refused == 8);
}

TEST_CASE("torchtitan's replicas share no experts out, and its samples are cut into equal parts") {
  const study::Target& target = study::target_named("torchtitan");
  Counts counts;
  for (const nlohmann::json& one : cases_of("torchtitan")) {
    if (!one.contains("replicas")) continue;
    INFO(one.dump());
    study::Deployment deployment = spread(one, 32, 4);
    deployment.split.zero = one["replicas"].get<bool>() ? 0 : 3;
    const bool took = one.contains("taken");
    CHECK(study::verdict_of(target, deployment).taken() == took);
    ++(took ? counts.taken : counts.refused);
    if (!took || one["cp"] == 1) continue;  // a sample is a multiple of tp x cp before any target is asked
    const std::int64_t multiple = one["sequence_multiple"];
    deployment.split.sequence = 3 * multiple + multiple / 2;
    CHECK_FALSE(study::verdict_of(target, deployment).taken());
    deployment.split.sequence = 3 * multiple;
    CHECK(study::verdict_of(target, deployment).taken());
  }
  CHECK(counts.taken > 100);
  CHECK(counts.refused > 10);
}

TEST_CASE("Megatron-core is told a sample that its context ranks cut into two parts each") {
  int compared = 0;
  for (const nlohmann::json& one : cases_of("megatron")) {
    if (!one.contains("sequence")) continue;
    INFO(one.dump());
    CHECK(study::verdict_of(study::target_named("megatron"), spread(one, 32, 4)).taken() ==
          !one.contains("refused"));
    ++compared;
  }
  CHECK(compared == 5);
}

TEST_CASE("Megatron-core is told the group sizes that it took, and no others") {
  const study::Target& target = study::target_named("megatron");
  int taken = 0;
  int refused = 0;
  for (const nlohmann::json& one : cases_of("megatron")) {
    if (!is_of_sizes(one)) continue;
    INFO(one.dump());
    const bool overlapped = one.contains("overlapped");
    const auto deployment = deployed(one["v"] == 1 ? "1f1b"
                                     : overlapped  ? "interleaved-1f1b-overlap"
                                                   : "interleaved-1f1b",
                                     one);
    if (!deployment) continue;
    const study::TargetVerdict verdict = study::verdict_of(target, *deployment);
    CHECK(verdict.taken() == one.contains("sha256"));
    ++(verdict.taken() ? taken : refused);
  }
  CHECK(taken > 400);
  CHECK(refused > 300);
}

}  // namespace pipeloom::verdicts_test
