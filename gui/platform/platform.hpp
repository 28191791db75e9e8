#pragma once

// The seam between the program and the machine: a window (GLFW), an off-screen surface (EGL, no display needed), or nothing at all
// (null: layout and interaction work, no picture is made). All three take their input from one InputQueue.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/session/keys.hpp"

struct ImDrawData;

namespace pipeloom::gui {

/// 0xAABBGGRR, as Dear ImGui packs colours.
using Rgba = std::uint32_t;

struct PixelSize {
  int width = 0;
  int height = 0;
  friend bool operator==(const PixelSize&, const PixelSize&) = default;
};

enum class PointerShape : std::uint8_t { Arrow, Text, ResizeHorizontal, ResizeVertical, Hand };

class Platform {
 public:
  Platform() = default;
  Platform(const Platform&) = delete;
  Platform& operator=(const Platform&) = delete;
  virtual ~Platform() = default;

  /// "glfw", "egl" or "null".
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The size of the picture, in pixels.
  [[nodiscard]] virtual PixelSize size() const = 0;
  virtual void resize(PixelSize size) = 0;
  /// The display's density: 1 is 96 dots per inch.
  [[nodiscard]] virtual double display_scale() const = 0;
  /// Moves new events into `queue`; waits up to `seconds` for an event, or for wake(). 0 does not wait, a negative
  /// number waits without end.
  virtual void collect(InputQueue& queue, double seconds) = 0;
  /// Ends a wait in collect(). From any thread.
  virtual void wake() = 0;
  /// The user asked to close the window, or the process got SIGTERM or SIGINT.
  [[nodiscard]] virtual bool close_requested() const = 0;
  /// Takes a request of the user back; one of a signal stays.
  virtual void refuse_close() {}
  /// True once for a SIGUSR1 that the process got: somebody asks for the state of a window at rest.
  [[nodiscard]] virtual bool take_state_request() { return false; }

  /// The renderer's part of a new frame; before ImGui::NewFrame.
  virtual void begin_frame() = 0;
  /// Draws and shows.
  virtual void present(ImDrawData& data) = 0;
  /// The pixels that present() drew last, row by row from the top, RGBA; empty on the null platform.
  [[nodiscard]] virtual std::vector<std::uint8_t> read_pixels() = 0;

  /// A texture for ImDrawList::AddImage (nearest-neighbour sampling). 0 on the null platform is valid to draw with.
  [[nodiscard]] virtual std::uintptr_t make_texture() = 0;
  /// REQUIRES: pixels has width * height entries, row by row from the top.
  virtual void set_texture(std::uintptr_t texture, PixelSize size, const std::vector<Rgba>& pixels) = 0;
  virtual void delete_texture(std::uintptr_t texture) = 0;
  /// (Re)makes the texture of ImGui's font atlas; after fonts changed, outside a frame.
  virtual void upload_fonts() = 0;

  [[nodiscard]] virtual std::string clipboard() = 0;
  virtual void set_clipboard(const std::string& text) = 0;
  virtual void set_title(const std::string& title) = 0;
  virtual void set_pointer(PointerShape shape) = 0;
};

/// A window on the display. REQUIRES: an ImGui context. Throws SystemError naming `pipeloom report` and --headless if there is no
/// display or no OpenGL 3.3.
[[nodiscard]] std::unique_ptr<Platform> open_window(const std::string& title, PixelSize size);
/// Drawing without a display through EGL. REQUIRES: an ImGui context. Throws SystemError if EGL has no OpenGL 3.3.
[[nodiscard]] std::unique_ptr<Platform> open_offscreen(PixelSize size);
/// No drawing. REQUIRES: an ImGui context.
[[nodiscard]] std::unique_ptr<Platform> open_null(PixelSize size);

}  // namespace pipeloom::gui
