#include "cli/pages/model_options.hpp"

#include <fmt/format.h>

#include "sim/base/text_tools.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/io/json/json_value.hpp"

namespace pipeloom::cli {
namespace {

/// Option, key of the configuration and value.
struct Typed {
  const char* option;
  const char* key;
  const std::optional<std::string>* value;
};

std::vector<Typed> numbers_of(const ModelOptions& options) {
  return {{"--ranks", "ranks", &options.ranks},
          {"--microbatches", "microbatches", &options.microbatches},
          {"--chunks", "chunks", &options.chunks},
          {"--tp", "costs.tp", &options.tp},
          {"--dp", "costs.dp", &options.dp},
          {"--cp", "costs.cp", &options.cp},
          {"--ep", "costs.ep", &options.ep},
          {"--zero", "costs.zero", &options.zero},
          {"--seq", "costs.seq", &options.seq},
          {"--micro-batch", "costs.micro_batch", &options.micro_batch},
          {"--global-batch", "costs.global_batch", &options.global_batch},
          {"--layers", "costs.layers", &options.layers},
          {"--limit", "memory.limit_bytes", &options.limit}};
}
std::vector<Typed> words_of(const ModelOptions& options) {
  return {{"--hardware", "costs.hardware", &options.hardware},
          {"--recompute", "options.recompute", &options.recompute},
          {"--schedule", "schedule", &options.schedule}};
}

/// A name is text, whatever it looks like.
void set_word(io::Document& document, std::string_view key, const std::string& text,
              std::string_view option) {
  document.set(key, io::quoted(text), option);
}

}  // namespace

void add_model_options(OptionList& list, ModelOptions& options) {
  list.positional("MODEL", options.model, "MODEL",
                  "A model's name, or a file: ours, a Hugging Face config.json, Megatron's arguments")
      .required();
  list.option("--hardware", options.hardware, "NAME|FILE", "The device: h100, b200, .., or a file");
  list.option("--ranks", options.ranks, "P", "p, pipeline stages' devices; default 8");
  list.option("--tp", options.tp, "T", "Ranks that share each layer; default 1");
  list.option("--dp", options.dp, "D", "Replicas of the pipeline; default 1");
  list.option("--cp", options.cp, "C", "Ranks that share each sequence; default 1");
  list.option("--ep", options.ep, "E", "Ranks that share the experts of a layer; default 1");
  list.option("--zero", options.zero, "0|1|2|3",
              "What replicas share out; default 1, the optimizer's states");
  list.option("--seq", options.seq, "TOKENS", "Tokens of a sample; default the model's");
  list.option("--micro-batch", options.micro_batch, "SAMPLES", "Samples of a microbatch; default 1");
  list.option("--global-batch", options.global_batch, "SAMPLES",
              "Samples of a step; default four microbatches for each rank");
  list.option("--microbatches", options.microbatches, "M", "m, instead of --global-batch");
  list.option("--schedule", options.schedule, "SCHEDULE", "Schedule; default 1f1b");
  list.option("--chunks", options.chunks, "V", "v, stages per rank");
  list.option("--layers", options.layers, "[N,..]",
              "Decoder layers of each stage; default as even as it goes");
  list.option("--recompute", options.recompute, "none|selective|full|MODULES",
              "What runs again instead of being kept");
  list.option("--limit", options.limit, "BYTES", "Memory of a device; default the hardware's");
  list.option("--set", options.set, "PATH=VALUE", "Any key of a configuration; repeatable").repeatable();
}

ModelRequest request_of(const ModelOptions& options) {
  io::Document document;
  ModelRequest out;
  set_word(document, "costs.model", options.model, "MODEL");
  for (const Typed& typed : words_of(options))
    if (*typed.value) set_word(document, typed.key, **typed.value, typed.option);
  for (const Typed& typed : numbers_of(options))
    if (*typed.value) document.set(typed.key, **typed.value, typed.option);
  const auto fallback = [&](const char* key, const std::string& value, const std::string& why) {
    document.set(key, value, key);
    out.origins.emplace_back(key, why);
  };
  if (!options.schedule) fallback("schedule", "\"1f1b\"", "default: 1f1b");
  if (!options.ranks) fallback("ranks", "8", "default: 8");
  for (const std::string& assignment : options.set) document.set_option(assignment);
  if (!options.microbatches && !options.global_batch) {
    const io::Value* ranks = document.root().find("ranks");
    const int count = parse_count("--ranks", ranks != nullptr ? ranks->text() : "", 1, kMaxIndex / 4);
    if (document.root().find("microbatches") == nullptr)
      fallback("microbatches", std::to_string(4 * count), "default: four for each rank");
  }
  out.config = io::read_run_config(document.root());
  return out;
}

}  // namespace pipeloom::cli
