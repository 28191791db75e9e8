#pragma once

// The same questions as LaneIndex answers, for the bars of messages in the send and receive rows of a rank.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gui/model/detail/busy_pyramid.hpp"
#include "gui/model/detail/message_bar.hpp"
#include "gui/model/detail/time_range.hpp"

namespace pipeloom::gui {

enum class MessageLane : std::uint8_t { Send, Receive };

/// The share of a stretch of time in which at least one message was under way.
struct MessageShares {
  float activation = 0;
  float gradient = 0;
  [[nodiscard]] float total() const { return activation + gradient; }
};

class MessageLanes {
 public:
  /// `bars` in order of start; they must outlive it. O(bars).
  MessageLanes(std::span<const MessageBar> bars, int ranks);

  [[nodiscard]] bool has(Rank rank, MessageLane lane) const;
  /// Indices of the bars of a row in order of start, those that overlap [from, to) among them: the first that is still under way at
  /// `from` up to the last that starts before `to`. O(log bars).
  [[nodiscard]] std::span<const std::uint32_t> visible(Rank rank, MessageLane lane, double from,
                                                       double to) const;
  /// Rules as LaneIndex::shares(). O(bins).
  void shares(Rank rank, MessageLane lane, TimeRange range, int bins, std::vector<MessageShares>& out) const;

 private:
  struct Row {
    std::vector<std::uint32_t> bars;
    std::vector<Ticks> latest_end;  // of the bars up to and including this one
    BusyPyramid busy;
  };
  void index_row(Row& row, Span span, BusyPyramid::Builder& builder) const;
  [[nodiscard]] const Row& row(Rank rank, MessageLane lane) const {
    return rows_[rank.at() * 2 + static_cast<std::size_t>(lane)];
  }

  std::span<const MessageBar> bars_;
  std::vector<Row> rows_;  // [rank * 2 + lane]
};

}  // namespace pipeloom::gui
