#include "gui/model/panels/notes.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <pipeloom/error.hpp>
#include "sim/io/json/file.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"
#include "support/window_scenes.hpp"

namespace notes_test {

using namespace pipeloom;
using namespace pipeloom::gui;

namespace {

constexpr Ticks kMillisecond = 1'000'000'000;

/// A folder with a file that a run was read from.
struct Folder {
  std::filesystem::path path = pipeloom::test::temporary_path("notes");
  std::string file = (path / "run.json").string();
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

RunPtr run_from(const std::string& file) {
  auto run = std::make_shared<RunModel>(*test::run_of("0F0 0B0"));
  run->file = file;
  return run;
}

}  // namespace

TEST_CASE("notes are written with exact times and read back as they were") {
  const std::vector<Mark> marks = {{kMillisecond / 8, "first \"bubble\"", true},
                                   {kMillisecond, "", false},
                                   {3 * kMillisecond, "end", true}};
  const std::string text = notes_text(marks, "some/run.json", TimeUnit::Millisecond);
  CHECK(text ==
        "{\n  \"schema_version\": 1,\n  \"file\": \"run.json\",\n  \"time_unit\": \"ms\",\n  \"notes\": [\n"
        "    {\"time\": 0.125, \"text\": \"first \\\"bubble\\\"\"},\n    {\"time\": 3.0, \"text\": "
        "\"end\"}\n  ]\n}\n");
  CHECK(read_notes(text, "n", TimeUnit::Millisecond) == std::vector<Mark>{marks[0], marks[2]});
  CHECK(notes_text({}, "f", TimeUnit::Unit).find("\"notes\": []") != std::string::npos);
}

TEST_CASE("notes follow to a run in another unit") {
  const std::vector<Mark> marks = {{2 * kMillisecond, "a", true}};
  const std::string text = notes_text(marks, "f", TimeUnit::Millisecond);
  CHECK(read_notes(text, "n", TimeUnit::Microsecond) == marks);  // a tick is a picosecond in both
  // The abstract unit has no length: 2 stays 2.
  CHECK(read_notes(text, "n", TimeUnit::Unit).front().time == 2'000'000'000);
}

TEST_CASE("a sidecar that does not fit says where") {
  for (const char* text :
       {"", "[]", "{}", "{\"time_unit\": \"ms\"}", "{\"time_unit\": \"week\", \"notes\": []}",
        "{\"time_unit\": \"ms\", \"notes\": [{\"time\": -1, \"text\": \"\"}]}",
        "{\"time_unit\": \"ms\", \"notes\": [{\"time\": 1}]}"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_notes(text, "n.json", TimeUnit::Millisecond), InputError);
  }
}

TEST_CASE("persistent marks are kept beside the file, the others are not") {
  const Folder folder;
  {
    Session session;
    session.add_run(run_from(folder.file), false);
    (void)session.part<Notes>();
    session.update();
    add_mark(session, {test::kOne, "kept", true});
    add_mark(session, {2 * test::kOne, "forgotten", false});
    session.update();
  }
  Session later;
  later.add_run(run_from(folder.file), false);
  (void)later.part<Notes>();
  later.update();
  REQUIRE(later.marks.size() == 1);
  CHECK(later.marks.front() == Mark{test::kOne, "kept", true});
}

TEST_CASE("a sidecar that cannot be read is never replaced") {
  const Folder folder;
  const std::string sidecar = notes_path(folder.file);
  std::ofstream(sidecar) << "{ by hand";
  Session session;
  session.add_run(run_from(folder.file), false);
  (void)session.part<Notes>();
  session.update();
  CHECK(session.message.kind == MessageKind::Problem);
  add_mark(session, {test::kOne, "new", true});
  session.update();
  CHECK(io::read_file(sidecar) == "{ by hand");
}

TEST_CASE("another file's notes take the place of the first one's") {
  const Folder folder;
  Session session;
  (void)session.part<Notes>();
  session.add_run(run_from(folder.file), false);
  session.update();
  add_mark(session, {test::kOne, "of the first", true});
  session.add_run(run_from(folder.file + "2"), false);
  session.active = 1;
  session.update();
  CHECK(session.marks.empty());
  session.active = 0;
  session.update();
  CHECK(session.marks.size() == 1);
}

}  // namespace notes_test
