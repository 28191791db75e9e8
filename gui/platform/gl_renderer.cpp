#include "gui/platform/gl_renderer.hpp"

#define GL_GLEXT_PROTOTYPES 1
#include <GL/glcorearb.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui.h>

#include <algorithm>
#include <cstddef>

namespace pipeloom::gui {
namespace {

GLuint name_of(std::uintptr_t texture) {
  return static_cast<GLuint>(texture);
}

std::vector<std::uint8_t> from_the_top(const std::vector<std::uint8_t>& rows, PixelSize size) {
  std::vector<std::uint8_t> out(rows.size());
  const std::ptrdiff_t row = std::ptrdiff_t{4} * size.width;
  for (int y = 0; y < size.height; ++y)
    std::copy_n(rows.begin() + row * (size.height - 1 - y), row, out.begin() + row * y);
  // The alpha of the surface depends on the driver; a picture of the window is opaque.
  for (std::size_t alpha = 3; alpha < out.size(); alpha += 4) out[alpha] = 255;
  return out;
}

}  // namespace

GlRenderer::GlRenderer() {
  if (!ImGui_ImplOpenGL3_Init("#version 330"))
    throw no_window("the functions of OpenGL 3.3 cannot be loaded");
  ImGui_ImplOpenGL3_CreateDeviceObjects();
}

GlRenderer::~GlRenderer() {
  for (const auto& [texture, size] : sizes_) {
    const GLuint name = name_of(texture);
    glDeleteTextures(1, &name);
  }
  ImGui_ImplOpenGL3_Shutdown();
}

void GlRenderer::begin_frame() {
  ImGui_ImplOpenGL3_NewFrame();
}

void GlRenderer::draw(ImDrawData& data, PixelSize size) {
  glViewport(0, 0, size.width, size.height);
  glDisable(GL_SCISSOR_TEST);
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(&data);
}

std::vector<std::uint8_t> GlRenderer::read_pixels(PixelSize size) {
  std::vector<std::uint8_t> rows(std::size_t{4} * static_cast<std::size_t>(size.width) *
                                 static_cast<std::size_t>(size.height));
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, size.width, size.height, GL_RGBA, GL_UNSIGNED_BYTE, rows.data());
  return from_the_top(rows, size);
}

std::uintptr_t GlRenderer::make_texture() {
  GLuint name = 0;
  glGenTextures(1, &name);
  glBindTexture(GL_TEXTURE_2D, name);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  sizes_[name] = {};
  return name;
}

void GlRenderer::set_texture(std::uintptr_t texture, PixelSize size, const std::vector<Rgba>& pixels) {
  glBindTexture(GL_TEXTURE_2D, name_of(texture));
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  PixelSize& known = sizes_[texture];
  if (known == size) {
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, size.width, size.height, GL_RGBA, GL_UNSIGNED_BYTE,
                    pixels.data());
    return;
  }
  known = size;
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, size.width, size.height, 0, GL_RGBA, GL_UNSIGNED_BYTE,
               pixels.data());
}

void GlRenderer::delete_texture(std::uintptr_t texture) {
  const GLuint name = name_of(texture);
  glDeleteTextures(1, &name);
  sizes_.erase(texture);
}

void GlRenderer::upload_fonts() {
  ImGui_ImplOpenGL3_DestroyFontsTexture();
  ImGui_ImplOpenGL3_CreateFontsTexture();
}

SystemError no_window(const std::string& reason) {
  return SystemError("no window: " + reason +
                     "; needed is a display with OpenGL 3.3. Without one, `pipeloom report CONFIG -o "
                     "FILE.html` writes a page "
                     "for the browser, `pipeloom simulate CONFIG --chart` draws in the terminal, and "
                     "pipeloom-gui --headless "
                     "--script FILE draws the window into files");
}

SystemError no_offscreen(const std::string& reason) {
  return SystemError(
      "nothing to draw on without a display: " + reason +
      "; needed is EGL with OpenGL 3.3 (package libgl1-mesa-dri). `pipeloom report CONFIG -o FILE.html` and "
      "`pipeloom simulate CONFIG --chart` need neither");
}

}  // namespace pipeloom::gui
