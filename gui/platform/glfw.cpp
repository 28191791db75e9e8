// A window on the display. GLFW's callbacks fill the input queue; Dear ImGui's own GLFW backend is not used, as it asks for the
// pointer once a frame and so misses events between frames.

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cfloat>
#include <cmath>
#include <csignal>
#include <deque>
#include <memory>
#include <utility>

#include "gui/platform/gl_renderer.hpp"
#include "gui/platform/glfw_keys.hpp"
#include "gui/platform/platform.hpp"

namespace pipeloom::gui {
namespace {

/// Longest uninterrupted wait for events, in seconds: a signal is seen after it.
constexpr double kLongestWait = 0.25;

volatile std::sig_atomic_t asked_to_end = 0;
volatile std::sig_atomic_t asked_for_state = 0;

void note_signal(int) {
  asked_to_end = 1;
}

void note_question(int) {
  asked_for_state = 1;
}

/// SIGINT and SIGTERM ask the window to close, as its button does, so that settings are saved; SIGUSR1 asks for its state.
class SignalScope {
 public:
  SignalScope() {
    asked_to_end = 0;
    asked_for_state = 0;
    former_interrupt_ = std::signal(SIGINT, note_signal);
    former_terminate_ = std::signal(SIGTERM, note_signal);
    former_question_ = std::signal(SIGUSR1, note_question);
  }
  ~SignalScope() {
    std::signal(SIGINT, former_interrupt_);
    std::signal(SIGTERM, former_terminate_);
    std::signal(SIGUSR1, former_question_);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  using Handler = void (*)(int);
  Handler former_interrupt_ = SIG_DFL;
  Handler former_terminate_ = SIG_DFL;
  Handler former_question_ = SIG_DFL;
};

std::string& last_problem() {
  static std::string text;
  return text;
}

void note_problem(int, const char* text) {
  last_problem() = text;
}

struct WindowDeleter {
  void operator()(GLFWwindow* window) const { glfwDestroyWindow(window); }
};
using Window = std::unique_ptr<GLFWwindow, WindowDeleter>;

/// GLFW's start and end.
class GlfwScope {
 public:
  GlfwScope() {
    glfwSetErrorCallback(note_problem);
    if (glfwInit() != GLFW_TRUE) throw no_window(last_problem());
  }
  ~GlfwScope() { glfwTerminate(); }
  GlfwScope(const GlfwScope&) = delete;
  GlfwScope& operator=(const GlfwScope&) = delete;
};

Window make_window(const std::string& title, PixelSize size) {
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  Window window(glfwCreateWindow(size.width, size.height, title.c_str(), nullptr, nullptr));
  if (window == nullptr) throw no_window(last_problem());
  glfwMakeContextCurrent(window.get());
  glfwSwapInterval(1);
  return window;
}

InputEvent moved_to(float x, float y) {
  InputEvent event;
  event.type = InputEvent::Type::MouseMove;
  event.x = x;
  event.y = y;
  return event;
}

class GlfwPlatform final : public Platform {
 public:
  GlfwPlatform(const std::string& title, PixelSize size) : window_(make_window(title, size)) {
    glfwSetWindowUserPointer(window_.get(), this);
    listen_to_keyboard();
    listen_to_pointer();
    listen_to_window();
  }
  ~GlfwPlatform() override {
    for (GLFWcursor* shape : shapes_)
      if (shape != nullptr) glfwDestroyCursor(shape);
  }

  [[nodiscard]] std::string_view name() const override { return "glfw"; }
  [[nodiscard]] PixelSize size() const override {
    PixelSize size;
    glfwGetFramebufferSize(window_.get(), &size.width, &size.height);
    return size;
  }
  void resize(PixelSize size) override {
    const double pixels = pixels_per_unit();
    glfwSetWindowSize(window_.get(), static_cast<int>(std::lround(size.width / pixels)),
                      static_cast<int>(std::lround(size.height / pixels)));
    await_size(size);
  }
  [[nodiscard]] double display_scale() const override {
    float x = 1;
    glfwGetWindowContentScale(window_.get(), &x, nullptr);
    return x > 0 ? static_cast<double>(x) : 1.0;
  }

