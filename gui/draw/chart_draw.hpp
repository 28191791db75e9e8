#pragma once

// The chart's plain shapes on a Dear ImGui draw list, in few large batches.

#include <array>

#include "gui/model/draw/chart_list.hpp"
#include "gui/platform/platform.hpp"

struct ImDrawList;
struct ImFont;

namespace pipeloom::gui {

/// Textures of the chart's pictures. They go away with it.
class ChartTextures {
 public:
  ChartTextures() = default;
  ~ChartTextures();
  ChartTextures(const ChartTextures&) = delete;
  ChartTextures& operator=(const ChartTextures&) = delete;

  enum class Which : unsigned char { Rows, Minimap, Overview };
  /// Uploads the picture if this version of it was not. `platform` must outlive this.
  [[nodiscard]] std::uintptr_t upload(Platform& platform, Which which, const ChartPicture& picture);

 private:
  struct Slot {
    std::uintptr_t texture = 0;
    std::uint64_t version = 0;
  };
  Platform* platform_ = nullptr;
  std::array<Slot, 3> slots_{};
};

/// Letters of both faces as the list builder measures them. The height is that of a line.
[[nodiscard]] ChartFont measure_font(const ImFont& font);

struct ChartFaces {
  ImFont* small = nullptr;
  ImFont* normal = nullptr;
  ImFont* strong = nullptr;
};

/// REQUIRES: the texture of `faces` is the draw list's current one, as it is at the start of a window.
void draw_chart_list(const ChartList& list, const Box& plot, const ChartFaces& faces, Platform& platform,
                     ChartTextures& textures, ImDrawList& draw);

}  // namespace pipeloom::gui
