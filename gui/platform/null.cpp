// No window and no picture: for unit tests, fuzzers and benchmarks of the frame.

#include <imgui.h>

#include "gui/platform/platform.hpp"
#include "gui/platform/wake_up.hpp"

namespace pipeloom::gui {
namespace {

class NullPlatform final : public Platform {
 public:
  explicit NullPlatform(PixelSize size) : size_(size) {
    ImGuiIO& io = ImGui::GetIO();
    io.BackendRendererName = "null";
    // Without it more than 65,535 vertices in one window end the program.
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    upload_fonts();
  }

  [[nodiscard]] std::string_view name() const override { return "null"; }
  [[nodiscard]] PixelSize size() const override { return size_; }
  void resize(PixelSize size) override { size_ = size; }
  [[nodiscard]] double display_scale() const override { return 1; }

  void collect(InputQueue& queue, double seconds) override {
    if (queue.empty() && seconds != 0) wake_up_.wait(seconds);
  }
  void wake() override { wake_up_.wake(); }
  [[nodiscard]] bool close_requested() const override { return false; }

  void begin_frame() override {}
  void present(ImDrawData&) override {}
  [[nodiscard]] std::vector<std::uint8_t> read_pixels() override { return {}; }

  [[nodiscard]] std::uintptr_t make_texture() override { return 0; }
  void set_texture(std::uintptr_t, PixelSize, const std::vector<Rgba>&) override {}
  void delete_texture(std::uintptr_t) override {}
  void upload_fonts() override {
    unsigned char* pixels = nullptr;
    int width = 0;
    int height = 0;
    ImGui::GetIO().Fonts->GetTexDataAsAlpha8(&pixels, &width, &height);
  }

  [[nodiscard]] std::string clipboard() override { return clipboard_; }
  void set_clipboard(const std::string& text) override { clipboard_ = text; }
  void set_title(const std::string&) override {}
  void set_pointer(PointerShape) override {}

 private:
  PixelSize size_;
  std::string clipboard_;
  WakeUp wake_up_;
};

}  // namespace

std::unique_ptr<Platform> open_null(PixelSize size) {
  return std::make_unique<NullPlatform>(size);
}

}  // namespace pipeloom::gui
