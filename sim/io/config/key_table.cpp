#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text_tools.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_writer.hpp"

namespace pipeloom::io {
namespace {

bool is_child(std::string_view path, std::string_view parent) {
  if (!parent.empty()) {
    if (path.size() <= parent.size() || path.substr(0, parent.size()) != parent || path[parent.size()] != '.')
      return false;
    path.remove_prefix(parent.size() + 1);
  }
  return path.find('.') == std::string_view::npos;
}

/// True for keys that programs write for people and other programs, and that are not read here.
bool is_remark(std::string_view parent, std::string_view name) {
  return (parent.empty() && name == "origin") || (parent == "costs" && name == "measured");
}

/// Keys by their group: those of key i are ids[begins[i + 1]] to ids[begins[i + 2]], those of the top level come first.
struct Families {
  std::vector<KeyId> ids;
  std::vector<std::size_t> begins = {0};

  Families() {
    add("");
    for (const Key& key : config_keys()) add(key.path);
  }
  void add(std::string_view parent) {
    for (const Key& key : config_keys())
      if (is_child(key.path, parent)) ids.push_back(id_of(key));
    begins.push_back(ids.size());
  }
};

const Families& families() {
  static const Families all;
  return all;
}

}  // namespace

const Key* find_config_key(std::string_view path) {
  const auto keys = config_keys();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [path](const Key& key) { return key.path == path; });
  return found == keys.end() ? nullptr : &*found;
}

std::span<const KeyId> children_of(const Key* parent) {
  const Families& all = families();
  const std::size_t at = parent == nullptr ? 0 : std::size_t{id_of(*parent)} + 1;
  return std::span(all.ids).subspan(all.begins[at], all.begins[at + 1] - all.begins[at]);
}

std::string_view name_of(const Key& key) {
  const auto dot = key.path.rfind('.');
  return dot == std::string_view::npos ? key.path : key.path.substr(dot + 1);
}

std::vector<std::string> choices_of(const Key& key) {
  return split(key.choices, '|');
}

std::vector<std::string> child_keys(std::string_view parent) {
  std::vector<std::string> names;
  const Key* group = find_config_key(parent);
  if (group == nullptr && !parent.empty()) return names;
  for (const KeyId id : children_of(group)) names.emplace_back(name_of(config_keys()[id]));
  return names;
}

void require_known_keys(const Value& object, std::string_view parent) {
  const auto valid = child_keys(parent);
  for (std::size_t i = 0; i < object.keys().size(); ++i) {
    const std::string& name = object.keys()[i].name;
    if (std::find(valid.begin(), valid.end(), name) != valid.end() || is_remark(parent, name)) continue;
    const std::string what = parent.empty() ? "configuration key" : fmt::format("key of {}", parent);
    throw InputError::unknown_name(object.where_key(i), what, shortened(name, 64), valid);
  }
}

namespace {

bool is_count(const Key& key) {
  return key.type == KeyType::Count || key.type == KeyType::GroupSize;
}

}  // namespace

std::string config_keys_help() {
  std::string out;
  for (const Key& key : config_keys()) {
    out += fmt::format("{}\n    {}\n    {}", key.path, key.help, key.form->help);
    if (!key.choices.empty()) out += fmt::format(" {}", key.choices);
    if (is_count(key)) out += fmt::format(", {} to {}", key.minimum, key.maximum);
    if (!key.unit.empty()) out += fmt::format("; in {}", key.unit);
    out += key.default_text.empty() ? "; required\n" : fmt::format("; default {}\n", key.default_text);
  }
  return out;
}

namespace {

void write_key(JsonWriter& out, const Key& key) {
  out.object().member("key", key.path).member("takes", key.form->help);
  if (!key.choices.empty()) out.member("choices", key.choices);
  if (is_count(key)) out.member("minimum", key.minimum).member("maximum", key.maximum);
  if (!key.unit.empty()) out.member("unit", key.unit);
  if (!key.default_text.empty()) out.member("default", key.default_text);
  out.member("help", key.help).close();
}

}  // namespace

std::string config_keys_json() {
  return written_json(kReportStyle,
                      [](JsonWriter& out) {
                        out.object().line(2).member("schema_version", 1).line(2).key("keys").array();
                        for (const Key& key : config_keys()) write_key(out.line(4), key);
                        out.close(2).close(0);
                      }) +
         "\n";
}

}  // namespace pipeloom::io
