#include "gui/model/draw/icons.hpp"

#include <cmath>

#include "support/catch.hpp"

namespace icons_test {

using namespace pipeloom::gui;

TEST_CASE("every icon has a shape of its own inside of its square") {
  // Ends may reach a fifth beyond it.
  const auto inside = [](float x, float y) { return std::abs(x) <= 1.2F && std::abs(y) <= 1.2F; };
  for (std::size_t i = 0; i < kIcons; ++i) {
    INFO(i);
    const IconShape& shape = shape_of(static_cast<Icon>(i));
    CHECK(shape.icon == static_cast<Icon>(i));
    CHECK_FALSE((shape.strokes.empty() && shape.filled.empty()));
    for (const IconStroke& one : shape.strokes) CHECK((inside(one.x0, one.y0) && inside(one.x1, one.y1)));
    for (const IconArea& one : shape.filled)
      CHECK((inside(one.x0, one.y0) && inside(one.x1, one.y1) && inside(one.x2, one.y2) &&
             inside(one.x3, one.y3)));
  }
}

TEST_CASE("wedges point where they say") {
  // The two strokes meet at the tip: down is below the middle, up above, right of it.
  CHECK(shape_of(Icon::Down).strokes.front().y1 > 0);
  CHECK(shape_of(Icon::Up).strokes.front().y1 < 0);
  CHECK(shape_of(Icon::Right).strokes.front().x1 > 0);
}

}  // namespace icons_test
