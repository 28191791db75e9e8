// Lines of the function that returns torchtitan's Trainer.Config.

#include <fmt/format.h>

#include "sim/io/json/json_text.hpp"
#include "study/targets/blocks.hpp"

namespace pipeloom::study {
namespace {

/// One line of Python and its setting: `config.SECTION.KEY = VALUE`.
class ConfigLines {
 public:
  explicit ConfigLines(ToRun& out) : out_(out) {}

  void set(const std::string& key, const std::string& json) { add(key, json, json); }
  void set(const std::string& key, int value) { set(key, fmt::format("{}", value)); }
  void set_text(const std::string& key, std::string_view value) { set(key, io::json_string(value)); }
  void set_bool(const std::string& key, bool value) {
    add(key, value ? "True" : "False", value ? "true" : "false");
  }
  void add(const std::string& key, const std::string& python, const std::string& json) {
    out_.text += fmt::format("config.{} = {}\n", key, python);
    out_.settings.push_back({key, json});
  }

 private:
  ToRun& out_;
};

/// The class by which torchtitan deals stages out, also where the order comes from a file.
std::string_view dealing_class(const Taken& taken) {
  if (taken.own != nullptr) return taken.own->word;
  const Placement& placement = taken.deployment.order->placement();
  if (placement.chunks() == 1) return "1F1B";
  return placement == Placement::loop(placement.ranks(), placement.chunks()) ? "Interleaved1F1B"
                                                                             : "ZBVZeroBubble";
}

/// The modules of that number of stages, of a model whose number of layers is not known here: made from the configuration's own.
void deal_unknown_layers(int stages, ToRun& out) {
  out.text += fmt::format(
      "n = len(config.model_spec.model.layers)\n"
      "config.parallelism.module_fqns_per_model_part = [\n"
      "    ([\"tok_embeddings\"] if s == 0 else []) + [f\"layers.{{i}}\" for i in range(n * s // {0}, n * (s "
      "+ 1) // {0})]\n"
      "    + ([\"norm\", \"lm_head\"] if s == {1} else []) for s in range({0})]\n",
      stages, stages - 1);
}

void set_stages(const Taken& taken, ConfigLines& lines, ToRun& out) {
  if (!taken.layers.modules.empty())
    lines.set("parallelism.module_fqns_per_model_part", json_lists(taken.layers.modules));
  else if (taken.deployment.layers.empty() && taken.chunks() > 2)
    deal_unknown_layers(taken.deployment.order->stages(), out);
}

void set_degrees(const Taken& taken, ConfigLines& lines) {
  const model::Split& split = taken.deployment.split;
  lines.set("parallelism.tensor_parallel_degree", split.tensor);
  lines.set("parallelism.context_parallel_degree", split.context);
  lines.set("parallelism.expert_parallel_degree", split.expert);
  const int shards = split.zero == 0 ? 1 : split.shards > 0 ? split.shards : split.data;
  lines.set("parallelism.data_parallel_replicate_degree", split.data / shards);
  lines.set("parallelism.data_parallel_shard_degree", shards);
}

void set_batch(const Taken& taken, ConfigLines& lines) {
  const model::Split& split = taken.deployment.split;
  const auto samples = static_cast<int>(split.micro_batch);
  lines.set("parallelism.pipeline_parallel_microbatch_size", samples);
  // On one rank a local batch is a microbatch, and as many follow as make up the global batch.
  const bool pipelined = taken.ranks() > 1;
  lines.set("training.local_batch_size", (pipelined ? taken.microbatches() : 1) * samples);
  if (taken.deployment.model == nullptr && pipelined) return;
  lines.set("training.global_batch_size", taken.microbatches() * samples * split.data);
  if (split.sequence > 0) lines.set("training.seq_len", static_cast<int>(split.sequence));
}

}  // namespace

ToRun torchtitan_block(const Taken& taken) {
  ToRun out;
  if (taken.deployment.recomputes_all())
    out.text = "from torchtitan.distributed.activation_checkpoint import FullAC\n";
  ConfigLines lines(out);
  lines.set("parallelism.pipeline_parallel_degree", taken.ranks());
  lines.set_text("parallelism.pipeline_parallel_schedule", dealing_class(taken));
  if (taken.own == nullptr) {
    lines.set_text("parallelism.pipeline_parallel_schedule_csv", taken.csv());
    out.files.push_back(taken.csv());
  }
  set_stages(taken, lines, out);
  if (taken.deployment.model != nullptr) set_degrees(taken, lines);
  set_batch(taken, lines);
  // Its trainer refuses a pipeline beside CUDA graphs, which are on unless this says otherwise.
  lines.set_bool("training.disable_cuda_graphs", true);
  if (taken.splits_backward()) lines.set_bool("compile.enable", false);
  if (taken.deployment.recomputes_all())
    lines.add("activation_checkpoint", "FullAC.Config()", io::json_string("full"));
  else
    lines.add("activation_checkpoint", "None", "null");
  out.text.pop_back();
  out.needs.emplace_back("these lines stand in a function that returns config, a Trainer.Config");
  if (taken.own == nullptr)
    out.needs.push_back(
        fmt::format("{} deals the stages out, and orders nothing: the file does", dealing_class(taken)));
  if (const std::string need = file_need(taken); !need.empty()) out.needs.push_back(need);
  if (taken.splits_backward()) out.needs.push_back(compile_need(taken));
  // distributed/full_dtensor.py, validate_config().
  if (taken.deployment.split.context > 1)
    out.needs.emplace_back(
        "context ranks share out FlexAttention alone: where the configuration has another one, make its "
        "model by "
        "model_registry(.., attn_backend=\"flex\")");
  if (const std::string need = sharding_need(taken); !need.empty()) out.needs.push_back(need);
  if (const std::string need = tied_need(taken); !need.empty()) out.needs.push_back(need);
  if (taken.deployment.layers.empty())
    out.needs.emplace_back(
        "the number of layers is not known here: torchtitan deals them out by its own rule");
  return out;
}

}  // namespace pipeloom::study