  void collect(InputQueue& queue, double seconds) override {
    glfwPollEvents();
    const double until = seconds < 0 ? DBL_MAX : glfwGetTime() + seconds;
    while (events_.empty() && !woken_ && !close_requested() && asked_for_state == 0) {
      const double left = until - glfwGetTime();
      if (left <= 0) break;
      glfwWaitEventsTimeout(std::min(left, kLongestWait));
    }
    woken_ = false;
    for (InputEvent& event : events_) queue.push(std::move(event));
    events_.clear();
  }
  void wake() override {
    woken_ = true;
    glfwPostEmptyEvent();
  }
  [[nodiscard]] bool close_requested() const override {
    return asked_to_end != 0 || glfwWindowShouldClose(window_.get()) == GLFW_TRUE;
  }
  void refuse_close() override { glfwSetWindowShouldClose(window_.get(), GLFW_FALSE); }
  [[nodiscard]] bool take_state_request() override {
    const bool asked = asked_for_state != 0;
    asked_for_state = 0;
    return asked;
  }

  void begin_frame() override { renderer_.begin_frame(); }
  void present(ImDrawData& data) override {
    drawn_ = &data;
    renderer_.draw(data, size());
    glfwSwapBuffers(window_.get());
  }
  [[nodiscard]] std::vector<std::uint8_t> read_pixels() override {
    if (drawn_ == nullptr) return {};
    // A frame that was swapped to the screen is no longer readable: it is drawn once more into the back buffer.
    renderer_.draw(*drawn_, size());
    return renderer_.read_pixels(size());
  }

  [[nodiscard]] std::uintptr_t make_texture() override { return renderer_.make_texture(); }
  void set_texture(std::uintptr_t texture, PixelSize size, const std::vector<Rgba>& pixels) override {
    renderer_.set_texture(texture, size, pixels);
  }
  void delete_texture(std::uintptr_t texture) override { renderer_.delete_texture(texture); }
  void upload_fonts() override {
    drawn_ = nullptr;  // it refers to the former letters
    renderer_.upload_fonts();
  }

  [[nodiscard]] std::string clipboard() override {
    const char* text = glfwGetClipboardString(window_.get());
    return text == nullptr ? "" : text;
  }
  void set_clipboard(const std::string& text) override {
    glfwSetClipboardString(window_.get(), text.c_str());
  }
  void set_title(const std::string& title) override {
    if (std::exchange(title_, title) != title) glfwSetWindowTitle(window_.get(), title.c_str());
  }
  void set_pointer(PointerShape shape) override {
    if (shape == shape_) return;
    shape_ = shape;
    glfwSetCursor(window_.get(), cursor_of(shape));
  }

 private:
  static GlfwPlatform& of(GLFWwindow* window) {
    return *static_cast<GlfwPlatform*>(glfwGetWindowUserPointer(window));
  }
  void push(InputEvent event) { events_.push_back(std::move(event)); }

  void listen_to_keyboard();
  void listen_to_pointer();
  void listen_to_window();

  /// Pixels per unit of GLFW's window coordinates.
  [[nodiscard]] double pixels_per_unit() const {
    int width = 0;
    glfwGetWindowSize(window_.get(), &width, nullptr);
    return width > 0 ? static_cast<double>(size().width) / width : 1;
  }
  /// A window manager may take its time, or refuse.
  void await_size(PixelSize wanted) const {
    const double until = glfwGetTime() + 1;
    while (size() != wanted && glfwGetTime() < until) glfwWaitEventsTimeout(0.01);
  }
  /// Something that no widget hears of has to be drawn: the window was uncovered, resized or moved to another display.
  void ask_for_frame() { push(pointer_); }

  GLFWcursor* cursor_of(PointerShape shape) {
    constexpr int kShapes[] = {GLFW_ARROW_CURSOR, GLFW_IBEAM_CURSOR, GLFW_HRESIZE_CURSOR, GLFW_VRESIZE_CURSOR,
                               GLFW_HAND_CURSOR};
    const auto index = static_cast<std::size_t>(shape);
    if (shapes_[index] == nullptr) shapes_[index] = glfwCreateStandardCursor(kShapes[index]);
    return shapes_[index];
  }

