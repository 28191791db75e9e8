#pragma once

// A root cause of idle time as a row of a panel.

#include <cstddef>
#include <string_view>

#include "gui/model/panels/causes.hpp"
#include "gui/ui.hpp"

namespace pipeloom::gui {

/// Name, amount and share of the n-th cause, and a thin bar under them; `most` is the share of the longest bar. A click goes to the cause. The
/// row is the item `items` with its number: "causes/root/0".
void draw_cause_row(Ui& ui, std::string_view items, const RootLine& line, std::size_t n, double most,
                    TimeUnit unit);
[[nodiscard]] float cause_row_height(const Ui& ui);

}  // namespace pipeloom::gui
