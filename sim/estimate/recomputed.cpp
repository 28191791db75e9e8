#include "sim/estimate/recomputed.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "sim/model/weights.hpp"
#include "sim/options.hpp"

namespace pipeloom::estimate {
namespace {

/// The work that a module of Megatron-LM's --recompute-modules runs again, by the names that work has, and the layers that have it.
struct Module {
  std::string_view name;
  bool (*is_in)(const model::Layer& layer);
  std::vector<std::string_view> gemms;
  std::vector<std::string_view> traffic;
  std::vector<std::string_view> collectives;
  bool attention = false;
};

bool has_norm(const model::Layer&) {
  return true;
}
bool has_latent(const model::Layer& layer) {
  return layer.latent_attention.has_value();
}
bool has_mlp(const model::Layer& layer) {
  return layer.mlp.has_value();
}
bool has_experts(const model::Layer& layer) {
  return layer.experts.has_value();
}
bool has_shared(const model::Layer& layer) {
  return layer.experts && layer.experts->shared_ffn > 0;
}

const std::vector<Module>& modules_known() {
  static const std::vector<Module> kModules = {
      {"core_attn", model::has_attention, {}, {"scores"}, {}, true},
      {"layernorm", has_norm, {}, {"norm"}, {}},
      {"mla_up_proj", has_latent, {"q up", "kv up"}, {"splits of queries and keys"}, {}},
      {"mlp", has_mlp, {"fc1", "fc2"}, {"activation"}, {"mlp"}},
      {"moe",
       has_experts,
       {"router", "expert fc1", "expert fc2", "shared fc1", "shared fc2"},
       {"activation", "permutation"},
       {"dispatch", "combine", "shared experts"}},
      {"moe_act", has_experts, {}, {"activation"}, {}},
      {"shared_experts", has_shared, {"shared fc1", "shared fc2"}, {}, {"shared experts"}},
  };
  return kModules;
}

/// Names of the work that runs again, each once.
struct Names {
  std::set<std::string_view> gemms;
  std::set<std::string_view> traffic;
  std::set<std::string_view> collectives;
  bool attention = false;

  void add(const Module& module) {
    gemms.insert(module.gemms.begin(), module.gemms.end());
    traffic.insert(module.traffic.begin(), module.traffic.end());
    collectives.insert(module.collectives.begin(), module.collectives.end());
    attention = attention || module.attention;
  }
};

template <class Part>
void take(const std::vector<Part>& from, const std::set<std::string_view>& names, std::vector<Part>& to) {
  std::copy_if(from.begin(), from.end(), std::back_inserter(to),
               [&](const Part& part) { return names.contains(part.what); });
}

}  // namespace

bool has_module(const model::Layer& layer, std::string_view module) {
  const auto& known = modules_known();
  return std::any_of(known.begin(), known.end(),
                     [&](const Module& one) { return one.name == module && one.is_in(layer); });
}

model::Work recomputed_work(const model::Layer& layer, const model::Work& work,
                            model::Recomputation recomputation, const std::vector<std::string>& modules) {
  if (recomputation == model::Recomputation::Full) return work;
  model::Work out;
  if (recomputation == model::Recomputation::None) return out;
  Names names;
  for (const Module& module : modules_known()) {
    const bool is_named = std::find(modules.begin(), modules.end(), module.name) != modules.end() ||
                          (modules.empty() && module.name == kSelectiveModules);
    if (is_named && module.is_in(layer)) names.add(module);
  }
  take(work.gemms, names.gemms, out.gemms);
  take(work.traffic, names.traffic, out.traffic);
  take(work.collectives, names.collectives, out.collectives);
  if (names.attention) out.attention = work.attention;
  return out;
}

}  // namespace pipeloom::estimate
