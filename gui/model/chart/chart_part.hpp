#pragma once

// State of the chart that lasts between frames, and that other features may set.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gui/model/chart/chart_layout.hpp"
#include "gui/model/session/part.hpp"

namespace pipeloom::gui {

class ChartColours;

/// Comparison of an op with its counterpart: -127 much shorter .. 0 equal .. 127 much longer; kNoCounterpart where there is none.
/// Indexed by position in timeline.start.
using OpTints = std::shared_ptr<const std::vector<std::int8_t>>;
inline constexpr std::int8_t kNoCounterpart = -128;

/// Importance of an op's delay: 0 on the critical path .. 255 not at all. By op index, for the first step.
using SlackLevels = std::shared_ptr<const std::vector<std::uint8_t>>;

/// Positions in timeline.start, ascending.
using OpMatches = std::shared_ptr<const std::vector<std::size_t>>;

class ChartPart : public Part {
 public:
  explicit ChartPart(Session&) {}

  /// The layout of the frame drawn last: commands such as "page down" and "fit the rank" measure with it.
  ChartLayout layout;
  /// By RunModel::id; while a run is in here, its ops are coloured by it instead of by ViewState::colour.
  std::map<std::uint64_t, OpTints> tints;
  /// By RunModel::id: the ops that a search found; while a run is in here, all its other ops are dimmed.
  std::map<std::uint64_t, OpMatches> matches;
  /// The same for ops that something points at: while there are any, matches of the search do not show.
  std::map<std::uint64_t, OpMatches> highlights;
  [[nodiscard]] const std::map<std::uint64_t, OpMatches>& bright() const {
    return highlights.empty() ? matches : highlights;
  }
  /// The time cursor, in ticks.
  std::optional<double> cursor;
  /// By RunModel::id; made by a job when ViewState::colour is Slack.
  std::map<std::uint64_t, SlackLevels> slack;

  /// The paints of a run as the session wants them now; kept until that changes.
  [[nodiscard]] const ChartColours& colours_of(const Session& session, const RunModel& run);

  /// The rank whose memory is drawn under the rows: the selected one, else the one that its memory presses most, which is kept. No value
  /// where nothing is known of memory.
  [[nodiscard]] std::optional<Rank> memory_rank(const Session& session, const RunModel& run);

  /// Forgets everything of runs that are gone, and asks for slack where it is shown.
  bool update(Session& session) override;

 private:
  void ask_for_slack(Session& session, const RunPtr& run);

  std::vector<std::shared_ptr<const ChartColours>> colours_;
  std::uint64_t slack_asked_ = 0;
  std::map<std::uint64_t, std::optional<Rank>> pressed_;  // by RunModel::id
};

/// 0 for no slack, then by the logarithm of slack over the longest op's duration, 255 from ten of these on; empty where run_slack() is.
[[nodiscard]] std::vector<std::uint8_t> slack_levels(const RunModel& run);

}  // namespace pipeloom::gui
