#include "gui/model/chart/glide.hpp"

#include <algorithm>
#include <utility>

#include "gui/model/chart/navigation.hpp"

namespace pipeloom::gui {
namespace {

/// A number that changes with the runs on screen.
std::uint64_t print_of(const std::vector<OpenRun>& runs) {
  std::uint64_t print = 0;
  for (const OpenRun& open : runs) print = 31 * print + open.run->id;
  return print;
}

}  // namespace

TimeRange Glide::shown() const {
  if (left_ <= 0) return to_;
  // Fast at first, slow at the end.
  const double rest = left_ / kSeconds;
  const double share = 1 - rest * rest * rest;
  return {from_.start + share * (to_.start - from_.start), from_.end + share * (to_.end - from_.end)};
}

bool Glide::update(Session& session) {
  const TimeRange before = shown();
  const std::uint64_t jumps = session.part<Navigation>().jumps();
  const std::uint64_t runs = print_of(session.runs);
  const bool jumped = jumps != jumps_ || runs != runs_;
  jumps_ = jumps;
  runs_ = runs;
  const bool moved = std::exchange(to_, session.view.range) != session.view.range;
  const bool was_placed = std::exchange(placed_, session.view.placed);
  if (moved) {
    from_ = before;
    left_ = jumped && was_placed ? kSeconds : 0;
  }
  if (left_ <= 0) return moved;
  if (!moved) left_ = std::max(left_ - session.frame_seconds, 0.0);
  return true;
}

}  // namespace pipeloom::gui
