#pragma once

// How a picture of a timeline should look, as the command line says it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"
#include "sim/draw/scene.hpp"
#include "study/document/document.hpp"

namespace pipeloom::cli {

struct PictureOptions {
  std::optional<std::string> width;
  std::optional<std::string> range;
  std::optional<std::string> colour_by;
  std::optional<std::string> theme;
  std::vector<std::string> titles;  ///< of several runs one for each
  bool memory = false;
  bool idle_causes = false;
  bool critical_path = false;
  bool patterns = false;

  /// True if any was given.
  [[nodiscard]] bool given() const;
  /// Costs and memory are left to the format; the title is the first. Throws InputError naming the option that is wrong.
  [[nodiscard]] draw::SceneOptions scene_options(const Timeline& timeline) const;
};
void add_picture_options(OptionList& list, PictureOptions& options);

/// A chart of letters for a page that is printed as the options say; rows of all ranks if `everything`.
[[nodiscard]] study::page::Figure chart_of_letters(const Timeline& timeline, const PrintOptions& print,
                                                   const Screen& screen, bool everything = false);

/// "2:10.5" in `unit`; a side that is left out is that of `all`. Throws InputError at --range.
[[nodiscard]] Span parse_range(std::string_view text, TimeUnit unit, Span all);

}  // namespace pipeloom::cli
