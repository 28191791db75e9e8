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

}  // namespace pipeloom::test
