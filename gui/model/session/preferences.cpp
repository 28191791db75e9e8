#include "gui/model/session/preferences.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>

#include <pipeloom/error.hpp>
#include "sim/io/json/file.hpp"
#include "sim/io/json/json_value.hpp"
#include "sim/io/json/json_writer.hpp"

namespace pipeloom::gui {
namespace {

using io::JsonWriter;
using io::ValueKind;

constexpr std::size_t kMaxPreferenceBytes = std::size_t{1} << 20;

/// Takes a value of the member's kind; returns false for anything else.
bool take(const io::Value* found, bool& value) {
  if (found == nullptr || !found->is(ValueKind::Bool)) return false;
  value = found->text() == "true";
  return true;
}

bool take(const io::Value* found, double& value) {
  if (found == nullptr || !found->is(ValueKind::Number)) return false;
  value = found->number();
  return true;
}

bool take(const io::Value* found, std::string& value) {
  if (found == nullptr || !found->is(ValueKind::String)) return false;
  value = found->text();
  return true;
}

bool is_palette(const std::string& name) {
  return name == "default" || name == "colour-blind" || name == "greyscale";
}

/// The entries of an object that have the right kind.
template <class Entry, class Test>
void take_map(const io::Value* found, std::map<std::string, Entry>& out, const Test& fits) {
  if (found == nullptr) return;
  for (std::size_t i = 0; i < found->keys().size(); ++i) {
    Entry entry{};
    if (take(&found->items()[i], entry) && fits(entry)) out[found->keys()[i].name] = entry;
  }
}

std::string environment(const char* name) {
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here changes the environment
  return value == nullptr ? "" : value;
}

/// A setting of the file and the function that writes it.
struct Setting {
  std::string_view key;
  void (*write)(JsonWriter& out, const Preferences& preferences);
};
template <auto Member>
void write_member(JsonWriter& out, const Preferences& preferences) {
  out.value(preferences.*Member);
}
constexpr Setting kSettings[] = {{"dark", write_member<&Preferences::dark>},
                                 {"palette", write_member<&Preferences::palette>},
                                 {"hatching", write_member<&Preferences::hatching>},
                                 {"scale", write_member<&Preferences::scale>},
                                 {"wheel_zooms", write_member<&Preferences::wheel_zooms>},
                                 {"panels", write_member<&Preferences::panels>},
                                 {"splits", write_member<&Preferences::splits>},
                                 {"tabs", write_member<&Preferences::tabs>},
                                 {"recent", write_member<&Preferences::recent>}};

const Setting* find_setting(std::string_view key) {
  const auto* const found = std::find_if(std::begin(kSettings), std::end(kSettings),
                                         [key](const Setting& setting) { return setting.key == key; });
  return found == std::end(kSettings) ? nullptr : found;
}

/// Writes the keys of the old file in their places, those that this program does not know with their old values.
void write_settings(JsonWriter& out, const Preferences& preferences, const io::Value& before) {
  out.object();
  for (std::size_t i = 0; i < before.keys().size(); ++i) {
    const std::string& key = before.keys()[i].name;
    out.key(key);
    if (const Setting* setting = find_setting(key))
      setting->write(out, preferences);
    else
      out.value(before.items()[i]);
  }
  for (const Setting& setting : kSettings)
    if (before.find(setting.key) == nullptr) setting.write(out.key(setting.key), preferences);
  out.close();
}

}  // namespace

std::string preferences_path() {
  const std::string config = environment("XDG_CONFIG_HOME");
  if (!config.empty() && config.front() == '/') return config + "/pipeloom/window.json";
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/pipeloom/window.json";
}

std::string last_workspace_path() {
  const std::string settings = preferences_path();
  return settings.empty() ? "" : (std::filesystem::path(settings).parent_path() / "last.pipeloom").string();
}

void read_preferences(std::string_view text, const std::string& name, Preferences& preferences) {
  const std::optional<io::Value> object = io::read_json(text);
  if (!object || !object->is(ValueKind::Object))
    throw InputError(Where{name},
                     "is no JSON object; the window starts with its defaults (delete the file to "
                     "be rid of this message)");
  Preferences out = preferences;
  take(object->find("dark"), out.dark);
  take(object->find("palette"), out.palette);
  take(object->find("hatching"), out.hatching);
  take(object->find("scale"), out.scale);
  take(object->find("wheel_zooms"), out.wheel_zooms);
  take_map(object->find("panels"), out.panels, [](bool) { return true; });
  take_map(object->find("splits"), out.splits,
           [](double split) { return std::isfinite(split) && std::abs(split) < 1e6; });
  take_map(object->find("tabs"), out.tabs, [](const std::string&) { return true; });
  if (!is_palette(out.palette)) out.palette = preferences.palette;
  if (!(out.scale == 0 || (out.scale >= 0.5 && out.scale <= 4))) out.scale = preferences.scale;
  const io::Value* recent = object->find("recent");
  if (recent != nullptr && recent->is(ValueKind::Array)) {
    out.recent.clear();
    std::string path;
    for (const io::Value& entry : recent->items())
      if (out.recent.size() < kMaxRecentFiles && take(&entry, path)) out.recent.push_back(path);
  }
  preferences = std::move(out);
}

std::string preferences_text(const Preferences& preferences, std::string_view before) {
  const std::optional<io::Value> object = io::read_json(before);
  return io::written_json(
             io::kSettingsStyle,
             [&](JsonWriter& out) { write_settings(out, preferences, object ? *object : io::Value()); }) +
         "\n";
}

std::string absolute_path(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

void add_recent(Preferences& preferences, const std::string& path) {
  if (path.empty() || path == "-") return;
  const std::string name = absolute_path(path);
  std::erase(preferences.recent, name);
  preferences.recent.insert(preferences.recent.begin(), name);
  if (preferences.recent.size() > kMaxRecentFiles) preferences.recent.resize(kMaxRecentFiles);
}

void PreferencesStore::load(Session& session, std::string path) {
  path_ = std::move(path);
  if (path_.empty()) return;
  std::error_code error;
  if (std::filesystem::exists(path_, error)) try {
      const std::string text = io::read_file(path_, kMaxPreferenceBytes);
      read_preferences(text, path_, session.preferences);
    } catch (const Error& problem) {
      session.say(problem.line(), MessageKind::Problem);
    }
  saved_ = preferences_text(session.preferences);
}

void PreferencesStore::save(Session& session) {
  if (path_.empty()) return;
  const std::string now = preferences_text(session.preferences);
  if (now == saved_) return;
  saved_ = now;
  try {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
    std::string before;
    if (std::filesystem::exists(path_, error)) before = io::read_file(path_, kMaxPreferenceBytes);
    const std::string text = preferences_text(session.preferences, before);
    io::write_file(path_, io::Overwrite::Yes, [&](std::ostream& out) { out << text; });
  } catch (const Error& problem) {
    session.say(problem.line(), MessageKind::Problem);
  }
}

void PreferencesStore::reset(Session& session) {
  session.preferences = {};
}

void PreferencesStore::write_state(const Session& session, JsonWriter& out) const {
  out.object().member("file", path_).member("recent", session.preferences.recent).close();
}

}  // namespace pipeloom::gui
