#pragma once

// Programs that belong to this one and are programs of their own, so that this one starts where what they need is not there.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pipeloom::cli {

/// The path of `name`: next to this program as it is installed, in `build_folder` next to its folder, where a build may put it, or along PATH.
[[nodiscard]] std::optional<std::filesystem::path> find_sibling(const std::string& name,
                                                                const std::string& build_folder);

/// The folder of that name among the data of this program: `share/pipeloom/` where it is installed, else `build_folder` beside the build that it
/// is of. Null where there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_data(const std::string& name,
                                                             const std::string& build_folder);

/// Command line of this process, its own name first. Throws SystemError, beginning with `why`, if the system does not tell.
[[nodiscard]] std::vector<std::string> own_words(const std::string& why);

/// Replaces this process by that program. Throws SystemError if it cannot be started.
[[noreturn]] void become(const std::filesystem::path& program, const std::vector<std::string>& arguments);

}  // namespace pipeloom::cli
