#include "cli/pages/model_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/models/find_model.hpp"
#include "study/plan/asked.hpp"

namespace pipeloom::cli {
namespace {

/// Option, key of the configuration and value.
struct Typed {
  const char* option;
  const char* key;
  const std::optional<std::string>* value;
};

std::vector<Typed> shape_of(const ModelOptions& options) {
  return {{"--ranks", "ranks", &options.ranks},
          {"--microbatches", "microbatches", &options.microbatches},
          {"--chunks", "chunks", &options.chunks},
          {"--limit", "memory.limit_bytes", &options.limit}};
}
std::vector<Typed> sizes_of(const ModelOptions& options) {
  return {{"--tp", "costs.tp", &options.tp},
          {"--dp", "costs.dp", &options.dp},
          {"--cp", "costs.cp", &options.cp},
          {"--ep", "costs.ep", &options.ep},
          {"--zero", "costs.zero", &options.zero},
          {"--seq", "costs.seq", &options.seq},
          {"--micro-batch", "costs.micro_batch", &options.micro_batch},
          {"--global-batch", "costs.global_batch", &options.global_batch}};
}
std::vector<Typed> words_of(const ModelOptions& options) {
  return {{"--hardware", "costs.hardware", &options.hardware},
          {"--precision", "costs.precision", &options.precision},
          {"--recompute", "options.recompute", &options.recompute}};
}

/// The value at a dotted path, or null.
const io::Value* value_at(const io::Value& root, std::string_view path) {
  const io::Value* found = &root;
  while (found != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    found = found->is(io::ValueKind::Object) ? found->find(path.substr(0, dot)) : nullptr;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return found;
}

/// A name is text, whatever it looks like.
void set_word(io::Document& document, std::string_view key, const std::string& text,
              std::string_view option) {
  document.set(key, io::json_string(text), option);
}

/// Throws InputError if --set and an option set the same key: one of them would be ignored.
void require_single_voice(io::Document& document, const ModelOptions& options) {
  io::inline_costs_file(document);
  std::vector<Typed> all = {{"--schedule", "schedule", &options.schedule}};
  // A configuration in its place names its own.
  if (!options.model.empty()) all.push_back({"MODEL", "costs.model", nullptr});
  for (const auto& list : {words_of(options), shape_of(options), sizes_of(options)})
    all.insert(all.end(), list.begin(), list.end());
  for (const Typed& typed : all) {
    if (typed.value != nullptr && !*typed.value) continue;
    const io::Value* value = value_at(document.root(), typed.key);
    if (value == nullptr || value->where().file == typed.option) continue;
    throw InputError(value->where(), fmt::format("this says {}, which {} says too; leave one of them out",
                                                 typed.key, typed.option));
  }
}

std::string json_of(const RecomputeOption& recompute) {
  if (!recompute.modules.empty()) return io::json_string(recompute.modules);
  if (!recompute.layers) return "\"full\"";
  const bool is_block = recompute.method == RecomputeMethod::Block;
  return fmt::format(R"({{"layers": {}, "method": "{}"}})", *recompute.layers,
                     is_block ? "block" : "uniform");
}

/// Takes recomputation from MODEL's file (Megatron-LM's arguments), where no option says it.
void take_recomputation(const ModelOptions& options, ModelDocument& out, io::Document& document) {
  if (options.model.empty() || value_at(document.root(), "options.recompute") != nullptr) return;
  const auto recompute = io::find_model(options.model, Where{"MODEL"}).recompute;
  if (!recompute) return;
  document.set("options.recompute", json_of(*recompute), "MODEL");
  out.origins.emplace_back("options.recompute", "MODEL's arguments of Megatron-LM");
}

}  // namespace

void add_device_options(OptionList& list, ModelOptions& options, const std::string& heading) {
  const auto add = [&](const char* name, std::optional<std::string>& value, const char* type,
                       const char* help) {
    Argument& argument = list.option(name, value, type, help);
    if (!heading.empty()) argument.under(heading);
  };
  add("--hardware", options.hardware, "HARDWARE", "The device: h100, b200, .., or a file");
  add("--precision", options.precision, "bf16|fp8|mxfp8", "What products run in; default the hardware's");
  add("--tp", options.tp, "T", "Ranks that share each layer; default 1");
  add("--dp", options.dp, "D", "Replicas of the pipeline; default 1");
  add("--cp", options.cp, "C", "Ranks that share each sequence; default 1");
  add("--ep", options.ep, "E", "Ranks that share the experts of a layer; default 1");
  add("--zero", options.zero, "0|1|2|3", "What replicas share out; default 1, the optimizer's states");
  add("--seq", options.seq, "TOKENS", "Tokens of a sample; default the model's");
  add("--micro-batch", options.micro_batch, "SAMPLES", "Samples of a microbatch; default 1");
  add("--global-batch", options.global_batch, "SAMPLES",
      "Samples of a step; default four microbatches for each rank");
  add("--recompute", options.recompute, "none|selective|full|MODULES",
      "What runs again instead of being kept");
}

std::vector<std::pair<const char*, const std::optional<std::string>*>> device_options(
    const ModelOptions& options) {
  std::vector<std::pair<const char*, const std::optional<std::string>*>> out = {{"--limit", &options.limit}};
  for (const auto& list : {words_of(options), sizes_of(options)})
    for (const Typed& typed : list) out.emplace_back(typed.option, typed.value);
  return out;
}

void add_model_options(OptionList& list, ModelOptions& options) {
  list.positional("MODEL", options.model, "MODEL",
                  "A model's name, or a file: ours, a Hugging Face config.json, Megatron's arguments")
      .required();
  add_device_options(list, options, "");
  list.option("--ranks", options.ranks, "P", "p, devices of the pipeline; default 8");
  list.option("--microbatches", options.microbatches, "M", "m, instead of --global-batch");
  list.option("--schedule", options.schedule, "SCHEDULE", "Schedule; default 1f1b");
  list.option("--chunks", options.chunks, "V", "v, stages per rank");
  list.option("--layers", options.layers, "N,N,..",
              "Decoder layers of each stage; default as even as it goes");
  list.option("--limit", options.limit, "BYTES", "Memory of a device; default the hardware's");
  list.option("--set", options.set, "PATH=VALUE", "Any key of a configuration; repeatable").repeatable();
}

ModelDocument document_of(const ModelOptions& options, io::Document document) {
  ModelDocument out;
  if (!options.model.empty()) set_word(document, "costs.model", options.model, "MODEL");
  if (options.schedule) set_word(document, "schedule", *options.schedule, "--schedule");
  for (const Typed& typed : words_of(options))
    if (*typed.value) set_word(document, typed.key, **typed.value, typed.option);
  for (const auto& list : {shape_of(options), sizes_of(options)})
    for (const Typed& typed : list)
      if (*typed.value) document.set(typed.key, **typed.value, typed.option);
  if (options.layers) document.set("costs.layers", '[' + *options.layers + ']', "--layers");
  for (const std::string& assignment : options.set) document.set_option(assignment);
  require_single_voice(document, options);
  take_recomputation(options, out, document);
  for (auto& origin : study::set_defaults(document)) out.origins.push_back(std::move(origin));
  out.document = std::move(document);
  return out;
}

ModelRequest request_of(const ModelOptions& options) {
  ModelDocument made = document_of(options, {});
  return {io::read_run_config(made.document.root()), std::move(made.origins)};
}

}  // namespace pipeloom::cli
