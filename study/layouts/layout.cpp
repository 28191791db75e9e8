#include "study/layouts/layout.hpp"

#include <fmt/format.h>

#include <utility>

#include "schedules/generator.hpp"
#include "sim/base/text_tools.hpp"
#include "study/run/workload.hpp"

namespace pipeloom::study {
namespace {

RecomputeOption option_of(const ParallelLayout& layout) {
  const RecomputeChoice& choice = recompute_of(layout);
  RecomputeOption out{.on = choice.whole, .modules = std::string(choice.modules)};
  if (layout.layers_again > 0) out.layers = layout.layers_again;
  return out;
}

}  // namespace

std::string recompute_text(const ParallelLayout& layout) {
  if (layout.layers_again == 0) return std::string(recompute_of(layout).word);
  return fmt::format("{} layer{}", layout.layers_again, layout.layers_again == 1 ? "" : "s");
}

SplitKey split_key(const ParallelLayout& layout) {
  return {layout.tensor, layout.context, layout.expert, layout.pipeline};
}

std::string split_text(const ParallelLayout& layout) {
  std::string out;
  for (const auto& [name, size] : {std::pair("tp", layout.tensor), std::pair("pp", layout.pipeline),
                                   std::pair("cp", layout.context), std::pair("ep", layout.expert)})
    if (size > 1) out += fmt::format("{}{}{}", out.empty() ? "" : " ", name, size);
  return out.empty() ? "dp" : out;
}

const std::string& order_name(const ParallelLayout& layout) {
  return schedules::find(std::string(layout.order)).generator->name;
}

io::Config config_of(const io::Config& base, const ParallelLayout& layout, const std::vector<int>& layers) {
  io::Config out = with_schedule({base, 1}, std::string(layout.order),
                                 layout.chunks > 1 ? std::optional(layout.chunks) : std::nullopt);
  out.ranks = layout.pipeline;
  out.microbatches = layout.microbatches;
  cost::ModelSpec& spec = out.costs.model;
  spec.tensor = layout.tensor;
  spec.context = layout.context;
  spec.expert = layout.expert;
  spec.data = layout.data;
  spec.zero = layout.zero;
  if (layout.shards > 0) {
    spec.shards = layout.shards;
    io::mark_given(out, "costs.shards");
  }
  spec.order = layout.devices;
  if (layout.devices != DeviceOrder::PipelineLast) io::mark_given(out, "costs.order");
  spec.micro_batch = layout.micro_batch;
  out.options.recompute = option_of(layout);
  for (const char* key : {"ranks", "microbatches", "costs.tp", "costs.cp", "costs.ep", "costs.dp",
                          "costs.zero", "costs.micro_batch", "options.recompute"})
    io::mark_given(out, key);
  if (!layers.empty()) {
    out.costs.layers.counts.assign(layers.begin(), layers.end());
    io::mark_given(out, "costs.layers");
  }
  return out;
}

model::Split split_of(model::Split base, const ParallelLayout& layout) {
  base.pipeline = layout.pipeline;
  base.tensor = layout.tensor;
  base.context = layout.context;
  base.expert = layout.expert;
  base.data = layout.data;
  base.zero = layout.zero;
  base.shards = layout.shards;
  base.order = layout.devices;
  base.micro_batch = layout.micro_batch;
  return base;
}

estimate::Setting setting_of(estimate::Setting base, const ParallelLayout& layout) {
  base.split = split_of(std::move(base.split), layout);
  const RecomputeChoice& choice = recompute_of(layout);
  base.recomputation = choice.whole             ? model::Recomputation::Full
                       : choice.modules.empty() ? model::Recomputation::None
                                                : model::Recomputation::Selective;
  base.modules = choice.modules.empty() ? std::vector<std::string>() : pipeloom::split(choice.modules, ',');
  base.layers_again = layout.layers_again > 0 ? std::optional(layout.layers_again) : std::nullopt;
  return base;
}

}  // namespace pipeloom::study
