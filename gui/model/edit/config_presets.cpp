#include "gui/model/edit/config_presets.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace pipeloom::gui {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKnown = "showcase.json";

/// The folder, "" if there is none: from the program's place upwards, as it is installed or built.
fs::path find_folder() {
  if (const char* named = std::getenv("PIPELOOM_CONFIGS")) return named;
  std::error_code ignored;
  fs::path at = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (int level = 0; level < 6 && !at.empty(); ++level) {
    for (const fs::path& folder : {at / "share/pipeloom/configs", at / "configs"})
      if (fs::is_regular_file(folder / kKnown, ignored)) return folder;
    if (at == at.root_path()) break;
    at = at.parent_path();
  }
  return {};
}

const fs::path& folder() {
  static const fs::path found = find_folder();
  return found;
}

/// Suites and baselines are JSON too, but no configurations.
bool is_configuration(const fs::path& path) {
  const std::string name = path.filename().string();
  return path.extension() == ".json" && name.find("suite") == std::string::npos &&
         name.find("baseline") == std::string::npos;
}

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  if (folder().empty()) return names;
  for (fs::recursive_directory_iterator it(folder(), ignored), end; it != end; it.increment(ignored))
    if (it->is_regular_file(ignored) && is_configuration(it->path()))
      names.push_back(fs::relative(it->path(), folder(), ignored).replace_extension().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string preset_path(const std::string& name) {
  return (folder() / (name + ".json")).string();
}

}  // namespace pipeloom::gui
