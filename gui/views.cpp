// The list of panels.

#include <vector>

#include "gui/ui.hpp"

namespace pipeloom::gui {

namespace views {
#define PIPELOOM_VIEW(function, id, title, dock, open, weight) void function(Ui& ui);
#include "gui/views.def"
#undef PIPELOOM_VIEW
}  // namespace views

std::span<const View> all_views() {
  static const std::vector<View> all = {
#define PIPELOOM_VIEW(function, id, title, dock, open, weight) \
  View{id, title, View::Dock::dock, open, weight, views::function},
#include "gui/views.def"
#undef PIPELOOM_VIEW
  };
  return all;
}

}  // namespace pipeloom::gui
