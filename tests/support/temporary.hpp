#pragma once

// Files and folders of tests that run at the same time, each in a process of its own.

#include <unistd.h>

#include <filesystem>
#include <string>

namespace pipeloom::test {

/// A path in the folder for temporary files that no other process uses; "edited.json" keeps its extension.
inline std::filesystem::path temporary_path(const std::string& name) {
  return std::filesystem::temp_directory_path() / ("pipeloom-" + std::to_string(::getpid()) + "-" + name);
}

/// A folder that is gone when the test ends.
class Folder {
 public:
  explicit Folder(const std::string& name) : path_(temporary_path(name)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace pipeloom::test
