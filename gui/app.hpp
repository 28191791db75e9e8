#pragma once

// The program without its main(): input, session, layout and platform, one frame at a time. The window, scripts, tests and benchmarks
// all run this.

#include <array>
#include <functional>
#include <memory>

#include "gui/model/session/keys.hpp"
#include "gui/model/session/session.hpp"
#include "gui/platform/fonts.hpp"
#include "gui/platform/platform.hpp"
#include "gui/ui.hpp"

namespace pipeloom::gui {

/// Thread CPU time from ImGui::NewFrame to ImGui::Render of the latest frames.
class FrameTimes {
 public:
  void add(double milliseconds);
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Both are over the latest 200 frames; 0 before the first.
  [[nodiscard]] double p95() const;
  [[nodiscard]] double max() const;
  void clear() { count_ = 0; }

 private:
  static constexpr std::size_t kKept = 200;
  std::array<double, kKept> latest_{};
  std::size_t count_ = 0;
};

/// A Dear ImGui context that goes away with its owner.
class ImGuiScope {
 public:
  ImGuiScope();
  ~ImGuiScope();
  ImGuiScope(const ImGuiScope&) = delete;
  ImGuiScope& operator=(const ImGuiScope&) = delete;
};

class App {
 public:
  /// REQUIRES: an ImGuiScope lives as long as the App and its platform do.
  explicit App(std::unique_ptr<Platform> platform);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  [[nodiscard]] Session& session() { return ui_.session; }
  [[nodiscard]] Ui& ui() { return ui_; }
  [[nodiscard]] Platform& platform() { return *platform_; }
  /// The queue in which window, scripts and fuzzers put events.
  [[nodiscard]] InputQueue& input() { return input_; }
  [[nodiscard]] const FrameTimes& times() const { return times_; }
  FrameTimes& times() { return times_; }

  /// One frame: takes as much input as it can, lets the session work, draws and shows.
  void frame();
  /// Sets the time that each frame takes, in seconds; 0: the time that has really passed. Scripts choose a step, so that they run alike everywhere.
  void set_frame_step(double seconds) { frame_step_ = seconds; }
  /// True if the next frame would differ from the last: input waits, a job finished, keys are held, or widgets settle.
  [[nodiscard]] bool wants_frame() const;
  /// Frames until the session quits or the platform closes, at rest while nothing changes. Calls `tell_state` for each request of the
  /// platform, when all input before it was taken, no job is under way and the picture is at rest.
  void run(const std::function<void()>& tell_state);
  [[nodiscard]] bool finished() const;
  /// Frames shown so far.
  [[nodiscard]] std::size_t frames() const { return frames_; }

 private:
  void take_input();
  void take_chord(const InputEvent& event);
  void run_held_commands();
  void apply_preferences();
  void restyle(float scale, bool dark);
  [[nodiscard]] bool is_down(Key key) const { return down_[static_cast<std::size_t>(key)]; }
  void draw();
  void show_title();
  void take_close_request();

  std::unique_ptr<Platform> platform_;
  std::unique_ptr<Session> session_;
  Items items_;
  InputQueue input_;
  Ui ui_;
  FrameTimes times_;
  std::array<bool, kKeys> down_{};
  Fonts fonts_;
  float wanted_scale_ = 0;  ///< of the fonts that are there or being made
  std::string title_;
  float scale_ = 0;
  bool dark_ = true;
  std::size_t frames_ = 0;
  /// Frames still to draw after the last change: Dear ImGui needs a few to settle sizes and hovers.
  int settling_ = 0;
  double last_frame_at_ = 0;
  double frame_step_ = 0;
};

}  // namespace pipeloom::gui
