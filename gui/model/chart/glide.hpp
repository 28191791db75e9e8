#pragma once

// The way of the timelines to another view: where a command jumps, or a new run has another span, what is drawn glides there and then rests.

#include <cstdint>

#include "gui/model/session/part.hpp"
#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

class Glide : public Part {
 public:
  explicit Glide(Session&) {}

  /// Seconds from one view to another.
  static constexpr double kSeconds = 0.12;

  /// The range to draw: the view's at rest, one between the old and the new view on the way.
  [[nodiscard]] TimeRange shown() const;

  /// Zooming and panning by hand are followed at once.
  bool update(Session& session) override;
  [[nodiscard]] bool idle() const override { return left_ <= 0; }

 private:
  TimeRange from_;
  TimeRange to_;
  double left_ = 0;  // seconds
  bool placed_ = false;
  std::uint64_t jumps_ = 0;
  std::uint64_t runs_ = 0;
};

}  // namespace pipeloom::gui
