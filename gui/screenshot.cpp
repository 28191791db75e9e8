#include <stb_image_write.h>

#include <ostream>
#include <string>
#include <vector>

#include <pipeloom/error.hpp>
#include "gui/script_runner.hpp"

namespace pipeloom::gui {

void write_screenshot(Platform& platform, const std::string& path, io::Overwrite overwrite) {
  const std::vector<std::uint8_t> pixels = platform.read_pixels();
  const PixelSize size = platform.size();
  if (pixels.empty())
    throw SystemError("no picture to write: the program runs without drawing; leave out --no-drawing");
  std::string png;
  const auto append = [](void* out, void* data, int bytes) {
    static_cast<std::string*>(out)->append(static_cast<const char*>(data), static_cast<std::size_t>(bytes));
  };
  if (stbi_write_png_to_func(append, &png, size.width, size.height, 4, pixels.data(), size.width * 4) == 0)
    throw SystemError("the picture cannot be made a PNG: out of memory; make the window smaller");
  io::write_file(path, overwrite, [&png](std::ostream& out) { out << png; });
}

}  // namespace pipeloom::gui
