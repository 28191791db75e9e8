#include "sim/estimate/recomputed.hpp"

#include <algorithm>
#include <string_view>

#include "sim/options.hpp"

namespace pipeloom::estimate {
namespace {

/// What a module of Megatron-LM's --recompute-modules runs again, by the names that work has.
struct Module {
  std::string_view name;
  std::vector<std::string_view> gemms;
  std::vector<std::string_view> traffic;
  std::vector<std::string_view> collectives;
  bool attention = false;
};

const std::vector<Module>& modules_known() {
  static const std::vector<Module> kModules = {
      {.name = "core_attn", .gemms = {}, .traffic = {"scores"}, .collectives = {}, .attention = true},
      {.name = "layernorm", .gemms = {}, .traffic = {"norm"}, .collectives = {}},
      {.name = "mla_up_proj",
       .gemms = {"q up", "kv up"},
       .traffic = {"splits of queries and keys"},
       .collectives = {}},
      {.name = "mlp", .gemms = {"fc1", "fc2"}, .traffic = {"activation"}, .collectives = {"mlp"}},
      {.name = "moe",
       .gemms = {"router", "expert fc1", "expert fc2"},
       .traffic = {"activation", "permutation"},
       .collectives = {"dispatch", "combine"}},
      {.name = "moe_act", .gemms = {}, .traffic = {"activation"}, .collectives = {}},
      {.name = "shared_experts",
       .gemms = {"shared fc1", "shared fc2"},
       .traffic = {},
       .collectives = {"shared experts"}},
  };
  return kModules;
}

bool has(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Part>
void take(const std::vector<Part>& from, const std::vector<std::string_view>& names, std::vector<Part>& to) {
  for (const Part& part : from)
    if (has(names, part.what)) to.push_back(part);
}

}  // namespace

model::Work recomputed_work(const model::Work& work, model::Recomputation recomputation,
                            const std::vector<std::string>& modules) {
  if (recomputation == model::Recomputation::Full) return work;
  model::Work out;
  if (recomputation == model::Recomputation::None) return out;
  for (const Module& module : modules_known()) {
    const bool is_named = std::find(modules.begin(), modules.end(), module.name) != modules.end();
    if (!is_named && !(modules.empty() && module.name == kSelectiveModules)) continue;
    take(work.gemms, module.gemms, out.gemms);
    take(work.traffic, module.traffic, out.traffic);
    take(work.collectives, module.collectives, out.collectives);
    if (module.attention)
      out.attention.insert(out.attention.end(), work.attention.begin(), work.attention.end());
  }
  return out;
}

}  // namespace pipeloom::estimate
