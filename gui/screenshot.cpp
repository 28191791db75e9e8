#include <stb_image_write.h>

#include <vector>

#include "gui/script_runner.hpp"
#include "sim/error.hpp"

namespace pipeloom::gui {

void write_screenshot(Platform& platform, const std::string& path) {
  const std::vector<std::uint8_t> pixels = platform.read_pixels();
  const PixelSize size = platform.size();
  if (pixels.empty())
    throw SystemError("no picture to write: the program runs without drawing; leave out --no-drawing");
  if (stbi_write_png(path.c_str(), size.width, size.height, 4, pixels.data(), size.width * 4) == 0)
    throw SystemError::cannot_write(path, "the file cannot be written");
}

}  // namespace pipeloom::gui
