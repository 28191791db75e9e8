#include "sim/io/json/file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <pipeloom/error.hpp>
#include "support/catch.hpp"

namespace file_test {

using namespace pipeloom;
using namespace pipeloom::io;

namespace {

/// A folder of its own that goes away with the test.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "pipeloom_XXXXXX") {
    std::string name = path_.string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }
  [[nodiscard]] long count() const {
    return std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator());
  }

 private:
  std::filesystem::path path_;
};

void put(const std::string& path, Overwrite overwrite, const std::string& text) {
  write_file(path, overwrite, [&text](std::ostream& out) { out << text; });
}

}  // namespace

TEST_CASE("a file is written and read back") {
  const Folder folder;
  const std::string large(200'000, 'x');
  put(folder.file("a"), Overwrite::No, large);
  CHECK(read_file(folder.file("a")) == large);
  CHECK(folder.count() == 1);
}

TEST_CASE("an existing file is kept unless overwriting is allowed") {
  const Folder folder;
  put(folder.file("a"), Overwrite::No, "one");
  CHECK_THROWS_AS(put(folder.file("a"), Overwrite::No, "two"), InputError);
  CHECK(read_file(folder.file("a")) == "one");
  put(folder.file("a"), Overwrite::Yes, "two");
  CHECK(read_file(folder.file("a")) == "two");
}

TEST_CASE("a named pipe that nobody writes is refused, and one with a writer is read") {
  const Folder folder;
  const std::string pipe = folder.file("p");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_AS(read_file(pipe), InputError);
  std::thread writer([&pipe] { std::ofstream(pipe) << "text"; });
  CHECK(read_file(pipe) == "text");
  writer.join();
}

TEST_CASE("a named pipe that nobody reads is refused, and one with a reader is written") {
  const Folder folder;
  const std::string pipe = folder.file("p");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_AS(put(pipe, Overwrite::No, "text"), SystemError);
  std::string read;
  std::thread reader([&] { std::ifstream(pipe) >> read; });
  put(pipe, Overwrite::No, "text");
  reader.join();
  CHECK(read == "text");
}

TEST_CASE("a file that appears while another is written is not lost") {
  const Folder folder;
  const std::string path = folder.file("a");
  CHECK_THROWS_AS(write_file(path, Overwrite::No,
                             [&](std::ostream& out) {
                               out << "mine";
                               std::ofstream(path) << "theirs";
                             }),
                  InputError);
  CHECK(read_file(path) == "theirs");
  CHECK(folder.count() == 1);
}

TEST_CASE("a failed writer leaves nothing behind") {
  const Folder folder;
  put(folder.file("a"), Overwrite::No, "one");
  CHECK_THROWS_AS(write_file(folder.file("a"), Overwrite::Yes, [](std::ostream&) { throw InputError("no"); }),
                  InputError);
  CHECK(read_file(folder.file("a")) == "one");
  CHECK(folder.count() == 1);
}

TEST_CASE("a full disk is a system error") {
  if (!std::filesystem::exists("/dev/full")) return;
  CHECK_THROWS_AS(put("/dev/full", Overwrite::No, std::string(1000, 'x')), SystemError);
  CHECK_THROWS_AS(put("/dev/full", Overwrite::No, std::string(1'000'000, 'x')), SystemError);
}

TEST_CASE("permissions of a replaced file and the target of a link survive") {
  const Folder folder;
  put(folder.file("a"), Overwrite::No, "one");
  ::chmod(folder.file("a").c_str(), 0640);
  std::filesystem::create_symlink("a", folder.file("link"));
  put(folder.file("link"), Overwrite::Yes, "two");
  struct stat info {};
  ::stat(folder.file("a").c_str(), &info);
  CHECK((info.st_mode & 0777) == 0640);
  CHECK(std::filesystem::is_symlink(folder.file("link")));
  CHECK(read_file(folder.file("a")) == "two");
}

TEST_CASE("what cannot be read says why") {
  const Folder folder;
  const auto reason = [](const std::string& path, std::size_t limit) {
    try {
      (void)read_file(path, limit);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  CHECK(reason(folder.file("none"), 10).find("No such file") != std::string::npos);
  CHECK(reason(folder.file(""), 10).find("Is a directory") != std::string::npos);
  put(folder.file("a"), Overwrite::No, "12345678901");
  CHECK(reason(folder.file("a"), 10) ==
        "the file holds more than 10 B, the most that is read; give a smaller one");
  // Endless: the limit ends it.
  CHECK(reason("/dev/zero", 10) ==
        "the file holds more than 10 B, the most that is read; give a smaller one");
  // A device ends at the size of any file, whatever else may be larger.
  CHECK(reason("/dev/zero", 8 * kMaxFileBytes) ==
        "the file holds more than 268.4 MB (256.0 MiB), the most that is read; give a smaller one");
  CHECK(reason(folder.file("a"), 11) == "read");
  CHECK_THROWS_AS(put(folder.file("no/such/folder"), Overwrite::No, "x"), SystemError);
}

TEST_CASE("names in a file are relative to its folder") {
  CHECK(relative_to("a/b/suite.json", "c.json") == "a/b/c.json");
  CHECK(relative_to("suite.json", "c.json") == "c.json");
  CHECK(relative_to("a/suite.json", "/c.json") == "/c.json");
}

}  // namespace file_test
