#include "cli/sibling.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <pipeloom/error.hpp>

namespace pipeloom::cli {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// The folder of this program; "" if the system does not tell.
fs::path own_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

std::vector<fs::path> places(const std::string& name, const std::string& build_folder) {
  std::vector<fs::path> found;
  const fs::path here = own_folder();
  if (!here.empty()) {
    found.push_back(here / name);
    found.push_back(here.parent_path() / build_folder / name);
  }
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    if (colon > 0) found.push_back(fs::path(rest.substr(0, colon)) / name);
    rest.erase(0, colon + 1);
  }
  return found;
}

}  // namespace

std::optional<fs::path> find_sibling(const std::string& name, const std::string& build_folder) {
  for (const fs::path& place : places(name, build_folder))
    if (is_program(place)) return place;
  return std::nullopt;
}

std::optional<fs::path> find_data(const std::string& name, const std::string& build_folder) {
  const fs::path above = own_folder().parent_path();
  std::error_code ignored;
  for (const fs::path& place : {above / "share/pipeloom" / name, above.parent_path() / build_folder})
    if (fs::is_directory(place, ignored)) return place;
  return std::nullopt;
}

std::vector<std::string> own_words(const std::string& why) {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string one; std::getline(file, one, '\0');) words.push_back(one);
  if (words.empty()) throw SystemError(why + ": /proc/self/cmdline cannot be read");
  return words;
}

void become(const fs::path& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execv(program.c_str(), raw.data());
  throw SystemError(fmt::format("cannot start {}: {}", program.string(), std::strerror(errno)));
}

}  // namespace pipeloom::cli
