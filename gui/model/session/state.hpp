#pragma once

// The state dump: a script's `expect` looks at it, `--state` writes it and tests compare it. JSON; every key is always there.
//
//   seq, idle, jobs   frames so far, true if nothing is under way, number of jobs under way
//   progress   how much of the job under way is done, 0 to 1, or null
//   window     {width height scale theme palette hatching platform panels: {id: open} typing}
//   runs       [{title source file live compared active schedule ranks stages microbatches num_ops steps time_unit start end
//                metrics over_limit hang partial warnings}], from the top of the stack. metrics is null for measured runs, else those
//                with a place in Metric::state, and peak_rank; hang is null or {lines remedies waits}
//   view       {start end scroll row_height colour hidden_kinds show_... pinned collapsed hidden rank_order}
//   selection  {op hover kind}: op and hover are null or {run rank op step start end}; run is the position in `runs`
//   gap        {run rank span start end cause} or null
//   range      {start end length} or null         marks       [{time note persistent}]
//   search, undo      of the session's parts; null without them
//   message    {text kind}                        items       {id: [x0, y0, x1, y1]}
//   frames     {count cpu_ms_p95 cpu_ms_max}
//
// Times are numbers in the run's own unit; those of `view`, `range` and `marks` in the active run's. Further keys are those of the
// session's parts (Part::state_key), each a JSON value.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gui/model/session/session.hpp"

namespace pipeloom::gui {

/// State of the window that the session does not have.
struct WindowState {
  std::uint64_t seq = 0;
  int width = 0;
  int height = 0;
  double scale = 1;
  std::string platform;
  bool typing = false;
  /// The frame in progress has input that no frame has seen.
  bool input_waits = false;
  std::map<std::string, std::array<float, 4>> items;
  std::vector<std::string> overlaps;  ///< texts that lie over each other
  std::uint64_t frame_count = 0;
  double cpu_ms_p95 = 0;
  double cpu_ms_max = 0;
};

/// JSON of two levels of lines: readable in a diff. Equal states give equal text, save for `frames`.
[[nodiscard]] std::string state_dump(const Session& session, const WindowState& window);

}  // namespace pipeloom::gui
