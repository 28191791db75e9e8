#pragma once

// What the chart keeps between frames, and what other features may hand to it.

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "gui/model/chart_layout.hpp"
#include "gui/model/part.hpp"

namespace pipeloom::gui {

/// How an op compares with its counterpart: -127 much shorter .. 0 equal .. 127 much longer; kNoCounterpart where there is none.
/// By position in timeline.start.
using OpTints = std::shared_ptr<const std::vector<std::int8_t>>;
inline constexpr std::int8_t kNoCounterpart = -128;

/// How soon an op's delay delays the end: 0 on the critical path .. 255 any time. By op index.
using SlackLevels = std::shared_ptr<const std::vector<std::uint8_t>>;

class ChartPart : public Part {
 public:
  explicit ChartPart(Session&) {}

  /// Of the frame drawn last: what commands such as "page down" and "fit the rank" measure with.
  ChartLayout layout;
  /// By RunModel::id; while a run is in here, its ops are coloured by it instead of by ViewState::colour.
  std::map<std::uint64_t, OpTints> tints;
  /// By RunModel::id; made by a job when ViewState::colour is Slack.
  std::map<std::uint64_t, SlackLevels> slack;

  bool update(Session& session) override;

 private:
  std::uint64_t slack_asked_ = 0;
};

}  // namespace pipeloom::gui
