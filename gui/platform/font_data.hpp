#pragma once

// The faces that the program carries in it since its build. DejaVu's licence (Bitstream Vera's, with changes in the public domain) lets
// programs embed it, and so does Inter's (the SIL Open Font License).

#include <span>

namespace pipeloom::gui {

struct FontFace {
  std::span<const unsigned char> data;
  /// Height from the lowest to the highest point of its letters, in sizes of the face.
  float height = 1;
};

/// Inter, or DejaVu Sans where the build did not find it.
[[nodiscard]] FontFace text_face();
/// Its half-bold letters.
[[nodiscard]] FontFace strong_face();
/// DejaVu Sans, which has arrows and signs of all kinds.
[[nodiscard]] FontFace sign_face();

}  // namespace pipeloom::gui
