#include "study/run/assignments.hpp"

#include <optional>

#include "sim/io/config/effective_config.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/json_text.hpp"

namespace pipeloom::study {
namespace {

bool is_group_of_keys(const std::string& path) {
  const io::Key* key = io::find_config_key(path);
  return path.empty() || (key != nullptr && key->type == io::KeyType::Object);
}

void collect_leaves(const io::Value& value, const std::string& path, Assignments& out) {
  if (!value.is(io::ValueKind::Object) || !is_group_of_keys(path)) {
    out[path] = value.canonical_text();
    return;
  }
  for (std::size_t i = 0; i < value.keys().size(); ++i) {
    const std::string& name = value.keys()[i].name;
    if (path.empty() && name == "origin") continue;  // reports add it to the effective configuration
    collect_leaves(value.items()[i], path.empty() ? name : path + "." + name, out);
  }
}

io::Document document_of(const Assignments& assignments) {
  io::Document document;
  // "costs" may name a file; single costs go on top of its content.
  if (const auto costs = assignments.find("costs"); costs != assignments.end()) {
    document.set("costs", costs->second, "costs");
    io::inline_costs_file(document);
  }
  for (const auto& [path, text] : assignments)
    if (path != "costs") document.set(path, text, path);
  return document;
}

}  // namespace

Assignments assignments_of(const io::Value& root) {
  io::require_known_keys(root, "");
  Assignments out;
  collect_leaves(root, "", out);
  return out;
}

Assignments assignments_of(const io::Config& config) {
  return io::stated_keys(config);
}

Assignments with_changes(Assignments assignments, const io::Config& from, const io::Config& to) {
  const Assignments before = io::stated_keys(from);
  const Assignments after = io::stated_keys(to);
  const auto put = [&](const std::string& path, const std::string* text) {
    std::erase_if(assignments, [&](const auto& one) { return one.first.starts_with(path + '.'); });
    if (text == nullptr)
      assignments.erase(path);
    else
      assignments[path] = *text;
  };
  for (const auto& [path, text] : before)
    if (!after.contains(path)) put(path, nullptr);
  for (const auto& [path, text] : after)
    if (const auto old = before.find(path); old == before.end() || old->second != text) put(path, &text);
  return assignments;
}

io::Config config_of(const Assignments& assignments) {
  const io::Document document = document_of(assignments);
  return io::read_run_config(document.root());
}

Assignments with_costs_inlined(const Assignments& assignments) {
  if (!assignments.contains("costs")) return assignments;
  const io::Document document = document_of(assignments);
  return assignments_of(document.root());
}

std::string shown_value(const std::string& json) {
  if (!json.starts_with('"')) return json;
  const std::optional<io::Value> value = io::read_json(json);
  return value && value->is(io::ValueKind::String) ? value->text() : json;
}

}  // namespace pipeloom::study
