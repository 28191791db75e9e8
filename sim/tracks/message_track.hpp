#pragma once

// The bars of messages in the send and receive rows of every rank.

#include <cstdint>
#include <span>
#include <vector>

#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>
#include "sim/tracks/pyramid.hpp"
#include "sim/tracks/track.hpp"

namespace pipeloom::tracks {

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

enum class MessageLane : std::uint8_t { Send, Receive };

/// Rows: sent and received of rank 0, of rank 1, .. Channels: activations, gradients; their shares are of the time in which at least one
/// message was under way.
class MessageTrack final : public Track {
 public:
  /// `bars` in order of start; they must outlive it. O(bars).
  MessageTrack(std::span<const MessageBar> bars, int ranks);

  [[nodiscard]] static std::size_t row_of(Rank rank, MessageLane lane) {
    return rank.at() * 2 + static_cast<std::size_t>(lane);
  }
  /// The bars of a row in order of start: indices of the bars that the track was made of.
  [[nodiscard]] std::span<const std::uint32_t> bars(std::size_t row) const { return rows_[row].bars; }

  [[nodiscard]] std::size_t rows() const override { return rows_.size(); }
  [[nodiscard]] std::size_t channels() const override { return 2; }
  /// A slice of bars(row): the first that is still under way at the start of the range up to the last that starts before its end.
  [[nodiscard]] Slice visible(std::size_t row, TimeRange range) const override;
  /// O(bins).
  void shares(std::size_t row, TimeRange range, int bins, std::span<float> out) const override;
  /// O(bars of the row within [from, to)).
  void exact(std::size_t row, Ticks from, Ticks to, std::span<Ticks> out) const override;

 private:
  struct Row {
    std::vector<std::uint32_t> bars;
    std::vector<Ticks> latest_end;  // of the bars up to and including this one
    Pyramid busy;
  };
  void index_row(Row& row, Span span, Pyramid::Builder& builder) const;

  std::span<const MessageBar> bars_;
  std::vector<Row> rows_;
};

}  // namespace pipeloom::tracks
