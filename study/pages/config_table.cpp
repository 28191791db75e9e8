// The effective configuration as a table of keys.

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/base/error.hpp"
#include "sim/io/config/effective_config.hpp"
#include "study/pages/findings.hpp"

namespace pipeloom::study::page {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestValue = 120;

std::string origin_of(const io::EffectiveConfig& config, const std::string& key) {
  for (const auto& [path, origin] : config.origins)
    if (path == key) return origin;
  return "given";
}

void add_rows(const io::EffectiveConfig& config, const Json& value, const std::string& path,
              PageTable& table) {
  if (value.is_object()) {
    for (const auto& [key, part] : value.items())
      add_rows(config, part, path.empty() ? key : path + "." + key, table);
    return;
  }
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const std::string origin = origin_of(config, path);
  const Tone tone = origin == "given" ? Tone::Plain : Tone::Muted;
  table.rows.push_back({{path}, {shortened(text, kLongestValue)}, {origin, tone}});
}

}  // namespace

PageTable config_table(const io::EffectiveConfig& config) {
  PageTable table;
  table.caption = "Every value that the run was made with";
  table.columns = {{"key", Align::Left}, {"value", Align::Left}, {"where it comes from", Align::Left}};
  Json json = Json::parse(io::effective_config_text(config));
  json.erase("origin");
  add_rows(config, json, "", table);
  return table;
}

}  // namespace pipeloom::study::page
