// No window and no picture: what unit tests, fuzzers and benchmarks of the frame run on.

#include <imgui.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "gui/platform/platform.hpp"

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
    if (!queue.empty() || seconds == 0) return;
    std::unique_lock lock(mutex_);
    const auto woken = [this] { return woken_; };
    if (seconds < 0)
      changed_.wait(lock, woken);
    else
      changed_.wait_for(lock, std::chrono::duration<double>(seconds), woken);
    woken_ = false;
  }
  void wake() override {
    {
      const std::lock_guard lock(mutex_);
      woken_ = true;
    }
    changed_.notify_one();
  }
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
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;
};

}  // namespace

std::unique_ptr<Platform> open_null(PixelSize size) {
  return std::make_unique<NullPlatform>(size);
}

}  // namespace pipeloom::gui
