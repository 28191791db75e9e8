#pragma once

// DejaVuSans.ttf, carried in the program since its build. DejaVu's licence (Bitstream Vera's, with changes in the public domain) lets
// programs embed it.

#include <span>

namespace pipeloom::gui {

[[nodiscard]] std::span<const unsigned char> font_data();

}  // namespace pipeloom::gui