  SignalScope signals_;
  GlfwScope glfw_;
  Window window_;
  GlRenderer renderer_;
  std::deque<InputEvent> events_;
  std::atomic<bool> woken_ = false;
  InputEvent pointer_ = moved_to(-FLT_MAX, -FLT_MAX);
  ImDrawData* drawn_ = nullptr;
  std::array<GLFWcursor*, 5> shapes_{};
  PointerShape shape_ = PointerShape::Arrow;
  std::string title_;
};

void GlfwPlatform::listen_to_keyboard() {
  glfwSetKeyCallback(window_.get(), [](GLFWwindow* window, int key, int scancode, int action, int) {
    InputEvent event;
    event.type = action == GLFW_RELEASE ? InputEvent::Type::KeyUp : InputEvent::Type::KeyDown;
    event.key = key_of_glfw(key, scancode);
    // A held key repeats by the time it is down.
    if (action != GLFW_REPEAT && event.key != Key::None) of(window).push(event);
  });
  glfwSetCharCallback(window_.get(), [](GLFWwindow* window, unsigned int character) {
    InputEvent event;
    event.type = InputEvent::Type::Character;
    event.character = character;
    of(window).push(event);
  });
}

void GlfwPlatform::listen_to_pointer() {
  glfwSetCursorPosCallback(window_.get(), [](GLFWwindow* window, double x, double y) {
    GlfwPlatform& self = of(window);
    const double pixels = self.pixels_per_unit();
    self.pointer_ = moved_to(static_cast<float>(x * pixels), static_cast<float>(y * pixels));
    self.push(self.pointer_);
  });
  glfwSetCursorEnterCallback(window_.get(), [](GLFWwindow* window, int entered) {
    if (entered == GLFW_TRUE) return;
    // Far outside, where nothing is hovered.
    of(window).pointer_ = moved_to(-FLT_MAX, -FLT_MAX);
    of(window).push(of(window).pointer_);
  });
  glfwSetMouseButtonCallback(window_.get(), [](GLFWwindow* window, int button, int action, int) {
    if (button < 0 || button >= kMouseButtons) return;
    InputEvent event;
    event.type = action == GLFW_PRESS ? InputEvent::Type::ButtonDown : InputEvent::Type::ButtonUp;
    event.button = static_cast<MouseButton>(button);
    of(window).push(event);
  });
  glfwSetScrollCallback(window_.get(), [](GLFWwindow* window, double x, double y) {
    InputEvent event;
    event.type = InputEvent::Type::Wheel;
    event.x = static_cast<float>(x);
    event.y = static_cast<float>(y);
    of(window).push(event);
  });
}

void GlfwPlatform::listen_to_window() {
  glfwSetWindowFocusCallback(window_.get(), [](GLFWwindow* window, int focused) {
    InputEvent event;
    event.type = InputEvent::Type::Focus;
    event.focused = focused == GLFW_TRUE;
    of(window).push(event);
  });
  glfwSetDropCallback(window_.get(), [](GLFWwindow* window, int count, const char** paths) {
    InputEvent event;
    event.type = InputEvent::Type::Drop;
    event.paths.assign(paths, paths + count);
    of(window).push(std::move(event));
  });
  glfwSetWindowRefreshCallback(window_.get(), [](GLFWwindow* window) { of(window).ask_for_frame(); });
  glfwSetFramebufferSizeCallback(window_.get(),
                                 [](GLFWwindow* window, int, int) { of(window).ask_for_frame(); });
  glfwSetWindowContentScaleCallback(window_.get(),
                                    [](GLFWwindow* window, float, float) { of(window).ask_for_frame(); });
}

}  // namespace

std::unique_ptr<Platform> open_window(const std::string& title, PixelSize size) {
  return std::make_unique<GlfwPlatform>(title, size);
}

}  // namespace pipeloom::gui
