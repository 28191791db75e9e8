#pragma once

// A run as the window shows it: made once, off the frame thread, then only read. Sharing one between threads is safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <pipeloom/run.hpp>
#include <pipeloom/simulate.hpp>
#include "sim/tracks/message_track.hpp"

namespace pipeloom::tracks {
class CauseTrack;
class LevelTrack;
class OpTrack;
}  // namespace pipeloom::tracks

namespace pipeloom::gui {

using tracks::MessageBar;

/// A run, and the window's analysis of it. Its gaps are always there; its program is not kept.
struct RunModel : Run {
  /// Different for every RunModel of a process; for caches.
  std::uint64_t id = 0;
  /// False while lower bound and critical path of a large run are still being found: it is shown before they are.
  bool analysed = true;
  /// Messages of the first step in order of start; empty where they take no time, or where there are more than
  /// kMaxMessageBars.
  std::vector<MessageBar> message_bars;
  /// The schedule as it was given, if the run hangs: `schedule` is the part of it that ran. Null otherwise.
  std::shared_ptr<const Schedule> whole;
  /// The reason for which it is no whole run, "rank 2 ends early": a file of it broke off, or the run that wrote it failed. "" where it is whole.
  std::string partial;
  /// It is one step as far as that was recorded: shares and sums of it mean nothing.
  bool cut = false;
  /// Text pages on its problems, as `pipeloom validate` writes them: the steps around the standstill, PyTorch's verdict. May be "".
  std::string explanation;

  /// The visible part of each row at a scale (level of detail): work and copies, message_bars, bytes held, idle time. Null where the run
  /// has nothing of the sort.
  std::shared_ptr<const tracks::OpTrack> op_track;
  std::shared_ptr<const tracks::MessageTrack> message_track;
  std::shared_ptr<const tracks::LevelTrack> memory_track;
  std::shared_ptr<const tracks::CauseTrack> cause_track;
  /// [step] where it begins on the first of its ranks; empty where there is one step.
  std::vector<Ticks> step_start;

  /// Op indices of the critical path, in time order; empty if unknown or too large to find.
  [[nodiscard]] const std::vector<std::size_t>& critical() const;
  /// A number for caches that use bound or path: it changes when these become known.
  [[nodiscard]] std::uint64_t edition() const { return 2 * id + (analysed ? 1 : 0); }
  [[nodiscard]] Span span() const { return span_; }
  [[nodiscard]] int ranks() const { return schedule->ranks(); }
  Span span_;
};

inline constexpr std::size_t kMaxMessageBars = std::size_t{1} << 20;

using RunPtr = std::shared_ptr<const RunModel>;

}  // namespace pipeloom::gui
