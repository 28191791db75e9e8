#pragma once

// The box of a label in a picture.

namespace pipeloom::draw {

/// Pixels; y grows down.
struct Box {
  double left, top, right, bottom;
  /// True if they have more than an edge in common.
  [[nodiscard]] bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

}  // namespace pipeloom::draw
