#pragma once

// Options of formats that are lowered: for which PyTorch release, and how.

#include <optional>
#include <string>

#include "sim/torch/lowering.hpp"

namespace CLI {
class App;
}

namespace pipeloom::cli {

struct LowerChoices {
  std::optional<std::string> target;
  std::optional<std::string> max_active_stages;
  bool defer_receives = false;
  bool merge = false;

  [[nodiscard]] bool given() const { return target || max_active_stages || defer_receives || merge; }
  /// Without --target the first release that has what the others ask for. Throws InputError at the option that is wrong.
  [[nodiscard]] torch::LowerOptions read() const;
};

/// --target, --max-active-stages, --defer-receives, --merge.
void add_lower_options(CLI::App& app, LowerChoices& choices);

}  // namespace pipeloom::cli
