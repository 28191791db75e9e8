#pragma once

// The objects that a view draws with.

#include <span>

#include "gui/items.hpp"
#include "gui/model/session/session.hpp"
#include "gui/platform/platform.hpp"
#include "gui/skin.hpp"

namespace pipeloom::gui {

struct Ui {
  Session& session;
  Items& items;
  Platform& platform;
  Skin skin;
  /// True if a text field has the keyboard, so that letters are letters.
  bool typing = false;
  /// True if a menu or the list of a field was open in the frame before: Esc closes that first.
  bool popup_was_open = false;
};

/// A panel: one function in one file under gui/views, one line in views.def.
struct View {
  enum class Dock : unsigned char {
    Top,     ///< across the window, of one height and without a title
    Left,    ///< stacked in the left column
    Centre,  ///< the timelines
    Right,   ///< tabs of the right column; of the bottom row where the window is narrow
    Below,   ///< between the timelines and the bottom row, as wide as they are
    Bottom,  ///< tabs of the row below the timelines
    Overlay  ///< draws its own windows, if any: palette, sheet, dialogs. Called every frame, "open" or not.
  };
  const char* id;     ///< "params": prefix of its items, name for toggle-panel and in saved files
  const char* title;  ///< "Parameters"
  Dock dock;
  bool open;  ///< at first start
  /// Share of its column's height (or row's width) relative to its neighbours'.
  double weight;
  void (*draw)(Ui&);
};
/// Every view, in the order of views.def.
[[nodiscard]] std::span<const View> all_views();

}  // namespace pipeloom::gui
