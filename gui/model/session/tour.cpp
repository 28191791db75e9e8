#include "gui/model/session/tour.hpp"

#include <algorithm>

#include "gui/model/session/palette.hpp"

namespace pipeloom::gui {
namespace {

constexpr TourStep kTourSteps[] = {
    {"answer/bubble", "The answer first",
     "What a step takes, how much of it ranks idle and why, what the fullest rank holds, and what would be "
     "better. A click on the bubble goes to its largest cause."},
    {"panel/params", "Change a number",
     "The parameters make the schedule. Every change is simulated at once, and Ctrl+Z takes it back."},
    {"chart/plot", "Move through time",
     "W and S zoom, A and D move, as does Ctrl with the wheel. F centres what is selected, Home shows "
     "everything; the right button says what can be done with a thing."},
    {"panel/details/title", "Find the bubble",
     "Click an op or a gap, or press G for the longest gap: the details say what the rank waits for and what "
     "would help."},
    {"panel/schedules/title", "Another schedule",
     "What every schedule would give. A click takes one, a dot puts it below the run."},
    {"panel/find/title", "The best schedule",
     "Seeks chunks, placements and orders of their own under a memory limit, and shows time against memory."},
    {"panel/snapshots/title", "Compare with before",
     "B keeps the run as it is; what you change next is compared with it."},
    {"search/text", "Find anything",
     "One box for ops (type:B stage:3), commands and settings: Ctrl+F or Ctrl+P. ? shows every key."}};

}  // namespace

std::span<const TourStep> tour_steps() {
  return kTourSteps;
}

void move_tour(Session& session, int by) {
  int& step = session.part<PaletteModel>().tour;
  step = std::max(step + by, 0);
  if (step >= static_cast<int>(std::size(kTourSteps))) step = -1;
}

bool take_tour_key(Session& session, const Chord& chord) {
  int& step = session.part<PaletteModel>().tour;
  if (step < 0 || chord.ctrl || chord.shift || chord.alt) return false;
  if (chord.key == Key::Escape)
    step = -1;
  else if (chord.key == Key::Right)
    move_tour(session, 1);
  else if (chord.key == Key::Left)
    move_tour(session, -1);
  else
    return false;
  return true;
}

}  // namespace pipeloom::gui
