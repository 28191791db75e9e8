#include "study/run/model_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "sim/base/text_tools.hpp"
#include "sim/estimate/recomputed.hpp"
#include "sim/io/hardware/hardware_file.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/models/find_model.hpp"
#include "sim/model/check.hpp"
#include "sim/model/trainable.hpp"
#include "sim/tensor_index.hpp"
#include "study/run/fill_costs.hpp"

namespace pipeloom::study {
namespace {

using estimate::Category;

/// Reads each name or file once, and again only if the file has changed: sweeps and the window ask for it at every run.
template <class Thing>
class ReadOnce {
 public:
  template <class Find>
  std::shared_ptr<const Thing> get(const std::string& name, const Find& find) {
    const std::scoped_lock lock(mutex_);
    std::error_code no_file;
    const auto changed = std::filesystem::last_write_time(name, no_file);
    const auto found = things_.find(name);
    if (found != things_.end() && found->second.first == changed) return found->second.second;
    std::shared_ptr<const Thing> thing = find();
    things_[name] = {changed, thing};
    return thing;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<std::filesystem::file_time_type, std::shared_ptr<const Thing>>> things_;
};

std::shared_ptr<const model::Model> known_model(const std::string& name, const Where& where) {
  static ReadOnce<model::Model> known;
  return known.get(name, [&] { return std::make_shared<const model::Model>(io::find_model(name, where)); });
}
std::shared_ptr<const hardware::Hardware> known_hardware(const std::string& name, const Where& where) {
  static ReadOnce<hardware::Hardware> known;
  return known.get(name, [&] { return io::find_hardware(name, where); });
}

/// The device with another precision of its products, made once. Throws InputError at `where` where it has no rate for it.
std::shared_ptr<const hardware::Hardware> in_precision(
    const std::shared_ptr<const hardware::Hardware>& device, const std::string& name, const Where& where) {
  constexpr std::array kAll = {hardware::Precision::Bf16, hardware::Precision::Fp8,
                               hardware::Precision::Mxfp8};
  const auto* const wanted =
      std::find_if(kAll.begin(), kAll.end(), [&](auto one) { return name_of(one) == name; });
  if (wanted == kAll.end() || *wanted == device->precision) return device;
  if (device->matrix_rate[static_cast<std::size_t>(*wanted)] == 0)
    throw InputError(where, fmt::format("{} has no rate for products in {}; take another precision, or a "
                                        "hardware file that says matrix.{}_tflops",
                                        shortened(device->name, 80), name, name));
  static std::mutex mutex;
  static std::map<std::pair<std::shared_ptr<const hardware::Hardware>, hardware::Precision>,
                  std::shared_ptr<const hardware::Hardware>>
      made;
  const std::scoped_lock lock(mutex);
  auto& out = made[{device, *wanted}];
  if (out == nullptr) {
    hardware::Hardware other = *device;
    other.precision = *wanted;
    out = std::make_shared<const hardware::Hardware>(std::move(other));
  }
  return out;
}

std::string path_or_name(const std::string& text, const Where& where) {
  return io::looks_like_file(text) && !text.starts_with("--") ? io::relative_to(where.file, text) : text;
}

/// Modules and layers mean something to a model alone; times that are stated have no parts.
void refuse_parts(const io::Config& config) {
  if (config.options.recompute.layers)
    throw InputError(config.place_of("options.recompute.layers"),
                     fmt::format("{} layers of a stage need costs.model, which says what each takes and "
                                 "keeps; name a model, or give costs.recompute and memory.stash_bytes",
                                 *config.options.recompute.layers));
  if (config.options.recompute.modules.empty()) return;
  throw InputError(config.place_of("options.recompute"),
                   fmt::format("recomputing {} needs costs.model, which says what it takes and keeps; name a "
                               "model, or take none or full",
                               config.options.recompute.modules));
}

/// Throws InputError if costs or memory are stated per rank or for the whole model: a model's numbers are per stage.
void require_per_stage(const io::Config& config) {
  for (const auto& [path, per] :
       {std::pair("costs.per", config.costs.per), std::pair("memory.per", config.memory.per)})
    if (per != cost::Per::Stage)
      throw InputError(config.place_of(path),
                       fmt::format("{} is \"{}\", but costs.model gives numbers per stage; leave it out",
                                   path, cost::name_of(per)));
}

void require_batch(const io::Config& config) {
  const cost::ModelSpec& spec = config.costs.model;
  if (!spec.global_batch) return;
  const long long samples = static_cast<long long>(spec.micro_batch) * spec.data * config.microbatches;
  if (samples != *spec.global_batch)
    throw InputError(
        config.place_of("costs.global_batch"),
        fmt::format(
            "costs.global_batch = {}, but microbatches * micro_batch * dp = {}; leave one of them out",
            *spec.global_batch, samples));
}

/// Every list is one sample; which microbatches there are is known here.
void require_documents(const io::Config& config, const estimate::Setting& setting) {
  const cost::DocumentLists& documents = config.costs.model.documents;
  if (!documents.per_microbatch) return;
  if (documents.lists.size() != static_cast<std::size_t>(config.microbatches))
    throw InputError(
        documents.where,
        fmt::format("costs.documents has {} lists, but there are {} microbatches; give one each, or one list "
                    "for all",
                    documents.lists.size(), config.microbatches));
  model::Split split = setting.split;
  for (const std::vector<std::int32_t>& list : documents.lists) {
    split.documents.assign(list.begin(), list.end());
    model::check(*setting.model, split, documents.where);
  }
}

/// Measured times are of the run that they were measured on: nothing here can change them.
void require_measured_as_it_is(const io::Config& config, const model::Model& model) {
  // Replicas change the tokens of a step, not its time.
  constexpr std::array<std::string_view, 3> kFine = {"costs.hardware", "costs.dp", "costs.global_batch"};
  for (const io::Key& key : io::config_keys()) {
    const bool changes =
        key.needs == "costs.model" && std::find(kFine.begin(), kFine.end(), key.path) == kFine.end();
    if (changes && config.given.has(io::id_of(key)))
      throw InputError(
          config.place_of(key.path),
          fmt::format(
              "{} has measured times of its layers and no sizes, so that {} changes nothing; leave it out",
              model.name, key.path));
  }
  if (!config.options.recompute.modules.empty())
    throw InputError(
        config.place_of("options.recompute"),
        fmt::format("{} has measured times of its layers, not of their modules; take none or full",
                    model.name));
}

void require_fits(const io::Config& config, const estimate::Setting& setting) {
  const model::Model& model = *setting.model;
  if (!model::has_sizes(model)) return require_measured_as_it_is(config, model);
  model::check(model, setting.split, config.place_of("costs.model"));
  for (const std::string& module : setting.modules)
    if (std::none_of(model.kinds.begin(), model.kinds.end(),
                     [&](const model::Layer& layer) { return estimate::has_module(layer, module); }))
      throw InputError(config.place_of("options.recompute"),
                       fmt::format("no layer of {} has the module {}; leave it out", model.name, module));
}

}  // namespace

void keep_once_per_rank(const Placement& placement, estimate::Estimate& estimate) {
  for (const Category category : {Category::Buffers, Category::Temporaries, Category::Reserve})
    for (int r = 0; r < placement.ranks(); ++r) {
      const auto bytes = [&](pipeloom::Stage stage) -> Bytes& {
        return estimate.stages[stage.at()].bytes.of(category);
      };
      const std::vector<pipeloom::Stage> stages = placement.stages_of(Rank(r));
      const auto most =
          std::max_element(stages.begin(), stages.end(),
                           [&](pipeloom::Stage a, pipeloom::Stage b) { return bytes(a) < bytes(b); });
      for (const pipeloom::Stage stage : stages)
        if (stage != *most) bytes(stage) = 0;
    }
}

std::shared_ptr<const model::Model> model_of(const io::Config& config) {
  const Where& where = config.place_of("costs.model");
  return known_model(path_or_name(config.costs.model.model, where), where);
}

std::shared_ptr<const hardware::Hardware> hardware_of(const io::Config& config) {
  const std::string& name = config.costs.model.hardware;
  const Where& where = config.place_of("costs.hardware");
  if (name.empty()) return nullptr;
  return in_precision(known_hardware(path_or_name(name, where), where), config.costs.model.precision,
                      config.place_of("costs.precision"));
}

namespace {

/// The pipeline that a model is spread over.
struct Pipeline {
  int ranks = 1;
  int stages = 1;
  estimate::Head head = estimate::Head::OnLastStage;
  bool has_copies = false;
};

/// Of a number that a product reads, as it is kept.
double product_bytes(const estimate::Setting& setting) {
  return setting.hardware ? hardware::bytes_of(setting.hardware->precision) : 2;
}

model::Trainable trainable_of(const io::Config& config, const model::Model& model) {
  const cost::ModelSpec& spec = config.costs.model;
  if (!model::has_sizes(model)) return {};  // which refuses the key
  const std::string why = model::trainable_refusal(model, spec.trainable, spec.adapter_rank);
  if (!why.empty())
    throw InputError(config.place_of("costs.trainable"),
                     fmt::format("costs.trainable is {}: {}", spec.trainable, why));
  return model::trainable_of(model, spec.trainable, spec.adapter_rank);
}

estimate::Setting setting_on(const io::Config& config, const Pipeline& pipeline) {
  const cost::ModelSpec& spec = config.costs.model;
  estimate::Setting out;
  out.model = model_of(config);
  out.head = pipeline.head;
  out.hardware = hardware_of(config);
  if (!out.hardware && !out.model->profile)
    throw InputError(config.place_of("costs.model"),
                     fmt::format("costs.model {} needs costs.hardware, the device that it runs on; add it: "
                                 "--hardware NAME, one of {}, or a file of your own",
                                 spec.model, fmt::join(io::hardware_names(), ", ")));
  out.split = {.pipeline = pipeline.ranks,
               .tensor = spec.tensor,
               .data = spec.data,
               .context = spec.context,
               .expert = spec.expert,
               .order = spec.order,
               .output = shares_head(out) ? pipeline.stages : 1,
               .zero = spec.zero.value_or(1),
               .shards = spec.shards.value_or(0),
               .sequence_parallel = spec.sequence_parallel,
               .flash = spec.flash,
               .fused_experts = spec.fused_experts,
               .product_bytes = product_bytes(out),
               .sequence = spec.sequence ? *spec.sequence : out.model->sequence,
               .micro_batch = spec.micro_batch};
  if (spec.expert_load)
    out.split.expert_load = static_cast<double>(*spec.expert_load) / static_cast<double>(kUnitScale);
  if (!spec.documents.lists.empty())
    out.split.documents.assign(spec.documents.lists.front().begin(), spec.documents.lists.front().end());
  out.split.trainable = trainable_of(config, *out.model);
  out.gradient_bytes = spec.gradient_bytes;
  out.optimizer_bytes = spec.optimizer_bytes;
  const auto hidden = [&](model::Group group, const std::optional<Scale>& own, Scale otherwise) {
    out.hidden[static_cast<std::size_t>(group)] =
        static_cast<double>(own.value_or(otherwise)) / static_cast<double>(kUnitScale);
  };
  if (spec.compute_scale) {
    constexpr Scale kMost = 100;
    if (*spec.compute_scale > kMost * kUnitScale || *spec.compute_scale < kUnitScale / kMost)
      throw InputError(config.place_of("costs.compute_scale"),
                       "costs.compute_scale must be between 0.01 and 100");
    out.compute = static_cast<double>(*spec.compute_scale) / static_cast<double>(kUnitScale);
  }
  const Scale all = spec.hidden_collectives.value_or(0);
  hidden(model::Group::Tensor, spec.hidden_tensor, all);
  hidden(model::Group::Context, spec.hidden_context, all);
  hidden(model::Group::Expert, spec.hidden_expert, all);
  hidden(model::Group::Data, spec.hidden_data, 0);
  out.overlaps_reduction = spec.reduction == cost::Reduction::Overlapped;
  const RecomputeOption& recompute = config.options.recompute;
  if (recompute.on) out.recomputation = model::Recomputation::Full;
  out.recomputing = recompute.stages;
  out.keeps_some = recompute.on && recompute.keep > 0;
  out.layers_again = recompute.layers;
  out.method = recompute.method;
  out.offloads = pipeline.has_copies || config.options.offload.on;
  if (!recompute.modules.empty()) {
    out.recomputation = model::Recomputation::Selective;
    out.modules = split(recompute.modules, ',');
    if (recompute.layers)
      throw InputError(config.place_of("options.recompute.layers"),
                       "layers run again whole, modules within the backward of every layer; leave out "
                       "options.recompute.layers or options.recompute.modules");
  }
  require_fits(config, out);
  require_documents(config, out);
  return out;
}

Pipeline pipeline_of(const Schedule& schedule) {
  Pipeline out{.ranks = schedule.ranks(), .stages = schedule.stages(), .has_copies = schedule.has_copies()};
  if (schedule.shares_output())
    out.head = turning_kind(schedule) == OpKind::Output ? estimate::Head::SharedToGradient
                                                        : estimate::Head::SharedToLogits;
  return out;
}
Pipeline pipeline_of(const Placement& placement, const Requirements& requirements) {
  Pipeline out{.ranks = placement.ranks(), .stages = placement.stages()};
  if (requirements.shares_output)
    out.head = requirements.output_makes_gradient ? estimate::Head::SharedToGradient
                                                  : estimate::Head::SharedToLogits;
  return out;
}

/// For the default split: every stage needs a layer, except that both the first and the last may have none.
void require_layers(const io::Config& config, const model::Model& model, int stages) {
  const auto layers = static_cast<int>(model.layers.size());
  if (stages <= layers || stages == layers + 2) return;
  throw InputError(config.place_of("ranks"),
                   fmt::format("{} stages (ranks x chunks) are more than the {} layers of {}, and a stage "
                               "needs one; take fewer ranks or chunks, and give devices to tp, cp or dp",
                               stages, layers, shortened(model.name, 80)));
}

}  // namespace

estimate::Setting setting_of(const io::Config& config, const Schedule& schedule) {
  return setting_on(config, pipeline_of(schedule));
}

std::vector<int> stage_layers(const io::Config& config, const model::Model& model, int stages) {
  const cost::StageCounts& given = config.costs.layers;
  if (given.counts.empty()) {
    require_layers(config, model, stages);
    return estimate::default_layers(model, stages);
  }
  const auto found = static_cast<int>(given.counts.size());
  if (found != stages)
    throw InputError(given.where,
                     fmt::format("costs.layers has {} entries, but the run has {} stages; give one per stage",
                                 found, stages));
  const long long sum = std::accumulate(given.counts.begin(), given.counts.end(), 0LL);
  if (sum != static_cast<long long>(model.layers.size()))
    throw InputError(given.where,
                     fmt::format("costs.layers add up to {}, but {} has {} layers; make them equal", sum,
                                 model.name, model.layers.size()));
  return given.counts;
}

namespace {

std::optional<ModelCosts> costs_on(const io::Config& config, const Placement& placement,
                                   const Pipeline& pipeline) {
  if (config.costs.model.model.empty()) {
    refuse_parts(config);
    return std::nullopt;
  }
  require_per_stage(config);
  require_batch(config);
  const estimate::Setting setting = setting_on(config, pipeline);
  return costs_of_layers(config, placement, setting,
                         stage_layers(config, *setting.model, placement.stages()));
}

}  // namespace

std::optional<ModelCosts> model_costs(const io::Config& config, const Schedule& schedule) {
  return costs_on(config, schedule.placement(), pipeline_of(schedule));
}

std::optional<ModelCosts> model_costs(const io::Config& config, const Placement& placement,
                                      const Requirements& requirements) {
  return costs_on(config, placement, pipeline_of(placement, requirements));
}

ModelCosts costs_of_layers(const io::Config& config, const Placement& placement,
                           const estimate::Setting& setting, const std::vector<int>& layers) {
  ModelCosts out{.config = config, .setting = setting};
  out.setting.copies = placement.replicas();
  out.estimate = estimate::estimate(out.setting, layers);
  keep_once_per_rank(placement, out.estimate);
  out.config.costs.layers = {layers, config.place_of("costs.layers")};
  if (config.costs.layers.counts.empty())
    out.origins.emplace_back("costs.layers", "default: the model's layers dealt out evenly");
  fill_costs(out, placement);
  return out;
}

}  // namespace pipeloom::study
