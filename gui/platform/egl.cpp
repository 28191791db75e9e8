// Drawing without a display: an OpenGL context of EGL that has no surface, and a framebuffer object in its place.

#define GL_GLEXT_PROTOTYPES 1
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/glcorearb.h>

#include <memory>

#include "gui/platform/gl_renderer.hpp"
#include "gui/platform/platform.hpp"
#include "gui/platform/wake_up.hpp"

namespace pipeloom::gui {
namespace {

/// A display of EGL with a current OpenGL 3.3 core context.
class EglContext {
 public:
  EglContext() {
    std::string reasons;
    // Mesa's platform without a device, NVIDIA's with one, and the environment's default.
    for (const EGLenum platform :
         {EGLenum{EGL_PLATFORM_SURFACELESS_MESA}, EGLenum{EGL_PLATFORM_DEVICE_EXT}, EGLenum{EGL_NONE}}) {
      const std::string reason = try_platform(platform);
      if (reason.empty()) return;
      close();
      reasons += (reasons.empty() ? "" : ", ") + reason;
    }
    throw no_offscreen(reasons);
  }
  ~EglContext() { close(); }
  EglContext(const EglContext&) = delete;
  EglContext& operator=(const EglContext&) = delete;

 private:
  /// "" if it worked.
  std::string try_platform(EGLenum platform) {
    display_ = open_display(platform);
    if (display_ == EGL_NO_DISPLAY) return "no EGL display";
    if (eglInitialize(display_, nullptr, nullptr) != EGL_TRUE) {
      display_ = EGL_NO_DISPLAY;
      return "EGL does not start";
    }
    if (eglBindAPI(EGL_OPENGL_API) != EGL_TRUE) return "EGL has no OpenGL";
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    EGLConfig config = nullptr;
    EGLint found = 0;
    if (eglChooseConfig(display_, wanted, &config, 1, &found) != EGL_TRUE || found == 0)
      return "EGL has no OpenGL configuration";
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                              3,
                              EGL_CONTEXT_MINOR_VERSION,
                              3,
                              EGL_CONTEXT_OPENGL_PROFILE_MASK,
                              EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                              EGL_NONE};
    context_ = eglCreateContext(display_, config, EGL_NO_CONTEXT, version);
    if (context_ == EGL_NO_CONTEXT) return "EGL has no OpenGL 3.3";
    if (eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, context_) != EGL_TRUE)
      return "EGL draws to surfaces only";
    return "";
  }

  static EGLDisplay open_display(EGLenum platform) {
    if (platform == EGL_NONE) return eglGetDisplay(EGL_DEFAULT_DISPLAY);
    const auto open =
        reinterpret_cast<PFNEGLGETPLATFORMDISPLAYEXTPROC>(eglGetProcAddress("eglGetPlatformDisplayEXT"));
    if (open == nullptr) return EGL_NO_DISPLAY;
    void* native = nullptr;
    if (platform == EGL_PLATFORM_DEVICE_EXT) {
      const auto devices =
          reinterpret_cast<PFNEGLQUERYDEVICESEXTPROC>(eglGetProcAddress("eglQueryDevicesEXT"));
      EGLDeviceEXT device = nullptr;
      EGLint count = 0;
      if (devices == nullptr || devices(1, &device, &count) != EGL_TRUE || count == 0) return EGL_NO_DISPLAY;
      native = device;
    }
    return open(platform, native, nullptr);
  }

  void close() {
    if (display_ == EGL_NO_DISPLAY) return;
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    if (context_ != EGL_NO_CONTEXT) eglDestroyContext(display_, context_);
    eglTerminate(display_);
    context_ = EGL_NO_CONTEXT;
    display_ = EGL_NO_DISPLAY;
  }

  EGLDisplay display_ = EGL_NO_DISPLAY;
  EGLContext context_ = EGL_NO_CONTEXT;
};

/// The picture that is drawn into.
class Canvas {
 public:
  explicit Canvas(PixelSize size) {
    glGenFramebuffers(1, &framebuffer_);
    glGenTextures(1, &picture_);
    resize(size);
  }
  ~Canvas() {
    glDeleteFramebuffers(1, &framebuffer_);
    glDeleteTextures(1, &picture_);
  }
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  void resize(PixelSize size) {
    size_ = size;
    glBindTexture(GL_TEXTURE_2D, picture_);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, size.width, size.height, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    bind();
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, picture_, 0);
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
      throw no_offscreen("no framebuffer of " + std::to_string(size.width) + "x" +
                         std::to_string(size.height));
  }
  void bind() const { glBindFramebuffer(GL_FRAMEBUFFER, framebuffer_); }
  [[nodiscard]] PixelSize size() const { return size_; }

 private:
  PixelSize size_;
  GLuint framebuffer_ = 0;
  GLuint picture_ = 0;
};

class EglPlatform final : public Platform {
 public:
  explicit EglPlatform(PixelSize size) : canvas_(size) {}

  [[nodiscard]] std::string_view name() const override { return "egl"; }
  [[nodiscard]] PixelSize size() const override { return canvas_.size(); }
  void resize(PixelSize size) override { canvas_.resize(size); }
  [[nodiscard]] double display_scale() const override { return 1; }
  void collect(InputQueue& queue, double seconds) override {
    if (queue.empty() && seconds != 0) wake_up_.wait(seconds);
  }
  void wake() override { wake_up_.wake(); }
  [[nodiscard]] bool close_requested() const override { return false; }

  void begin_frame() override { renderer_.begin_frame(); }
  void present(ImDrawData& data) override {
    canvas_.bind();
    renderer_.draw(data, canvas_.size());
  }
  [[nodiscard]] std::vector<std::uint8_t> read_pixels() override {
    canvas_.bind();
    return renderer_.read_pixels(canvas_.size());
  }

  [[nodiscard]] std::uintptr_t make_texture() override { return renderer_.make_texture(); }
  void set_texture(std::uintptr_t texture, PixelSize size, const std::vector<Rgba>& pixels) override {
    renderer_.set_texture(texture, size, pixels);
  }
  void delete_texture(std::uintptr_t texture) override { renderer_.delete_texture(texture); }
  void upload_fonts() override { renderer_.upload_fonts(); }

  [[nodiscard]] std::string clipboard() override { return clipboard_; }
  void set_clipboard(const std::string& text) override { clipboard_ = text; }
  void set_title(const std::string&) override {}
  void set_pointer(PointerShape) override {}

 private:
  EglContext context_;  // before the renderer, which draws with it
  GlRenderer renderer_;
  Canvas canvas_;
  WakeUp wake_up_;
  std::string clipboard_;
};

}  // namespace

std::unique_ptr<Platform> open_offscreen(PixelSize size) {
  return std::make_unique<EglPlatform>(size);
}

}  // namespace pipeloom::gui
