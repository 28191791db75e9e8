#pragma once

// Draws Dear ImGui's frames with OpenGL 3.3: the common part of window and off-screen surface.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/platform/platform.hpp"

namespace pipeloom::gui {

class GlRenderer {
 public:
  /// REQUIRES: an ImGui context, and an OpenGL 3.3 context that stays current on this thread. Throws SystemError if the functions of
  /// OpenGL cannot be loaded.
  GlRenderer();
  ~GlRenderer();
  GlRenderer(const GlRenderer&) = delete;
  GlRenderer& operator=(const GlRenderer&) = delete;

  void begin_frame();
  /// Clears and draws the framebuffer that is bound.
  void draw(ImDrawData& data, PixelSize size);
  /// Reads the framebuffer that is bound: row by row from the top, RGBA, opaque.
  [[nodiscard]] std::vector<std::uint8_t> read_pixels(PixelSize size);

  [[nodiscard]] std::uintptr_t make_texture();
  void set_texture(std::uintptr_t texture, PixelSize size, const std::vector<Rgba>& pixels);
  void delete_texture(std::uintptr_t texture);
  void upload_fonts();

 private:
  std::unordered_map<std::uintptr_t, PixelSize> sizes_;
};

/// `reason` is the message of GLFW or EGL. The message names the ways that need no display.
[[nodiscard]] SystemError no_window(const std::string& reason);
[[nodiscard]] SystemError no_offscreen(const std::string& reason);

}  // namespace pipeloom::gui
