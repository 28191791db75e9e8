#include "gui/model/files/may_replace.hpp"

#include <filesystem>
#include <system_error>

namespace pipeloom::gui {

bool is_there(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none);
}

}  // namespace pipeloom::gui
