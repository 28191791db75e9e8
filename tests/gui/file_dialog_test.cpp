#include "gui/model/files/file_dialog.hpp"

#include <filesystem>
#include <fstream>

#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace file_dialog_test {

using namespace pipeloom::gui;

namespace {

/// b.json, a.csv, notes.md, .hidden.json and a folder `runs`.
struct Folder {
  std::filesystem::path path = pipeloom::test::temporary_path("dialog");
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path / "runs");
    for (const char* name : {"b.json", "a.csv", "notes.md", ".hidden.json"})
      std::ofstream(path / name) << "x";
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("a folder lists folders first, then what may be read") {
  const Folder folder;
  CHECK(list_folder(folder.path.string(), false) ==
        std::vector<FolderEntry>{{"..", true}, {"runs", true}, {"a.csv", false}, {"b.json", false}});
  CHECK(list_folder(folder.path.string(), true).size() == 6);
  CHECK(list_folder((folder.path / "none").string(), false).size() == 1);  // the way up
}

TEST_CASE("a filter leaves what contains it, case ignored, and means its first hit") {
  const Folder folder;
  Session session;
  auto& dialog = session.part<FileDialog>();
  dialog.go_to(folder.path.string());
  dialog.set_filter("B.J");
  REQUIRE(dialog.entries().size() == 2);
  CHECK(dialog.entries()[dialog.chosen()].name == "b.json");
  dialog.step(-5);
  CHECK(dialog.chosen() == 0);
  dialog.step(9);
  CHECK(dialog.chosen() == 1);
}

TEST_CASE("Enter walks into a folder, and a path typed goes there at once") {
  const Folder folder;
  Session session;
  auto& dialog = session.part<FileDialog>();
  dialog.go_to(folder.path.string() + "/");
  dialog.set_filter("runs");
  dialog.accept(session, false);
  CHECK(dialog.folder() == (folder.path / "runs").string());
  dialog.choose(0);
  dialog.accept(session, false);
  CHECK(std::filesystem::equivalent(dialog.folder(), folder.path));
  dialog.set_filter("./runs");
  dialog.accept(session, false);
  CHECK(std::filesystem::equivalent(dialog.folder(), folder.path / "runs"));
}

TEST_CASE("choosing a file closes the dialog") {
  const Folder folder;
  Session session;
  auto& dialog = session.part<FileDialog>();
  dialog.show(session);
  CHECK(dialog.is_open());
  dialog.go_to(folder.path.string());
  dialog.set_filter("a.csv");
  dialog.accept(session, false);
  CHECK_FALSE(dialog.is_open());
}

}  // namespace file_dialog_test
