// The table of targets against what the frameworks took, refused and ran: an own order is named for just the sizes that were taken.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <numeric>
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

/// 1F1B of two microbatches.
study::Deployment one_after_the_other(int ranks) {
  const schedules::Generator& generator = *schedules::find("1f1b").generator;
  return {.schedule = "1f1b",
          .order = std::make_shared<const Schedule>(
              schedules::make(generator, {.ranks = ranks, .microbatches = 2, .chunks = 1}))};
}

/// A model of experts with these heads, and its deployment over `pp` ranks, two if that is not given.
study::Deployment spread(const nlohmann::json& one, std::int64_t heads, std::int64_t kv_heads) {
  const int ranks = one.value("pp", 2);
  study::Deployment out = one_after_the_other(ranks);
  model::Model model = io::find_model("qwen3-30b-a3b", Where{"test"});
  for (model::Layer& layer : model.kinds) {
    layer.attention->heads = heads;
    layer.attention->kv_heads = kv_heads;
  }
  out.model = std::make_shared<const model::Model>(std::move(model));
  out.layers.assign(static_cast<std::size_t>(ranks), 48 / ranks);
  out.split.pipeline = ranks;
  out.split.zero = one.value("zero", 1);
  out.split.tensor = one.value("tp", 1);
  out.split.context = one.value("cp", 1);
  out.split.data = one.value("dp", 1);
  out.split.expert = one.value("ep", 1);
  out.split.sequence = one.value("sequence", 4096);
  return out;
}

/// True if a need says these words.
bool needs_word(const study::TargetVerdict& verdict, std::string_view words) {
  return std::ranges::any_of(verdict.to_run.needs,
                             [&](const std::string& need) { return need.find(words) != std::string::npos; });
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
    deployment.split.sequence = 3 * std::lcm(multiple, target.context_tokens * deployment.split.context);
    CHECK(study::verdict_of(target, deployment).taken());
  }
  CHECK(counts.taken > 100);
  CHECK(counts.refused > 10);
}

TEST_CASE(
    "torchtitan is told samples of whole blocks for its context ranks, and of the attention that has these") {
  const study::Target& target = study::target_named("torchtitan");
  Counts counts;
  for (const nlohmann::json& one : cases_of("torchtitan")) {
    if (!one.contains("sequence")) continue;
    INFO(one.dump());
    const bool took = one.contains("taken");
    const study::TargetVerdict verdict = study::verdict_of(target, spread(one, 32, 4));
    CHECK(verdict.taken() == took);
    ++(took ? counts.taken : counts.refused);
  }
  CHECK(counts.taken == 4);
  CHECK(counts.refused == 6);
  int refused = 0;
  for (const nlohmann::json& one : cases_of("torchtitan")) {
    if (!one.contains("attention")) continue;
    INFO(one.dump());
    const bool took = one.contains("taken");
    const bool is_flexible = one["attention"] == "flex";
    CHECK(took == (is_flexible || one["cp"] == 1));
    CHECK(needs_word(study::verdict_of(target, spread(one, 32, 4)), "FlexAttention") == (one["cp"] != 1));
    refused += took ? 0 : 1;
  }
  CHECK(refused == 1);
}

TEST_CASE("torchtitan has layers for multi-token prediction where it built them, and nowhere else") {
  Counts counts;
  for (const nlohmann::json& one : cases_of("torchtitan")) {
    if (!one.contains("mtp")) continue;
    INFO(one.dump());
    study::Deployment deployment = spread(one, 32, 4);
    model::Model predicting = *deployment.model;
    predicting.mtp = one["mtp"];
    predicting.mtp_letter = predicting.layers.front();
    deployment.model = std::make_shared<const model::Model>(std::move(predicting));
    const bool took = one.contains("taken");
    CHECK(study::verdict_of(study::target_named("torchtitan"), deployment).taken() == took);
    ++(took ? counts.taken : counts.refused);
  }
  CHECK(counts.taken == 4);
  CHECK(counts.refused == 2);
}

