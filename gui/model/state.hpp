#pragma once

// The state dump: what a script's `expect` looks at, `--state` writes and tests compare. JSON; every key is always there.
//
//   seq        frames so far                      idle, jobs  whether anything is under way, how many jobs
//   window     width height scale theme palette platform panels {id: open} typing
//   runs       [{title source file live compared active ranks stages microbatches num_ops time_unit makespan bubble_ratio ...}]
//   view       start end (in the active run's unit) scroll row_height colour hidden_kinds show_... pinned collapsed hidden
//   selection  {op, hover: {run rank op step start end} or null, kind: "F" or null}
//   gap        {run rank span start end cause} or null
//   range      {start end length} or null         marks       [{time note persistent}]
//   message    {text kind}                        items       {id: [x0, y0, x1, y1]}
//   frames     {count cpu_ms_p95 cpu_ms_max}
//
// Times are numbers in the run's own unit. `search`, `undo` and further keys are those of the session's parts (Part::state_key).

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "gui/model/session.hpp"

namespace pipeloom::gui {

/// What the window knows and the session does not.
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
  std::uint64_t frame_count = 0;
  double cpu_ms_p95 = 0;
  double cpu_ms_max = 0;
};

/// JSON of two levels of lines: readable in a diff. Equal states give equal text, save for `frames`.
[[nodiscard]] std::string state_dump(const Session& session, const WindowState& window);

}  // namespace pipeloom::gui
