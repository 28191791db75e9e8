#include "gui/model/files/file_watch.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace file_watch_test {

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

constexpr FileStamp kOld{100, 1, 7};
constexpr FileStamp kHalf{40, 2, 7};
constexpr FileStamp kNew{120, 3, 7};

/// A file that goes away with the test.
struct TemporaryFile {
  std::string path = pipeloom::test::temporary_path("watch.json").string();
  TemporaryFile() { write("one"); }
  ~TemporaryFile() { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
};

}  // namespace

TEST_CASE("a change counts once two looks agree on it") {
  WatchedFile file(kOld);
  CHECK_FALSE(file.look(kOld));
  CHECK_FALSE(file.look(kHalf));  // being written
  CHECK_FALSE(file.look(kNew));   // still
  CHECK(file.look(kNew));
  CHECK_FALSE(file.look(kNew));
}

TEST_CASE("a file that goes away and comes back unchanged is not read again") {
  WatchedFile file(kOld);
  CHECK_FALSE(file.look(std::nullopt));
  CHECK_FALSE(file.look(std::nullopt));
  CHECK_FALSE(file.look(kOld));
  CHECK_FALSE(file.look(kOld));
}

TEST_CASE("a file replaced by another of the same size and time is read again") {
  WatchedFile file(kOld);
  const FileStamp other{100, 1, 8};
  CHECK_FALSE(file.look(other));
  CHECK(file.look(other));
}

TEST_CASE("stat tells size, and nothing of a file that is not there") {
  const TemporaryFile file;
  REQUIRE(stamp_of(file.path));
  CHECK(stamp_of(file.path)->size == 3);
  CHECK_FALSE(stamp_of(file.path + ".none"));
}

TEST_CASE("a file on screen is read again after two looks at the same new content") {
  const TemporaryFile file;
  Session session;
  auto run = std::make_shared<RunModel>(*test::run_of("0F0 0B0"));
  run->file = file.path;
  session.add_run(run, true);
  auto& watch = session.part<FileWatch>();
  watch.interval = std::chrono::milliseconds(0);
  std::vector<std::string> read;
  watch.reload = [&](Session&, const std::string& path, bool compared) {
    CHECK(compared);
    read.push_back(path);
  };
  session.update();  // first look
  file.write("three");
  session.update();
  CHECK(read.empty());
  session.update();
  CHECK(read == std::vector<std::string>{file.path});
  session.update();
  CHECK(read.size() == 1);
  watch.on = false;
  file.write("eleven");
  for (int look = 0; look < 3; ++look) session.update();
  CHECK(read.size() == 1);
}

}  // namespace file_watch_test
