#include "study/run/origins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/config/config_keys.hpp"

namespace pipeloom::study {
namespace {

using Origins = std::vector<cost::Origin>;

void set_origin(Origins& origins, const std::string& key, const std::string& text) {
  const auto same = [&key](const cost::Origin& origin) { return origin.first == key; };
  const auto found = std::find_if(origins.begin(), origins.end(), same);
  if (found == origins.end())
    origins.emplace_back(key, text);
  else
    found->second = text;
}

bool is_shown(const io::EffectiveConfig& effective, std::string_view key) {
  const auto* row = io::find_config_key(key);
  if (row == nullptr) return false;
  if (key == "options.group_size") return effective.options.group_size.has_value();
  if (key == "options.slices") return !effective.options.slices.empty();
  if (key == "options.waves") return effective.options.waves.has_value();
  if (key == "options.updates") return effective.options.updates.has_value();
  if (key == "options.variant") return !effective.options.variant.empty();
  if (key.starts_with("options.memory_limit.")) return false;
  if (key == "options.file" || key.starts_with("options.offload") || key.starts_with("options.recompute"))
    return false;
  if (key == "costs.recompute" || key == "memory.stash_bytes") return effective.runs(OpKind::Recompute);
  if (key == "costs.offload" || key == "costs.reload") return effective.runs(OpKind::Offload);
  const auto& transfer = effective.spec.transfer;
  if (key.starts_with("costs.transfer.intra") || key.starts_with("costs.transfer.inter") ||
      key.ends_with("ranks_per_node"))
    return transfer.ranks_per_node.has_value();
  if (key == "costs.transfer.plan") return transfer.model != cost::TransferModel::Latency;
  if (key == "costs.transfer.ahead") return transfer.plan == "ahead";
  if (key == "costs.transfer.bandwidth_gbps") return transfer.link.bits_per_second.has_value();
  return row->type != io::KeyType::Scales;
}

}  // namespace

void collect_origins(const io::RunConfig& config, io::EffectiveConfig& effective) {
  Origins all;
  for (const auto& key : config.defaulted) set_origin(all, key, "default");
  if (config.memory.per != cost::Per::Stage) {
    const bool follows =
        std::find(config.defaulted.begin(), config.defaulted.end(), "memory.per") != config.defaulted.end();
    set_origin(
        all, "memory.per",
        fmt::format("{}divided: given per {}", follows ? "as costs.per; " : "", name_of(config.memory.per)));
  }
  for (const auto& [key, text] : effective.origins) set_origin(all, key, text);
  for (const auto& [key, text] : effective.resolved.origins) set_origin(all, key, text);
  effective.origins.clear();
  for (const auto& row : io::config_keys())
    for (auto& origin : all)
      if (origin.first == row.path && is_shown(effective, row.path))
        effective.origins.push_back(std::move(origin));
}

}  // namespace pipeloom::study
