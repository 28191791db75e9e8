// Megatron-LM's options.

#include <fmt/format.h>

#include <string_view>

#include "sim/io/json/json_text.hpp"
#include "sim/model/patterns.hpp"
#include "study/targets/blocks.hpp"
#include "study/targets/refusals.hpp"

namespace pipeloom::study {
namespace {

class Options {
 public:
  explicit Options(ToRun& out) : out_(out) {}

  void set(std::string_view option, std::int64_t value) { add(option, fmt::format("{}", value)); }
  /// Words of a shell that need no quotes.
  void set_words(std::string_view option, const std::string& words) {
    out_.text += separator() + std::string(option) + ' ' + words;
    out_.settings.push_back({std::string(option), io::json_string(words)});
  }
  void set_quoted(std::string_view option, const std::string& letters) {
    out_.text += separator() + std::string(option) + " '" + letters + '\'';
    out_.settings.push_back({std::string(option), io::json_string(letters)});
  }
  void set_flag(std::string_view option) {
    out_.text += fmt::format("{}{}", separator(), option);
    out_.settings.push_back({std::string(option), "true"});
  }

 private:
  void add(std::string_view option, const std::string& value) {
    out_.text += fmt::format("{}{} {}", separator(), option, value);
    out_.settings.push_back({std::string(option), value});
  }
  [[nodiscard]] const char* separator() const { return out_.text.empty() ? "" : " "; }

  ToRun& out_;
};

void set_stages(const Taken& taken, Options& options) {
  if (!taken.layers.pattern.empty())
    options.set_quoted("--hybrid-layer-pattern", taken.layers.pattern);
  else if (!taken.layers.layout.empty())
    options.set_quoted("--pipeline-model-parallel-layout", taken.layers.layout);
  else if (taken.chunks() > 1)
    options.set("--num-virtual-stages-per-pipeline-rank", taken.chunks());
  if (taken.group_size > 0)
    options.set("--microbatch-group-size-per-virtual-pipeline-stage", taken.group_size);
  if (taken.own->word.starts_with("--")) {
    options.set_flag(taken.own->word);
    // Its default, allgather, is refused beside it. Of a model set_experts() says it.
    if (taken.deployment.model == nullptr) options.set_words("--moe-token-dispatcher-type", "alltoall");
  }
  if (taken.deployment.model != nullptr && taken.deployment.model->mtp > 0)
    options.set("--mtp-num-layers", taken.deployment.model->mtp);
}

/// Experts' ranks. Its default, allgather, sends every token to all of them; estimates are of tokens that go
/// where they are needed.
void set_experts(const Deployment& deployment, Options& options) {
  const model::Split& split = deployment.split;
  options.set("--expert-model-parallel-size", split.expert);
  // Else tensor ranks cut each expert, and estimates have whole ones.
  const bool is_cut = split.tensor > 1 && model::has_experts(*deployment.model);
  if (split.expert > 1 || is_cut) options.set("--expert-tensor-parallel-size", 1);
  if (split.expert > 1) options.set_words("--moe-token-dispatcher-type", "alltoall");
}

/// True if gradients are shared out too, which Megatron-FSDP does.
bool is_fully_sharded(const model::Split& split) {
  return has_replicas(split) && split.zero >= 2;
}

/// ZeRO. Megatron-FSDP refuses every other format of checkpoints (megatron/training/arguments.py,
/// validate_args()).
void set_sharding(const model::Split& split, Options& options) {
  if (split.zero > 0) options.set_flag("--use-distributed-optimizer");
  if (!is_fully_sharded(split)) return;
  options.set_flag("--use-megatron-fsdp");
  options.set_words("--data-parallel-sharding-strategy",
                    split.zero == 2 ? "optim_grads" : "optim_grads_params");
  options.set_words("--ckpt-format", "fsdp_dtensor");
}

void set_degrees(const Taken& taken, Options& options) {
  const model::Split& split = taken.deployment.split;
  options.set("--tensor-model-parallel-size", split.tensor);
  if (split.tensor > 1 && split.sequence_parallel) options.set_flag("--sequence-parallel");
  options.set("--context-parallel-size", split.context);
  if (const auto words = exchange_instead_of_ring(*taken.deployment.model, split); !words.empty())
    options.set_words("--cp-comm-type", std::string(words));
  if (split.order == DeviceOrder::DataLast) options.set_flag("--use-tp-pp-dp-mapping");
  set_experts(taken.deployment, options);
  set_sharding(split, options);
}

void set_batch(const Taken& taken, Options& options) {
  const model::Split& split = taken.deployment.split;
  options.set("--micro-batch-size", split.micro_batch);
  options.set("--global-batch-size", taken.microbatches() * split.micro_batch * split.data);
  if (split.sequence > 0) options.set("--seq-length", split.sequence);
}

void set_recomputation(const Taken& taken, Options& options) {
  const RecomputeOption& recompute = taken.deployment.recompute;
  if (!taken.deployment.recomputes()) return;
  if (taken.deployment.recomputes_all()) {
    options.set_words("--recompute-granularity", "full");
    const bool is_block = recompute.layers && recompute.method == RecomputeMethod::Block;
    options.set_words("--recompute-method", is_block ? "block" : "uniform");
    options.set("--recompute-num-layers", recompute.layers.value_or(1));
    return;
  }
  options.set_words("--recompute-granularity", "selective");
  std::string words = recompute.modules;
  for (char& letter : words)
    if (letter == ',') letter = ' ';
  options.set_words("--recompute-modules", words);
  // megatron/core/transformer/transformer_config.py refuses moe_act without it.
  if (recompute.modules.find("moe_act") != std::string::npos) options.set_flag("--moe-grouped-gemm");
}

/// The environment that megatron/training/arguments.py asks for.
std::string connections_need(const model::Split& split) {
  if (is_fully_sharded(split))
    return "the environment must not have CUDA_DEVICE_MAX_CONNECTIONS=1, which Megatron-FSDP refuses; where "
           "Transformer Engine is older than 2.10, add --no-gradient-accumulation-fusion";
  if (split.tensor > 1 || split.context > 1)
    return "on devices before Blackwell the environment has CUDA_DEVICE_MAX_CONNECTIONS=1, without which "
           "tensor and context ranks are refused";
  return "";
}

}  // namespace

ToRun megatron_block(const Taken& taken) {
  ToRun out;
  Options options(out);
  options.set("--pipeline-model-parallel-size", taken.ranks());
  set_stages(taken, options);
  if (taken.deployment.model != nullptr) set_degrees(taken, options);
  set_batch(taken, options);
  set_recomputation(taken, options);
  if (const std::string need = connections_need(taken.deployment.split); !need.empty())
    out.needs.push_back(need);
  if (taken.deployment.model == nullptr)
    out.needs.emplace_back("the global batch is of one pipeline: times the data parallel size");
  if (taken.deployment.layers.empty() && taken.ranks() > 1)
    out.needs.push_back(
        fmt::format("the number of layers is not known here: Megatron-LM wants a multiple of {}",
                    taken.deployment.order->stages()));
  if (taken.own->word.starts_with("--"))
    out.needs.emplace_back("forwards and backwards overlap where experts are exchanged: ep above 1, 16 bits");
  if (taken.deployment.encoder_layers() > 0) out.needs.push_back(layout_string_refusal(taken.deployment));
  return out;
}

}  // namespace pipeloom::study
