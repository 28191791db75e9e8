// pipeloom layout [MODEL]: layers to stages to ranks, module names, layout strings.

#include <fmt/format.h>

#include <ostream>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "cli/pages/layout_page.hpp"
#include "cli/pages/model_options.hpp"
#include "sim/base/number_text.hpp"
#include "sim/base/text_tools.hpp"
#include "sim/model/patterns.hpp"
#include "study/run/model_costs.hpp"

namespace pipeloom::cli::commands {
namespace {

using Text = std::optional<std::string>;

struct LayoutOptions {
  Text balance;
  ModelOptions run;  ///< for --balance: the same words as `estimate` has
  Text file;
  std::vector<std::string> set;
  Text layers, mtp;
  Text schedule, ranks, microbatches, chunks, placement;
  Text split, layers_per_stage, first_less, last_less, first_layers, last_layers, megatron_layout;
  bool account_for_embedding = false;
  bool account_for_loss = false;
  Text framework;
  bool critic = false;
  bool moe = false;
  std::string compile = "off";
  std::string checkpointing = "none";
  PrintOptions print;
  Text costs_out, layer_forward, layer_backward, embedding, head, time_unit;
  bool force = false;
  OutputOptions output;
};

constexpr const char* kLayoutFooter =
    "\nSplits:\n"
    "  weighted         torchtitan and AReaL: --first-less, --last-less, --layers-per-stage\n"
    "  min-max          AReaL on Megatron: the smallest largest sum of weights; the MODEL has the weights\n"
    "  even             Megatron-LM: --first-layers, --last-layers, --account-for-embedding, "
    "--account-for-loss\n"
    "  megatron-layout  a layout string: --megatron-layout 'Et*3|(tt|)*6,tL'\n\n"
    "MODEL is JSON, every key but the number of layers optional:\n"
    "  {\"layers\": 32, \"layer_weights\": 202e6, \"embedding_weight\": 131e6, \"output_weight\": 131e6, "
    "\"mtp\": 0}\n\n"
    "Examples:\n"
    "  pipeloom layout --layers 32 --ranks 4 --schedule Interleaved1F1B --framework areal\n"
    "  pipeloom layout model.json --ranks 8 --split min-max --json\n"
    "  pipeloom layout llama3-8b --balance time --hardware h100 --ranks 8 --schedule zbv\n"
    "  pipeloom layout --ranks 16 --megatron-layout 'Et*3|(tt|)*29,m|L'";

void add_split_options(OptionList& list, LayoutOptions& options) {
  list.option("--split", options.split, "weighted|min-max|even|megatron-layout",
              "How layers are dealt to stages");
  list.option("--layers-per-stage", options.layers_per_stage, "N", "Weighted: as many stages as that takes");
  list.option("--first-less", options.first_less, "N",
              "Weighted: layers the first stage has less; default 1");
  list.option("--last-less", options.last_less, "N", "Weighted: layers the last stage has less; default 1");
  list.option("--first-layers", options.first_layers, "N",
              "Even: layers of the first rank (decoder_first_pipeline_num_layers)");
  list.option("--last-layers", options.last_layers, "N",
              "Even: layers of the last rank (decoder_last_pipeline_num_layers)");
  list.flag("--account-for-embedding", options.account_for_embedding,
            "Even: the embedding counts as a layer");
  list.flag("--account-for-loss", options.account_for_loss, "Even: the loss counts as a layer");
  list.option("--megatron-layout", options.megatron_layout, "STRING", "Megatron-LM's layout string");
}

void add_output(OptionList& list, LayoutOptions& options) {
  add_print_options(list, options.print, {"table", "json", "megatron-layout", "modules"},
                    "What is printed: tables, everything as JSON, the layout string alone, or the modules of "
                    "each stage as a JSON list of lists",
                    "--format,--to");
  list.option("--costs-out", options.costs_out, "FILE",
              "Write costs by stage, for `simulate --set costs=...`");
  list.option("--layer-forward", options.layer_forward, "TIME", "Costs: forward of one layer; default 1.0");
  list.option("--layer-backward", options.layer_backward, "TIME",
              "Costs: its backward; default twice the forward");
  list.option("--embedding", options.embedding, "LAYERS",
              "Costs: work of the embedding in layers; default 0");
  list.option("--head", options.head, "LAYERS", "Costs: work of the head in layers; default 0");
  list.option("--time-unit", options.time_unit, "unit|s|ms|us|ns", "Costs: unit of the times");
  list.flag("--force", options.force, "Overwrite an existing file");
  add_output_options(list, options.output);
}

void add_balance_options(OptionList& list, LayoutOptions& options) {
  constexpr const char* kHeading = "Balance, by simulating the MODEL's run";
  list.option("--balance", options.balance, "time|memory|both",
              "Find the layers per stage with which the step is shortest, the fullest rank least full, or "
              "both; MODEL is a name or "
              "file as `pipeloom estimate` takes it")
      .under(kHeading);
  list.option("--limit", options.run.limit, "BYTES", "Memory of a device; default the hardware's")
      .under(kHeading);
  add_device_options(list, options.run, kHeading);
}

void add_options(OptionList& list, LayoutOptions& options) {
  list.set_footer(kLayoutFooter);
  list.positional("MODEL", options.file, "FILE", "The model's layers and weights; - is standard input");
  list.option("--layers", options.layers, "L", "Decoder layers of the model");
  add_balance_options(list, options);
  list.option("--mtp", options.mtp, "N", "MTP layers behind them (Megatron-LM)");
  list.option("--set", options.set, "PATH=VALUE",
              "Any key of the MODEL, such as output_weight=131e6; repeatable")
      .repeatable();
  list.option("--ranks", options.ranks, "P", "p, pipeline devices");
  list.option("--schedule", options.schedule, "SCHEDULE",
              "Take this schedule's chunks, placement and requirements");
  list.option("--chunks", options.chunks, "V", "v, stages per rank and replica");
  list.option("--placement", options.placement, "loop|v", "Which rank has which stage; default loop");
  list.option("--microbatches", options.microbatches, "M", "m: check it against the stages");
  add_split_options(list, options);
  list.option("--framework", options.framework, "torchtitan|areal|megatron",
              "Whose module names; decides the split too");
  list.flag("--critic", options.critic, "AReaL: the head is a critic's");
  list.option("--compile", options.compile, "on|off", "torch.compile, for advice");
  list.flag("--moe", options.moe, "A mixture of experts, for advice");
  list.option("--checkpointing", options.checkpointing,
              "none|full|selective-layer|selective-op|memory-budget", "Activation checkpointing, for advice");
  add_output(list, options);
}

std::optional<int> count_of(const char* option, const Text& text, int least, int most = kMaxIndex) {
  if (!text) return std::nullopt;
  return parse_count(option, *text, least, most);
}

io::Document model_document(const LayoutOptions& options) {
  io::Document document;
  if (options.file)
    document = io::Document::parse(io::read_file(*options.file),
                                   *options.file == "-" ? "standard input" : *options.file);
  if (options.layers) document.set("layers", *options.layers, "--layers");
  if (options.mtp) document.set("mtp", *options.mtp, "--mtp");
  for (const std::string& assignment : options.set) document.set_option(assignment);
  return document;
}

/// The layout string says the number of layers itself, so the model may be left out.
io::LayoutModel read_model(const LayoutOptions& options, Split split) {
  if (split == Split::MegatronLayout && !options.file && !options.layers && options.set.empty()) return {};
  return io::read_layout_model(model_document(options).root());
}

Split split_of(const LayoutOptions& options, layout::Framework framework) {
  if (!options.split) {
    if (options.megatron_layout) return Split::MegatronLayout;
    return framework == layout::Framework::Megatron ? Split::Even : Split::Weighted;
  }
  require_choice("--split", *options.split, {"weighted", "min-max", "even", "megatron-layout"});
  for (const Split split : {Split::Weighted, Split::MinMax, Split::Even})
    if (*options.split == name_of(split)) return split;
  return Split::MegatronLayout;
}

layout::Framework framework_of(const LayoutOptions& options) {
  if (options.framework) {
    require_choice("--framework", *options.framework, {"torchtitan", "areal", "megatron"});
    return *layout::framework_named(*options.framework);
  }
  if (options.critic) return layout::Framework::Areal;
  const schedules::Alias* alias =
      options.schedule ? schedules::find(*options.schedule, Where{"--schedule"}).alias : nullptr;
  if (alias != nullptr && alias->dialect == "Megatron-LM") return layout::Framework::Megatron;
  const bool is_megatron = options.megatron_layout || options.mtp || options.split == "even" ||
                           options.split == "megatron-layout" || options.split == "min-max";
  return is_megatron ? layout::Framework::Megatron : layout::Framework::Torchtitan;
}

/// Options of one split given to another.
void require_of_split(const LayoutOptions& options, Split split) {
  struct OfSplit {
    const char* option;
    bool given;
    Split split;
  };
  const OfSplit all[] = {{"--first-less", options.first_less.has_value(), Split::Weighted},
                         {"--last-less", options.last_less.has_value(), Split::Weighted},
                         {"--layers-per-stage", options.layers_per_stage.has_value(), Split::Weighted},
                         {"--first-layers", options.first_layers.has_value(), Split::Even},
                         {"--last-layers", options.last_layers.has_value(), Split::Even},
                         {"--account-for-embedding", options.account_for_embedding, Split::Even},
                         {"--account-for-loss", options.account_for_loss, Split::Even},
                         {"--megatron-layout", options.megatron_layout.has_value(), Split::MegatronLayout}};
  for (const OfSplit& one : all)
    if (one.given && one.split != split)
      throw InputError(
          Where{one.option},
          fmt::format("this is for --split {}, but the split is {}; leave it out, or name that split",
                      name_of(one.split), name_of(split)));
  if (split == Split::MegatronLayout && !options.megatron_layout)
    throw InputError(Where{"--split"}, "megatron-layout needs the string: --megatron-layout 'Et|(t|)*6,tL'");
  if (options.chunks && options.layers_per_stage)
    throw InputError(Where{"--chunks"},
                     "--layers-per-stage decides the number of stages already; give one of them");
}

layout::TrainingOptions training_of(const LayoutOptions& options) {
  require_choice("--compile", options.compile, {"on", "off"});
  require_choice("--checkpointing", options.checkpointing, layout::checkpointing_names());
  return {.compile = options.compile == "on",
          .moe = options.moe,
          .checkpointing = *layout::checkpointing_named(options.checkpointing)};
}

LayoutRequest request_of(const LayoutOptions& options) {
  if (!options.ranks) throw InputError("the number of ranks is missing; give --ranks P");
  LayoutRequest request;
  request.framework = framework_of(options);
  request.split = split_of(options, request.framework);
  require_of_split(options, request.split);
  request.model = read_model(options, request.split);
  request.ranks = *count_of("--ranks", options.ranks, 1);
  request.schedule = options.schedule;
  if (options.placement) {
    require_choice("--placement", *options.placement, {"loop", "v"});
    request.placement = *options.placement == "v" ? PlacementKind::V : PlacementKind::Loop;
  }
  request.chunks = count_of("--chunks", options.chunks, 1);
  request.layers_per_stage = count_of("--layers-per-stage", options.layers_per_stage, 1);
  request.microbatches = count_of("--microbatches", options.microbatches, 1);
  request.first_less = count_of("--first-less", options.first_less, 0).value_or(1);
  request.last_less = count_of("--last-less", options.last_less, 0).value_or(1);
  request.first_layers = count_of("--first-layers", options.first_layers, 1);
  request.last_layers = count_of("--last-layers", options.last_layers, 1);
  request.account_for_embedding = options.account_for_embedding;
  request.account_for_loss = options.account_for_loss;
  request.megatron_layout = options.megatron_layout.value_or("");
  request.critic = options.critic;
  request.training = training_of(options);
  if (request.model.mtp > 0 && request.framework != layout::Framework::Megatron)
    throw InputError(Where{"--framework"}, fmt::format("{} has no MTP layers; only megatron has",
                                                       layout::name_of(request.framework)));
  (void)layout::module_names(request.framework, request.critic);
  return request;
}

/// Work in layers, times 1e9.
constexpr std::int64_t kOneLayer = 1'000'000'000;
constexpr std::int64_t kMostLayers = kMaxIndex * kOneLayer;

std::int64_t decimal(const char* option, const Text& text, std::int64_t one, std::int64_t most,
                     std::int64_t fallback) {
  if (!text) return fallback;
  const auto number = parse_fixed(*text, one);
  if (!number || number->value < 0 || number->value > most)
    throw InputError(Where{option}, fmt::format("found '{}'; allowed is a decimal number from 0 to {}",
                                                shortened(*text, 64), most / one));
  return number->value;
}

/// A plain number of units, or a real time with its unit.
Ticks layer_time(const char* option, const Text& text, const LayerCosts& costs, Ticks most, Ticks fallback) {
  const auto real = text ? parse_time_literal(*text) : std::nullopt;
  if (!real) return decimal(option, text, ticks_per(costs.unit), most, fallback);
  if (costs.unit == TimeUnit::Unit)
    throw InputError(Where{option}, fmt::format("{} is a real time, but --time-unit is unit, which has no "
                                                "length; give s, ms, us or ns, or a plain number",
                                                shortened(*text, 64)));
  return real->value;
}

LayerCosts layer_costs(const LayoutOptions& options) {
  LayerCosts costs;
  for (const Text* text : {&options.layer_forward, &options.layer_backward})
    if (*text && parse_time_literal(**text)) costs.unit = TimeUnit::Millisecond;
  if (options.time_unit) {
    require_choice("--time-unit", *options.time_unit, {"unit", "s", "ms", "us", "ns"});
    costs.unit = *time_unit_named(*options.time_unit);
  }
  const Ticks one = ticks_per(costs.unit);
  costs.forward = layer_time("--layer-forward", options.layer_forward, costs, kMaxTicks / 2, one);
  costs.backward =
      layer_time("--layer-backward", options.layer_backward, costs, kMaxTicks, 2 * costs.forward);
  costs.embedding = decimal("--embedding", options.embedding, kOneLayer, kMostLayers, 0);
  costs.head = decimal("--head", options.head, kOneLayer, kMostLayers, 0);
  return costs;
}

void require_costs_out(const LayoutOptions& options) {
  const bool given = options.layer_forward || options.layer_backward || options.embedding || options.head ||
                     options.time_unit;
  if (given && !options.costs_out)
    throw InputError(
        "times of layers are given, but no file of costs; add --costs-out FILE, or leave them out");
  if (options.costs_out) require_free(*options.costs_out, options.force);
}

/// Options that say how the model runs, without a search that asks.
void require_balance(const LayoutOptions& options) {
  for (const auto& [option, value] : device_options(options.run))
    if (*value)
      throw InputError(Where{option},
                       "this is for --balance, which is not given; add --balance time, or leave it out");
}

/// The split that the search finds, under the schedule and on the devices that are named.
LayoutRequest balanced_request(const LayoutOptions& options) {
  require_choice("--balance", *options.balance, {"time", "memory", "both"});
  if (!options.file) throw InputError("the model is missing; name one, such as llama3-8b, or give a file");
  if (options.split)
    throw InputError(Where{"--split"}, "--balance finds the split itself; leave one of them out");
  ModelOptions run = options.run;
  run.model = *options.file;
  run.schedule = options.schedule;
  run.ranks = options.ranks;
  run.chunks = options.chunks;
  run.microbatches = options.microbatches;
  run.set = options.set;
  const io::Config config = request_of(run).config;
  LayoutRequest request;
  request.split = Split::Balanced;
  request.balanced =
      study::balance_layers(config, InputOptions().limits(), *study::balance_named(*options.balance));
  request.framework = framework_of(options);
  const auto model = study::model_of(config);
  request.encoder = model::encoder_layers(*model);
  request.hybrid = model::is_hybrid(*model);
  request.model.layers = static_cast<int>(model->layers.size());
  request.model.mtp = model->mtp;
  if (const auto& own = model->modules) {
    request.own_names = layout::module_names(request.framework, false);
    request.own_names->embedding = own->embedding;
    request.own_names->layers = own->layers;
    request.own_names->norm = own->norm;
    request.own_names->head = own->head;
  }
  request.ranks = config.ranks;
  request.schedule = config.schedule;
  request.chunks = static_cast<int>(request.balanced->best.layers.size()) / config.ranks;
  request.microbatches = config.microbatches;
  request.critic = options.critic;
  request.training = training_of(options);
  return request;
}

ExitCode run_layout(const LayoutOptions& options) {
  const Screen screen = options.output.screen();
  const std::string format = options.print.chosen();
  require_costs_out(options);
  if (!options.balance) require_balance(options);
  const LayoutRequest request = options.balance ? balanced_request(options) : request_of(options);
  const LayerCosts costs = layer_costs(options);
  const LayoutPlan plan = plan_layout(request);
  if (format == "megatron-layout" && plan.megatron_layout.empty())
    throw InputError(Where{"--format"}, "there is no layout string for this: " + plan.megatron_refusal +
                                            "; print modules or the table instead");
  if (options.costs_out)
    io::write_file(*options.costs_out, overwrite_if(options.force),
                   [&](std::ostream& out) { out << costs_json(plan, costs); });
  if (options.costs_out == "-") return ExitCode::Ok;
  if (format == "modules")
    print(modules_json(request, plan));
  else if (format == "megatron-layout")
    print(plan.megatron_layout + '\n');
  else if (format == "json")
    print(layout_json(request, plan));
  else if (!options.output.quiet)
    print(layout_page(request, plan, screen, options.output.verbose));
  if (!request.balanced || request.balanced->best.over == 0) return ExitCode::Ok;
  say("error: no split of the layers keeps the memory limit; take more ranks or tp, recomputation, or "
      "another schedule\n");
  return ExitCode::AnswerIsNo;
}

}  // namespace

Run layout(OptionList& list) {
  auto options = std::make_shared<LayoutOptions>();
  add_options(list, *options);
  return [options] { return run_layout(*options); };
}

}  // namespace pipeloom::cli::commands
