#include "gui/model/session/preferences.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/base/error.hpp"
#include "sim/io/json/file.hpp"

namespace pipeloom::gui {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxPreferenceBytes = std::size_t{1} << 20;

template <class Value>
void take(const Json& object, const char* key, Value& value) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  if constexpr (std::is_same_v<Value, bool>) {
    if (found->is_boolean()) value = found->get<bool>();
  } else if constexpr (std::is_same_v<Value, double>) {
    if (found->is_number()) value = found->get<double>();
  } else {
    if (found->is_string()) value = found->get<std::string>();
  }
}

bool is_palette(const std::string& name) {
  return name == "default" || name == "colour-blind" || name == "greyscale";
}

/// The entries of an object that are what they should be.
template <class Value, class Test>
void take_map(const Json& object, const char* key, std::map<std::string, Value>& out, const Test& fits) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) return;
  for (const auto& [name, value] : found->items())
    if (fits(value)) out[name] = value.template get<Value>();
}

std::string environment(const char* name) {
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing here changes the environment
  return value == nullptr ? "" : value;
}

/// Null for what is no object, or nested deeper than settings can be: writing that out again would take room in the square of it.
Json parse_object(std::string_view text) {
  constexpr int kDeepest = 64;
  bool too_deep = false;
  const auto look = [&too_deep](int depth, Json::parse_event_t, Json&) {
    too_deep = too_deep || depth > kDeepest;
    return !too_deep;
  };
  Json object = Json::parse(text, look, false, true);
  return object.is_object() && !too_deep ? object : Json();
}

}  // namespace

std::string preferences_path() {
  const std::string config = environment("XDG_CONFIG_HOME");
  if (!config.empty() && config.front() == '/') return config + "/pipeloom/window.json";
  const std::string home = environment("HOME");
  return home.empty() ? "" : home + "/.config/pipeloom/window.json";
}

void read_preferences(std::string_view text, const std::string& name, Preferences& preferences) {
  const Json object = parse_object(text);
  if (object.is_null())
    throw InputError(Where{name},
                     "is no JSON object; the window starts with its defaults (delete the file to "
                     "be rid of this message)");
  Preferences out = preferences;
  take(object, "dark", out.dark);
  take(object, "palette", out.palette);
  take(object, "hatching", out.hatching);
  take(object, "scale", out.scale);
  take(object, "wheel_zooms", out.wheel_zooms);
  take_map(object, "panels", out.panels, [](const Json& value) { return value.is_boolean(); });
  take_map(object, "splits", out.splits, [](const Json& value) {
    return value.is_number() && std::isfinite(value.get<double>()) && std::abs(value.get<double>()) < 1e6;
  });
  if (!is_palette(out.palette)) out.palette = preferences.palette;
  if (!(out.scale == 0 || (out.scale >= 0.5 && out.scale <= 4))) out.scale = preferences.scale;
  const auto recent = object.find("recent");
  if (recent != object.end() && recent->is_array()) {
    out.recent.clear();
    for (const Json& path : *recent)
      if (path.is_string() && out.recent.size() < kMaxRecentFiles)
        out.recent.push_back(path.get<std::string>());
  }
  preferences = std::move(out);
}

std::string preferences_text(const Preferences& preferences, std::string_view before) {
  Json object = parse_object(before);
  if (object.is_null()) object = Json::object();
  object["dark"] = preferences.dark;
  object["palette"] = preferences.palette;
  object["hatching"] = preferences.hatching;
  object["scale"] = preferences.scale;
  object["wheel_zooms"] = preferences.wheel_zooms;
  object["panels"] = preferences.panels;
  object["splits"] = preferences.splits;
  object["recent"] = preferences.recent;
  // File names are bytes: one that is no UTF-8 must not cost the rest.
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_recent(Preferences& preferences, const std::string& path) {
  if (path.empty() || path == "-") return;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  const std::string name = error ? path : absolute.lexically_normal().string();
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

std::string PreferencesStore::state_json(const Session& session) const {
  return Json{{"file", path_}, {"recent", session.preferences.recent}}.dump(-1, ' ', false,
                                                                            Json::error_handler_t::replace);
}

}  // namespace pipeloom::gui
