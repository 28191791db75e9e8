#pragma once

// The visible part of the runs and how it is drawn: plain state, changed by commands, read by the panels.

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>
#include "gui/model/run/rank_order.hpp"
#include "gui/model/run/run_model.hpp"
#include "sim/tracks/track.hpp"

namespace pipeloom::gui {

using tracks::TimeRange;

[[nodiscard]] inline Ticks nearest_tick(double time) {
  return static_cast<Ticks>(std::llround(time));
}

enum class GanttColour : std::uint8_t { Kind, Chunk, Stage, Microbatch, Slack };
/// "kind", "chunk", "stage", "microbatch", "slack".
[[nodiscard]] std::string_view name_of(GanttColour colour);
inline constexpr GanttColour kAllGanttColours[] = {GanttColour::Kind, GanttColour::Chunk, GanttColour::Stage,
                                                   GanttColour::Microbatch, GanttColour::Slack};

struct ViewState {
  TimeRange range;
  /// False until the first run is shown: then everything is.
  bool placed = false;
  /// Vertical scroll of the rows, in pixels.
  double scroll = 0;
  /// Height of a rank's work row in pixels at scale 1; 0 fits all ranks if they can be told apart.
  double row_height = 0;

  GanttColour colour = GanttColour::Kind;
  /// Kinds that the legend switched off, by index_of(kind).
  unsigned hidden_kinds = 0;
  bool show_critical = false;
  bool show_idle = false;  ///< gaps tinted by their cause
  bool show_memory = false;
  bool show_memory_track = true;  ///< the memory of one rank of each run, under all rows
  bool show_messages = false;     ///< send and receive rows
  bool show_copies = true;        ///< rows of the copy stream, where there are copies
  bool show_minimap = true;
  bool show_overview = true;  ///< all ranks in a strip on the right, where not all fit
  bool show_arrows = true;    ///< dependencies of the selection

  std::set<int> pinned;     ///< ranks that stay on top
  std::set<int> collapsed;  ///< ranks drawn as a thin line
  std::set<int> hidden;     ///< ranks that the filter leaves out
  RankOrder order;          ///< of the rows from the top
};

/// An op of one of the runs on screen.
struct OpRef {
  std::uint64_t run = 0;  ///< RunModel::id
  std::size_t op = 0;     ///< position in timeline.start: step * num_ops + op index
  friend bool operator==(const OpRef&, const OpRef&) = default;
};
/// A gap of a rank: the span `span` of RunModel::idle[rank].
struct GapRef {
  std::uint64_t run = 0;
  Rank rank;
  std::size_t span = 0;
  friend bool operator==(const GapRef&, const GapRef&) = default;
};

/// An op that its run does not reach, as it hangs.
struct WaitingRef {
  std::uint64_t run = 0;  ///< RunModel::id
  Op op;
};

struct Selection {
  std::optional<OpRef> op;
  /// The selected op of a run that hangs before it reaches the op: selected again once it runs. No `op` then.
  std::optional<WaitingRef> waiting;
  std::optional<GapRef> gap;
  std::optional<OpRef> hover;
  /// Every op of a kind, from a double click in the legend.
  std::optional<OpKind> kind;
  void clear() { *this = {}; }
};

/// The op of this run that is selected without running; no value where something else was selected since.
[[nodiscard]] inline std::optional<Op> waiting_selection(const Selection& selection, std::uint64_t run) {
  const bool waits = selection.waiting && selection.waiting->run == run && !selection.op && !selection.gap;
  return waits ? std::optional(selection.waiting->op) : std::nullopt;
}

/// A stretch of time that the user measures.
struct MeasuredRange {
  Ticks start = 0;
  Ticks end = 0;
  friend bool operator==(const MeasuredRange&, const MeasuredRange&) = default;
};

/// A vertical line at a time, perhaps with a note. Persistent ones are kept in the sidecar of the run's file.
struct Mark {
  Ticks time = 0;
  std::string note;
  bool persistent = false;
  friend bool operator==(const Mark&, const Mark&) = default;
};

}  // namespace pipeloom::gui
