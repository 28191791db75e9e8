// A configuration as assignments, and back: file, command line, typed configuration.

#include <fmt/format.h>

#include <optional>

#include "gui/model/edit/config_model.hpp"
#include "sim/io/config/key.hpp"
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_text.hpp"
#include "study/text/shell_text.hpp"

namespace pipeloom::gui {
namespace {

/// Returns the option of a key that has one of its own, else "".
std::string option_of(const std::string& path) {
  for (const char* name : {"schedule", "ranks", "microbatches", "chunks"})
    if (path == name) return std::string("--") + name;
  return {};
}

/// Assignments in the order of the table of keys; those that are not in the table come last.
std::vector<std::pair<std::string, std::string>> in_order(const Assignments& assignments) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const io::Key& key : io::config_keys())
    if (const auto found = assignments.find(std::string(key.path)); found != assignments.end())
      out.emplace_back(*found);
  for (const auto& assignment : assignments)
    if (io::find_config_key(assignment.first) == nullptr) out.emplace_back(assignment);
  return out;
}

/// True if leaving the key out means the same. Options are not looked at: their defaults depend on schedule, alias and chunks.
bool is_default(const Assignments& assignments, const std::string& path, const std::string& value) {
  const io::Key* key = io::find_config_key(path);
  if (key == nullptr || key->group == io::KeyClass::Shape || key->group == io::KeyClass::Option) return false;
  const bool in_costs_file = path.starts_with("costs.") && assignments.contains("costs");
  return !in_costs_file && value == key->default_text;
}

/// An object under way, or a value as it was written: numbers keep their digits.
struct Member {
  std::string name = {};
  std::string text = {};
  std::vector<Member> members = {};

  Member& member(std::string_view wanted) {
    for (Member& found : members)
      if (found.name == wanted) return found;
    members.push_back({std::string(wanted)});
    return members.back();
  }

  void write(std::string& out, std::size_t depth) const {
    if (members.empty()) {
      out += text.empty() ? "{}" : text;
      return;
    }
    out += "{";
    for (const Member& each : members) {
      out +=
          fmt::format("{}\n{:{}}\"{}\": ", &each == members.data() ? "" : ",", "", 2 * depth + 2, each.name);
      each.write(out, depth + 1);
    }
    out += fmt::format("\n{:{}}}}", "", 2 * depth);
  }
};

}  // namespace

std::string array_of(const std::string& value, int stages) {
  const bool is_word = !value.empty() && !io::read_json(value);
  const std::string element = value.empty() ? "1" : is_word ? io::json_string(value) : value;
  std::string out = "[";
  for (int stage = 0; stage < stages; ++stage) out += (stage == 0 ? "" : ",") + element;
  return out + "]";
}

std::string config_text(const Assignments& assignments) {
  Member root;
  for (const auto& [path, text] : in_order(assignments)) {
    Member* at = &root;
    std::string_view rest = path;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      at = &at->member(rest.substr(0, dot));
      rest.remove_prefix(dot + 1);
    }
    at->member(rest).text = text;
  }
  std::string out;
  root.write(out, 0);
  return out + "\n";
}

std::string command_line(const Assignments& assignments) {
  std::string out = "pipeloom simulate";
  for (const auto& [path, text] : in_order(assignments)) {
    const std::string option = option_of(path);
    const std::string value = shown_value(text);
    if (is_default(assignments, path, value)) continue;
    if (option.empty())
      out += " --set " + study::shell_word(path + "=" + value);
    else
      out += fmt::format(" {} {}", option, study::shell_word(value));
  }
  return out;
}

}  // namespace pipeloom::gui
