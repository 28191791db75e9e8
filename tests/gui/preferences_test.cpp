#include "gui/model/session/preferences.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/io/json/file.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace preferences_test {

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

Preferences sample() {
  Preferences out;
  out.dark = false;
  out.palette = "greyscale";
  out.hatching = true;
  out.scale = 1.5;
  out.wheel_zooms = true;
  out.panels = {{"edit", true}, {"params", false}};
  out.splits = {{"left", 0.25}};
  out.recent = {"/a/one.json", "/b/two.csv"};
  return out;
}

bool same(const Preferences& a, const Preferences& b) {
  return preferences_text(a) == preferences_text(b);
}

struct Folder {
  std::filesystem::path path = pipeloom::test::temporary_path("preferences");
  std::string file = (path / "deep" / "window.json").string();
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("preferences read back as they were written") {
  Preferences back;
  read_preferences(preferences_text(sample()), "f", back);
  CHECK(back.dark == false);
  CHECK(back.palette == "greyscale");
  CHECK(back.panels.at("edit"));
  CHECK(back.splits.at("left") == 0.25);
  CHECK(back.recent == sample().recent);
  CHECK(same(back, sample()));
}

TEST_CASE("preferences that are nested deeper than settings can be are none") {
  Preferences back;
  const std::string deep = "{\"x\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  CHECK_THROWS_AS(read_preferences(deep, "f", back), InputError);
  CHECK(preferences_text(sample(), deep) == preferences_text(sample()));
}

TEST_CASE("what does not fit is left as it was") {
  Preferences back = sample();
  read_preferences(R"({"scale": 40, "palette": "neon", "dark": "yes", "panels": {"edit": 3}, "splits": 1})",
                   "f", back);
  CHECK(same(back, sample()));
  CHECK_THROWS_AS(read_preferences("[1]", "f", back), InputError);
  CHECK_THROWS_AS(read_preferences("{", "f", back), InputError);
}

TEST_CASE("keys of a newer program stay in the file") {
  const std::string text = preferences_text(sample(), R"({"tabs": [1, 2], "dark": true})");
  CHECK(text.find("\"tabs\"") != std::string::npos);
  CHECK(text.find("\"dark\": false") != std::string::npos);
}

TEST_CASE("recent files: newest first, each once, a dozen at most") {
  Preferences preferences;
  for (int i = 0; i < 20; ++i) add_recent(preferences, "/f" + std::to_string(i % 15));
  CHECK(preferences.recent.size() == kMaxRecentFiles);
  CHECK(preferences.recent.front() == "/f4");
  CHECK(preferences.recent[5] == "/f14");
  add_recent(preferences, "/x/../f14");
  CHECK(preferences.recent.front() == "/f14");
  CHECK(preferences.recent[1] == "/f4");
}

TEST_CASE("the file is made with its folder, read at the next start, and kept if it is broken") {
  const Folder folder;
  {
    Session session;
    auto& store = session.part<PreferencesStore>();
    store.load(session, folder.file);
    session.preferences.scale = 2;
    store.save(session);
  }
  Session session;
  auto& store = session.part<PreferencesStore>();
  store.load(session, folder.file);
  CHECK(session.preferences.scale == 2);
  PreferencesStore::reset(session);
  CHECK(session.preferences.scale == 0);
  std::ofstream(folder.file) << "broken";
  Session broken;
  broken.part<PreferencesStore>().load(broken, folder.file);
  CHECK(broken.message.kind == MessageKind::Problem);
  broken.part<PreferencesStore>().save(broken);  // nothing changed, so nothing is written
  CHECK(io::read_file(folder.file) == "broken");
}

TEST_CASE("a session that never loads writes nothing") {
  const Folder folder;
  Session session;
  session.preferences.scale = 2;
  session.part<PreferencesStore>().save(session);
  CHECK_FALSE(std::filesystem::exists(folder.file));
}

}  // namespace preferences_test
