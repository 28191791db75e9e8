#pragma once

// Texts that explain the thing under the pointer, once it has rested there for half a second.

#include <string_view>

struct ImVec2;

namespace pipeloom::gui {

/// A text on hover, beside the item drawn last; "" for none. There is none while a button or a key is held, or a text is typed.
void explain(std::string_view text);
/// The same of a thing under the pointer that is no item, such as a point of a plot: it covers `from` to `to`.
void explain_place(ImVec2 from, ImVec2 to, std::string_view text);
/// True if the pointer has rested on an explained thing long enough, and no frame has shown the text: another frame is wanted.
[[nodiscard]] bool explanation_is_due();
/// True while a button or a key is held, or a text is typed.
[[nodiscard]] bool hands_are_busy();

}  // namespace pipeloom::gui
