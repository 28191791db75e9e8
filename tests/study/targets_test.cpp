// What each framework runs and is told. Sizes and orders that were refused or differed when the frameworks ran are named one by one;
// tests/golden/targets has them by the thousand.

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <pipeloom/error.hpp>
#include "schedules/generator.hpp"
#include "study/run/assignments.hpp"
#include "study/run/evaluate.hpp"
#include "study/targets/verdict.hpp"
#include "support/catch.hpp"

namespace targets_test {
using namespace pipeloom;

namespace {

using study::Assignments;
using study::Deployment;
using study::target_named;
using study::TargetVerdict;
using study::verdict_of;

Deployment deployed(const Assignments& assignments) {
  const io::Config config = study::config_of(assignments);
  const Run run = study::evaluate(config, {}, study::Depth::Metrics);
  return study::deployment_of(run, config, schedules::find(config.schedule).generator->name);
}

Assignments sized(const std::string& schedule, int ranks, int microbatches, int chunks) {
  return {{"schedule", '"' + schedule + '"'},
          {"ranks", std::to_string(ranks)},
          {"microbatches", std::to_string(microbatches)},
          {"chunks", std::to_string(chunks)}};
}

/// Of a model whose type is not known: AReaL has no Llama.
TargetVerdict verdict(const std::string& target, const Assignments& assignments) {
  Deployment run = deployed(assignments);
  if (run.model) {
    model::Model untyped = *run.model;
    untyped.type.clear();
    run.model = std::make_shared<const model::Model>(std::move(untyped));
  }
  return verdict_of(target_named(target), run);
}

std::string setting(const TargetVerdict& verdict, const std::string& key) {
  for (const study::Setting& one : verdict.to_run.settings)
    if (one.key == key) return one.value;
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Assignments with(Assignments assignments, const std::string& key, const std::string& value) {
  assignments[key] = value;
  return assignments;
}

constexpr const char* kGroupSize = "options.group_size";
constexpr const char* kMegatronN = "--microbatch-group-size-per-virtual-pipeline-stage";

}  // namespace

TEST_CASE("a target is named with its release or without") {
  CHECK(target_named("torch").spelling() == "torch-2.15");
  CHECK(target_named("2.15").spelling() == "torch-2.15");
  CHECK(target_named("torch-2.13").spelling() == "torch-2.13");
  CHECK(target_named("torchtitan").spelling() == "torchtitan-0.3.0");
  CHECK(target_named("areal-1.0.4").spelling() == "areal-1.0.4");
  CHECK(target_named("megatron").spelling() == "megatron-core-0.19.2");
  CHECK(target_named("megatron-core").spelling() == "megatron-core-0.19.2");
  CHECK(target_named("megatron-core-0.19.2").name == "megatron");
  for (const char* unknown : {"megatron-0.18", "torch-2.9", "torchtitan-", "", "jax"})
    CHECK_THROWS_AS(target_named(unknown), InputError);
}

TEST_CASE("Megatron-core takes N from p to m, and no short last group") {
  // 7 = 4 + 3, and 3 < p.
  const TargetVerdict refused = verdict("megatron", sized("interleaved-1f1b", 4, 7, 4));
  CHECK_FALSE(refused.taken());
  CHECK(holds(refused.reason, "the last group has 3 microbatches, and must have 0 or at least 4"));

  const TargetVerdict taken = verdict("megatron", with(sized("interleaved-1f1b", 4, 7, 4), kGroupSize, "7"));
  REQUIRE(taken.taken());
  CHECK(setting(taken, kMegatronN) == "7");
  CHECK(setting(taken, "--num-virtual-stages-per-pipeline-rank") == "4");
  CHECK(setting(taken, "--global-batch-size") == "7");
  CHECK(taken.to_run.text ==
        "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 4 "
        "--microbatch-group-size-per-virtual-pipeline-stage 7 --micro-batch-size 1 --global-batch-size 7");

  CHECK(setting(verdict("megatron", with(sized("interleaved-1f1b", 4, 10, 2), kGroupSize, "5")),
                kMegatronN) == "5");
  CHECK_FALSE(verdict("megatron", with(sized("interleaved-1f1b", 4, 10, 2), kGroupSize, "3")).taken());
  CHECK(verdict("megatron", sized("1f1b", 4, 3, 1)).taken());
  CHECK_FALSE(verdict("megatron", sized("zbv", 4, 8, 2)).taken());
}

TEST_CASE("a class of PyTorch's is named only where its rounds make the planned order") {
  // 11 microbatches on 4 ranks are 2 rounds, which 11 is no multiple of: no class, but a file.
  const TargetVerdict eleven = verdict("torch-2.15", sized("interleaved-zb", 4, 11, 4));
  REQUIRE(eleven.taken());
  CHECK(eleven.from_file);
  CHECK(eleven.to_run.files == std::vector<std::string>{"order.csv"});
  CHECK(holds(eleven.to_run.text, "_load_csv(\"order.csv\", format=\"compute_only\")"));

  // 15 on 8 are one round of 15, and groups of 8 are another order.
  CHECK(verdict("torch-2.15", sized("interleaved-zb", 8, 15, 4)).from_file);
  const TargetVerdict own = verdict("torch-2.15", with(sized("interleaved-zb", 8, 15, 4), kGroupSize, "15"));
  CHECK(own.word == "InterleavedZeroBubble");
  CHECK_FALSE(own.from_file);
  CHECK(verdict("torch-2.15", sized("interleaved-zb", 8, 16, 4)).word == "InterleavedZeroBubble");
}

TEST_CASE("PyTorch's classes refuse fewer microbatches than stages where they do") {
  CHECK(verdict("torch-2.15", sized("1f1b", 4, 4, 1)).word == "1F1B");
  CHECK(verdict("torch-2.15", sized("1f1b", 4, 3, 1)).from_file);
  CHECK(verdict("torch-2.15", sized("dualpipe-v", 4, 8, 2)).word == "DualPipeV");
  CHECK(verdict("torch-2.15", sized("dualpipe-v", 4, 7, 2)).from_file);
  CHECK(verdict("torch-2.15", sized("zbv", 4, 5, 2)).word == "ZBVZeroBubble");
  CHECK(verdict("torch-2.15", sized("gpipe", 4, 2, 1)).word == "GPipe");
}

TEST_CASE("files of PyTorch's hold no shares of an output layer, no second copy and no slices") {
  for (const char* schedule : {"vocab-1", "vocab-2", "vocab-interlaced", "chimera", "dualpipe", "seq-1f1b"}) {
    INFO(schedule);
    Assignments run = sized(schedule, 4, 8, 1);
    if (std::string(schedule) == "vocab-interlaced") run.erase("chunks");
    for (const char* target : {"torch-2.15", "torchtitan"}) {
      const TargetVerdict said = verdict(target, run);
      CHECK_FALSE(said.taken());
      CHECK(holds(said.reason, "PyTorch's files"));
    }
  }
}

TEST_CASE("AReaL takes four names, a microbatch for each stage at least, and no file") {
  CHECK(verdict("areal", sized("1f1b", 4, 8, 1)).word == "1F1B");
  CHECK(verdict("areal", sized("zbv", 4, 8, 2)).word == "ZBVZeroBubble");
  CHECK_FALSE(verdict("areal", sized("gpipe", 4, 8, 1)).taken());
  CHECK_FALSE(verdict("areal", sized("v-half", 4, 8, 2)).taken());
  CHECK_FALSE(verdict("areal", sized("interleaved-zb", 4, 11, 2)).taken());
  // Interleaved1F1B of 6 is one round of 6, but AReaL makes 8 microbatches for 8 stages.
  const TargetVerdict few = verdict("areal", with(sized("interleaved-1f1b", 4, 6, 2), kGroupSize, "6"));
  CHECK(few.reason == "AReaL makes at least one microbatch for each stage: 8, not 6");
  // Without a number of layers it cannot be told another number of stages than two a rank.
  CHECK(verdict("areal", sized("interleaved-1f1b", 4, 8, 2)).taken());
  CHECK(holds(verdict("areal", sized("interleaved-1f1b", 4, 12, 3)).reason,
              "layers per stage, not stages per rank"));
  const TargetVerdict odd = verdict("areal", sized("1f1b", 4, 7, 1));
  CHECK(setting(odd, "actor.mb_spec.packing_algorithm") == "\"kk\"");
  CHECK(holds(odd.to_run.needs.front(), "exactly 7 sequences a data rank"));
}

namespace {

Assignments llama(const std::string& schedule, int ranks, int microbatches, int chunks) {
  Assignments out = sized(schedule, ranks, microbatches, chunks);
  out["costs.model"] = "\"llama3-8b\"";
  out["costs.hardware"] = "\"h100\"";
  out["costs.seq"] = "4096";
  return out;
}

}  // namespace

TEST_CASE("AReaL is told a split by layers per stage and by what the ends have less, or takes its own") {
  // 32 layers and one less at each end: 34 on 8 stages are 4 and 5, the first two 5, less one at each end: 4 5 4 4 4 4 4 3.
  const TargetVerdict own =
      verdict("areal", with(llama("zbv", 4, 8, 2), "costs.layers", "[4, 5, 4, 4, 4, 4, 4, 3]"));
  CHECK(own.own_layers.empty());
  CHECK_FALSE(own.layers_said);
  CHECK(setting(own, "actor.archon.pp_first_stage_less_layers") == "1");

  const TargetVerdict even =
      verdict("areal", with(llama("zbv", 4, 8, 2), "costs.layers", "[4, 4, 4, 4, 4, 4, 4, 4]"));
  CHECK(even.layers_said);
  // 33 on 8 stages: the first has 5, less one.
  CHECK(setting(even, "actor.archon.pp_first_stage_less_layers") == "1");
  CHECK(setting(even, "actor.archon.pp_last_stage_less_layers") == "0");

  const TargetVerdict other =
      verdict("areal", with(llama("zbv", 4, 8, 2), "costs.layers", "[1, 7, 4, 4, 4, 4, 4, 4]"));
  REQUIRE(other.taken());
  CHECK(other.own_layers == std::vector<int>{4, 5, 4, 4, 4, 4, 4, 3});
  CHECK(other.to_run.text.empty());

  // 16 stages of 32 layers and 2: 2.125 each; ceil(34 / 3) is 12 and ceil(34 / 2) is 17, but 32 + 0 make 16 of 2.
  const TargetVerdict four = verdict("areal", with(llama("interleaved-1f1b", 4, 16, 4), "costs.layers",
                                                   "[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]"));
  REQUIRE(four.taken());
  CHECK(setting(four, "actor.archon.pp_layers_per_stage") == "2");
}

TEST_CASE("torchtitan is told the class that deals stages out, the file and the modules") {
  // v-half is no class of PyTorch's, and its stages are in a V.
  const TargetVerdict half =
      verdict("torchtitan", with(llama("v-half", 4, 8, 2), "costs.layers", "[4, 4, 4, 4, 4, 4, 4, 4]"));
  REQUIRE(half.taken());
  CHECK(half.from_file);
  CHECK(holds(half.to_run.text, "pipeline_parallel_schedule = \"ZBVZeroBubble\"\n"));
  CHECK(holds(half.to_run.text, "pipeline_parallel_schedule_csv = \"order.csv\"\n"));
  CHECK(holds(half.to_run.text,
              "[\"tok_embeddings\", \"layers.0\", \"layers.1\", \"layers.2\", \"layers.3\"], [\"layers.4\""));
  CHECK(holds(half.to_run.text, "\"layers.31\", \"norm\", \"lm_head\"]]"));
  CHECK(setting(half, "training.local_batch_size") == "8");
  CHECK(setting(half, "training.disable_cuda_graphs") == "true");
  CHECK(setting(half, "compile.enable") == "false");
  CHECK(std::ranges::any_of(half.to_run.needs, [](const auto& need) {
    return holds(need, "torch.compile is off") && holds(need, "not known");
  }));

  // Its own split needs no word.
  const TargetVerdict own =
      verdict("torchtitan", with(llama("zbv", 4, 8, 2), "costs.layers", "[4, 5, 4, 4, 4, 4, 4, 3]"));
  CHECK_FALSE(own.layers_said);
  CHECK_FALSE(holds(own.to_run.text, "module_fqns"));
  CHECK(own.word == "ZBVZeroBubble");
  // Whole backwards may be compiled.
  CHECK(setting(verdict("torchtitan", llama("1f1b", 4, 8, 1)), "compile.enable").empty());
  // A wave of four stages a rank is dealt out by no class.
  CHECK(holds(verdict("torchtitan", sized("hanayo", 4, 8, 4)).reason, "in a loop or in a V of two a rank"));
  CHECK(verdict("torch-2.15", sized("hanayo", 4, 8, 4)).from_file);
}

TEST_CASE(
    "layers for multi-token prediction stand in the layout string, and torchtitan has no pipeline for them") {
  Assignments run = sized("interleaved-1f1b", 4, 16, 2);
  run["costs.model"] = "\"deepseek-v3\"";
  run["costs.hardware"] = "\"gb200\"";
  run["costs.seq"] = "4096";
  run["costs.ep"] = "64";
  run["costs.dp"] = "64";
  const TargetVerdict megatron = verdict("megatron", run);
  REQUIRE(megatron.taken());
  CHECK(holds(setting(megatron, "--pipeline-model-parallel-layout"), "mL\""));
  CHECK(setting(megatron, "--mtp-num-layers") == "1");
  CHECK(setting(megatron, "--expert-model-parallel-size") == "64");
  CHECK(setting(megatron, "--global-batch-size") == "1024");
  CHECK(holds(verdict("torchtitan", run).reason, "multi-token prediction"));
}

TEST_CASE("a hybrid model's pattern says the stages, and no layout string stands beside it") {
  Assignments run = sized("1f1b", 4, 8, 1);
  run["costs.model"] = "\"nemotron-h-8b\"";
  run["costs.hardware"] = "\"h100\"";
  run["costs.seq"] = "4096";
  run["costs.layers"] = "[13, 13, 13, 13]";
  const TargetVerdict megatron = verdict("megatron", run);
  REQUIRE(megatron.taken());
  CHECK(setting(megatron, "--pipeline-model-parallel-layout").empty());
  // M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M- cut after 13, 26 and 39 letters.
  CHECK(setting(megatron, "--hybrid-layer-pattern") ==
        "\"M-M-M-M*-M-M-|M-M-M*-M-M-M-|M-M*-M-M-M-M-|M*-M-M-M-M-M-\"");
}

TEST_CASE("recomputation is told as far as each framework has words for it") {
  const Assignments all = with(llama("1f1b", 4, 8, 1), "options.recompute", "\"full\"");
  CHECK(holds(verdict("megatron", all).to_run.text,
              "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"));
  CHECK(holds(verdict("torchtitan", all).to_run.text, "config.activation_checkpoint = FullAC.Config()"));
  CHECK(setting(verdict("areal", all), "actor.gradient_checkpointing") == "true");
  CHECK(holds(verdict("torchtitan", llama("1f1b", 4, 8, 1)).to_run.text,
              "config.activation_checkpoint = None"));

  const Assignments attention = with(llama("1f1b", 4, 8, 1), "options.recompute", "\"selective\"");
  CHECK(holds(verdict("megatron", attention).to_run.text,
              "--recompute-granularity selective --recompute-modules core_attn"));
  CHECK_FALSE(verdict("torchtitan", attention).taken());
  CHECK_FALSE(verdict("areal", attention).taken());

  const Assignments block = with(llama("1f1b", 4, 8, 1), "options.recompute", R"({"layers": 3})");
  CHECK(holds(verdict("megatron", block).to_run.text,
              "--recompute-granularity full --recompute-method block --recompute-num-layers 3"));
  const Assignments groups =
      with(llama("1f1b", 4, 8, 1), "options.recompute", R"({"layers": 2, "method": "uniform"})");
  CHECK(holds(verdict("megatron", groups).to_run.text,
              "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2"));
  CHECK(holds(verdict("torchtitan", block).reason, "all layers of a stage again, not 3 of them"));
  CHECK_FALSE(verdict("areal", groups).taken());
  CHECK(std::ranges::any_of(verdict("torch-2.15", groups).to_run.needs, [](const auto& need) {
    return holds(need, "all layers, in groups of 2 of all stages");
  }));

  const Assignments some = with(llama("1f1b", 4, 8, 1), "options.recompute", R"({"stages": [0]})");
  CHECK_FALSE(verdict("megatron", some).taken());
  CHECK(verdict("torch-2.15", some).taken());
  for (const study::Target& target : study::targets())
    CHECK_FALSE(
        verdict_of(target, deployed(with(llama("1f1b", 4, 8, 1), "options.offload", "\"all\""))).taken());
}

TEST_CASE("pairs that save time are for who overlaps them") {
  const Assignments run = with(sized("dualpipe-v", 4, 8, 2), "costs.overlapped", R"({"factor": 0.5})");
  CHECK(holds(verdict("torchtitan", run).reason, "one after the other"));
  const TargetVerdict torch = verdict("torch-2.15", run);
  CHECK(torch.word == "DualPipeV");
  CHECK(std::ranges::any_of(torch.to_run.needs, [](const auto& need) { return holds(need, "OVERLAP_F_B"); }));
}

TEST_CASE("plain PyTorch builds each rank's stages and loads the file") {
  Deployment run = deployed(sized("v-half", 2, 4, 2));
  run.order_file = "half.csv";
  const TargetVerdict said = verdict_of(target_named("torch"), run);
  CHECK(said.to_run.text ==
        "from torch.distributed import get_rank\n"
        "from torch.distributed.pipelining import PipelineStage\n"
        "from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime\n"
        "stages_of_rank = [[0, 3], [1, 2]]\n"
        "stages = [PipelineStage(build_stage(s), s, 4, device, group=pp_group)\n"
        "          for s in stages_of_rank[get_rank(pp_group)]]\n"
        "schedule = _PipelineScheduleRuntime(stages, n_microbatches=4, loss_fn=loss_fn)\n"
        "schedule._load_csv(\"half.csv\", format=\"compute_only\")");
  CHECK(said.to_run.files == std::vector<std::string>{"half.csv"});
  const TargetVerdict own = verdict("torch", sized("1f1b", 2, 4, 1));
  CHECK(holds(own.to_run.text, "schedule = Schedule1F1B(stages[0], n_microbatches=4, loss_fn=loss_fn)"));
}

TEST_CASE("every line of a block can be pasted") {
  Deployment run = deployed(llama("v-half", 4, 8, 2));
  const std::string page = study::to_run_page(std::vector{verdict_of(target_named("torchtitan"), run)}, 60);
  std::istringstream lines(page);
  std::string line;
  std::getline(lines, line);  // the target's name
  int comments = 0;
  while (std::getline(lines, line)) {
    INFO(line);
    const bool is_comment = line.starts_with("    # ");
    CHECK((is_comment || line.starts_with("    config.")));
    comments += is_comment ? 1 : 0;
  }
  // Sentences longer than a line stay comments.
  CHECK(comments > static_cast<int>(verdict_of(target_named("torchtitan"), run).to_run.needs.size()));
}

namespace {

/// 4 encoder layers in front of 8 decoder layers, on four ranks with so many each.
Deployment seeing(const std::vector<int>& layers) {
  auto model = std::make_shared<model::Model>();
  model::Layer encoder;
  encoder.letter = 'V';
  encoder.hidden = 64;
  encoder.attention.emplace();
  encoder.mlp.emplace();
  model::Layer decoder = encoder;
  decoder.letter = 'T';
  decoder.hidden = 0;
  model->kinds = {encoder, decoder};
  for (model::Layer& kind : model->kinds) kind.attention->kv_heads = 1;
  model->layers = "VVVVTTTTTTTT";
  Deployment out = deployed(sized("1f1b", 4, 8, 1));
  out.model = std::move(model);
  out.layers = layers;
  return out;
}

}  // namespace

TEST_CASE("a vision tower is one module on the first stage, and has no letters") {
  const study::Target& megatron = target_named("megatron");
  const study::Target& torchtitan = target_named("torchtitan");
  // Three layers a stage would cut the tower; told nothing, Megatron-core has it whole, and 2 of the 8 others everywhere.
  const TargetVerdict cut = verdict_of(megatron, seeing({3, 3, 3, 3}));
  REQUIRE(cut.taken());
  CHECK(cut.own_layers == std::vector<int>{4 + 2, 2, 2, 2});
  CHECK(holds(cut.why_own, "no letters for an encoder"));
  const TargetVerdict whole = verdict_of(megatron, seeing({6, 2, 2, 2}));
  CHECK(whole.own_layers.empty());
  CHECK(setting(whole, "--pipeline-model-parallel-layout").empty());
  CHECK_FALSE(verdict_of(target_named("areal"), seeing({6, 2, 2, 2})).taken());

  const TargetVerdict told = verdict_of(torchtitan, seeing({5, 3, 2, 2}));
  REQUIRE(told.taken());
  CHECK(setting(told, "parallelism.module_fqns_per_model_part") ==
        R"([["vision_encoder", "tok_embeddings", "layers.0"], ["layers.1", "layers.2", "layers.3"], )"
        R"(["layers.4", "layers.5"], ["layers.6", "layers.7", "norm", "lm_head"]])");
  // Its own rule for the 8 others: 10 over 4 stages are 3, 3, 2, 2, less one at each end.
  CHECK(verdict_of(torchtitan, seeing({3, 3, 3, 3})).own_layers == std::vector<int>{4 + 2, 3, 2, 1});
}

TEST_CASE("one rank has a schedule in PyTorch alone: elsewhere one microbatch comes after the other") {
  const Assignments one = sized("1f1b", 1, 6, 1);
  for (const char* target : {"torchtitan", "areal", "megatron"}) {
    INFO(target);
    CHECK(verdict(target, one).taken());
    CHECK_FALSE(verdict(target, sized("looped-bfs", 1, 6, 2)).taken());
    CHECK_FALSE(verdict(target, sized("gpipe", 1, 6, 1)).taken());
  }
  CHECK(verdict("torch", sized("looped-bfs", 1, 6, 2)).taken());
  // torchtitan's local batch is a microbatch then: a step accumulates 6 / 1 of them.
  const TargetVerdict told = verdict("torchtitan", one);
  CHECK(setting(told, "training.local_batch_size") == "1");
  CHECK(setting(told, "training.global_batch_size") == "6");
}

TEST_CASE("mixers that a framework has no layers for are refused, and PyTorch takes any") {
  const Assignments streams = {{"schedule", "\"1f1b\""},
                               {"ranks", "4"},
                               {"microbatches", "8"},
                               {"costs.model", "\"deepseek-v4-flash\""},
                               {"costs.hardware", "\"h200\""},
                               {"costs.seq", "4096"},
                               {"costs.dp", "8"},
                               {"costs.ep", "8"}};
  for (const char* target : {"torchtitan", "areal", "megatron"}) {
    INFO(target);
    CHECK(holds(verdict(target, streams).reason, "has no hyper-connections"));
  }
  CHECK(verdict("torch", streams).taken());
  // Qwen3-Next's linear layers are gated delta nets, which Megatron-core has.
  CHECK_FALSE(
      holds(verdict("megatron", with(streams, "costs.model", "\"qwen3-next-80b-a3b\"")).reason, "linear"));
}

TEST_CASE("ZeRO 0 is said as replicas, and AReaL's models are named") {
  const Assignments replicas = {{"schedule", "\"1f1b\""},
                                {"ranks", "4"},
                                {"microbatches", "8"},
                                {"costs.model", "\"llama3-8b\""},
                                {"costs.hardware", "\"h100\""},
                                {"costs.seq", "4096"},
                                {"costs.dp", "2"},
                                {"costs.zero", "0"}};
  const TargetVerdict told = verdict("torchtitan", replicas);
  CHECK(setting(told, "parallelism.data_parallel_replicate_degree") == "2");
  CHECK(setting(told, "parallelism.data_parallel_shard_degree") == "1");
  CHECK(std::ranges::none_of(told.to_run.needs, [](const auto& need) { return holds(need, "FSDP"); }));
  const std::vector<std::string> needs = verdict("areal", replicas).to_run.needs;
  CHECK(std::ranges::any_of(needs, [](const auto& need) { return holds(need, "ZeRO 0"); }));
  CHECK(std::ranges::any_of(needs, [](const auto& need) { return holds(need, "qwen3_moe"); }));
}

TEST_CASE("the page and the JSON say what was found") {
  const std::vector<TargetVerdict> verdicts = {verdict("areal", sized("gpipe", 4, 8, 1)),
                                               verdict("megatron", sized("1f1b", 4, 8, 1))};
  const std::string page = study::to_run_page(verdicts, 100);
  CHECK(holds(page, "areal-1.0.4: not taken: AReaL has no order like this, and takes none from a file"));
  CHECK(holds(page, "  megatron-core-0.19.2\n    --pipeline-model-parallel-size 4 --micro-batch-size 1"));
  const std::string json = io::written_json(io::kReportStyle, [&](io::JsonWriter& out) {
    out.object();
    study::write_to_run(out, verdicts);
    out.close();
  });
  CHECK(holds(json, R"("target": "megatron-core-0.19.2", "text": "--pipeline-model-parallel-size 4)"));
  CHECK(holds(json, R"("layers": "its own")"));
}

}  // namespace targets_test
