// The effective configuration as a table of keys.

#include <fmt/format.h>

#include <string>

#include <pipeloom/error.hpp>
#include "sim/base/printable.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_writer.hpp"
#include "study/pages/findings.hpp"

namespace pipeloom::study::page {
namespace {

constexpr std::size_t kLongestValue = 120;

std::string origin_of(const io::EffectiveConfig& config, const std::string& key) {
  for (const auto& [path, origin] : config.origins)
    if (path == key) return origin;
  return "given";
}

/// Of what stands at `path`, "" for the whole; `origin` is no value of the run.
void add_rows(const io::EffectiveConfig& config, const io::Value& value, const std::string& path,
              PageTable& table) {
  if (value.is(io::ValueKind::Object)) {
    for (std::size_t i = 0; i < value.keys().size(); ++i) {
      const std::string& key = value.keys()[i].name;
      if (!path.empty())
        add_rows(config, value.items()[i], path + "." + key, table);
      else if (key != "origin")
        add_rows(config, value.items()[i], key, table);
    }
    return;
  }
  const std::string text =
      value.is(io::ValueKind::String)
          ? value.text()
          : io::written_json(io::kPackedStyle, [&](io::JsonWriter& out) { out.value(value); });
  const std::string origin = origin_of(config, path);
  const Tone tone = origin == "given" ? Tone::Plain : Tone::Muted;
  table.rows.push_back({{path}, {shortened(text, kLongestValue)}, {origin, tone}});
}

}  // namespace

PageTable config_table(const io::EffectiveConfig& config) {
  PageTable table;
  table.caption = "Every value that the run was made with";
  table.columns = {{"key", Align::Left}, {"value", Align::Left}, {"where it comes from", Align::Left}};
  const io::Document effective = io::Document::parse(io::effective_config_text(config), "configuration");
  add_rows(config, effective.root(), "", table);
  return table;
}

}  // namespace pipeloom::study::page
