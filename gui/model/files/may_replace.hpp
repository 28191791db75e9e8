#pragma once

// Commands that write a file leave an existing one alone unless the word --force follows its name, as on the command line.

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "sim/io/json/file.hpp"

namespace pipeloom::gui {

inline constexpr std::string_view kForce = " --force";

/// Returns Overwrite::Yes if `text`, the name of a file, ends with " --force", and takes the word off.
[[nodiscard]] inline io::Overwrite take_force(std::string_view& text) {
  if (!text.ends_with(kForce)) return io::Overwrite::No;
  text.remove_suffix(kForce.size());
  return io::Overwrite::Yes;
}

/// True if a button that writes `path` would replace a file, and so must say so.
[[nodiscard]] inline bool is_there(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none);
}

/// The folder in which a file of that name is or would be: a name alone is relative to where the program was started.
[[nodiscard]] inline std::string folder_of(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.parent_path().lexically_normal().string();
}

}  // namespace pipeloom::gui
