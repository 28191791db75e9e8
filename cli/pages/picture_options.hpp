#pragma once

// How a picture of a timeline should look, as the command line says it.

#include <optional>
#include <string>
#include <string_view>

#include "cli/option_list.hpp"
#include "sim/draw/scene.hpp"

namespace pipeloom::cli {

struct PictureOptions {
  std::optional<std::string> width;
  std::optional<std::string> range;
  std::optional<std::string> colour_by;
  std::optional<std::string> theme;
  std::optional<std::string> title;
  bool memory = false;
  bool idle_causes = false;
  bool critical_path = false;
  bool patterns = false;

  /// True if any was given.
  [[nodiscard]] bool given() const;
  /// Costs and memory are left to the format. Throws InputError naming the option that is wrong.
  [[nodiscard]] draw::SceneOptions scene_options(const Timeline& timeline) const;
};
void add_picture_options(OptionList& list, PictureOptions& options);

/// "2:10.5" in `unit`; a side that is left out is that of `all`. Throws InputError at --range.
[[nodiscard]] Span parse_range(std::string_view text, TimeUnit unit, Span all);

}  // namespace pipeloom::cli
