#pragma once

// The ready configurations that come with the program.

#include <string>
#include <vector>

namespace pipeloom::gui {

/// "showcase", "seed/dualpipe", "paper/...": names of the files below the folder of configurations, without ".json", sorted; empty where
/// there is no such folder. It is PIPELOOM_CONFIGS, else share/pipeloom/configs next to the installed program, else configs/ of the
/// checkout that the program was built in.
[[nodiscard]] std::vector<std::string> preset_names();
/// The file of a preset.
[[nodiscard]] std::string preset_path(const std::string& name);

}  // namespace pipeloom::gui