TEST_CASE("Megatron-core is told to share out gradients and weights as it took it, and without a pipeline") {
  const study::Target& target = study::target_named("megatron");
  Counts counts;
  for (const nlohmann::json& one : cases_of("megatron")) {
    if (!one.contains("zero")) continue;
    INFO(one.dump());
    const study::TargetVerdict verdict = study::verdict_of(target, spread(one, 32, 4));
    if (one["pp"] !=
        1) {  // its arguments are accepted, but no estimate has what each microbatch would exchange
      CHECK(verdict.reason.find("beside a pipeline (ZeRO 1)") != std::string::npos);
      continue;
    }
    const bool took = one.contains("taken");
    const bool other_environment = !one["environment"].empty();
    CHECK((verdict.to_run.text.find(one["arguments"].get<std::string>()) != std::string::npos) ==
          (took || other_environment));
    CHECK(needs_word(verdict, "CUDA_DEVICE_MAX_CONNECTIONS=1, which Megatron-FSDP refuses"));
    ++(took ? counts.taken : counts.refused);
  }
  CHECK(counts.taken == 10);
  CHECK(counts.refused == 4);
}

TEST_CASE("context ranks hold shards as data ranks do: ZeRO 3 beside a pipeline is refused there too") {
  const study::Target& target = study::target_named("megatron");
  CHECK_FALSE(study::verdict_of(target, spread({{"zero", 3}, {"cp", 2}}, 32, 4)).taken());
  CHECK_FALSE(study::verdict_of(target, spread({{"zero", 3}, {"tp", 4}, {"ep", 2}}, 32, 4)).taken());
  CHECK(study::verdict_of(target, spread({{"zero", 3}, {"tp", 4}}, 32, 4)).taken());  // nothing is shared out
}

TEST_CASE(
    "Megatron-core's block has the environment, the dispatcher and the products of experts that it asks "
    "for") {
  const study::Target& target = study::target_named("megatron");
  int refused = 0;
  for (const nlohmann::json& one : cases_of("megatron")) {
    if (!one.contains("environment") || one.contains("zero")) continue;
    INFO(one.dump());
    const bool needs =
        needs_word(study::verdict_of(target, spread(one, 32, 4)), "CUDA_DEVICE_MAX_CONNECTIONS=1");
    CHECK(needs == (one["tp"] != 1 || one["cp"] != 1));
    CHECK(one.contains("refused") == (needs && one["environment"].empty()));
    refused += one.contains("refused") ? 1 : 0;
  }
  CHECK(refused == 2);

  int modules = 0;
  for (const nlohmann::json& one : cases_of("megatron")) {
    if (!one.contains("arguments") || one.contains("zero")) continue;
    INFO(one.dump());
    const std::string words = one["arguments"];
    study::Deployment deployment = spread({{"dp", 8}, {"ep", 8}}, 32, 4);
    deployment.recompute.modules = words.find("moe_act") != std::string::npos     ? "moe_act"
                                   : words.find("layernorm") != std::string::npos ? "layernorm"
                                                                                  : "mlp";
    const std::string text = study::verdict_of(target, deployment).to_run.text;
    CHECK(text.find("--moe-token-dispatcher-type alltoall") != std::string::npos);
    CHECK(text.ends_with(words) == one.contains("taken"));
    ++modules;
  }
  CHECK(modules == 4);
}

TEST_CASE(
    "Megatron-core's context ranks share heads out where windows and learned scores keep them from a ring") {
  const study::Target& target = study::target_named("megatron");
  const auto text = [&](const std::string& model, int tensor, int context) {
    study::Deployment deployment = spread({{"tp", tensor}, {"cp", context}}, 64, 8);
    model::Model found = io::find_model(model, Where{"test"});
    const auto layers = static_cast<int>(found.layers.size());
    deployment.layers = {layers / 2, layers - layers / 2};
    deployment.model = std::make_shared<const model::Model>(std::move(found));
    return study::verdict_of(target, deployment).to_run.text;
  };
  CHECK(text("gpt-oss-120b", 1, 2).find("--cp-comm-type a2a") != std::string::npos);
  CHECK(text("gpt-oss-120b", 1, 1).find("--cp-comm-type") == std::string::npos);
  CHECK(text("gpt-oss-120b", 4, 4).empty());  // 8 key/value heads for 16 ranks, and learned scores
  CHECK(text("olmo3-32b", 1, 4).find("--cp-comm-type a2a") != std::string::npos);
  CHECK(text("olmo3-32b", 4, 4).find("--cp-comm-type all_gather") != std::string::npos);
  CHECK(text("llama3-8b", 1, 2).find("--cp-comm-type") == std::string::npos);
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
