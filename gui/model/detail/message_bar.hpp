#pragma once

#include <cstddef>

#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom::gui {

/// A message between two ranks, as a bar in their send and receive rows.
struct MessageBar {
  Ticks start = 0;
  Ticks end = 0;
  Rank from;
  Rank to;
  std::size_t producer = 0;  ///< op index
  std::size_t consumer = 0;  ///< op index
  bool gradient = false;
};

}  // namespace pipeloom::gui
