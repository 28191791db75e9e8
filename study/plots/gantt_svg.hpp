#pragma once

// A timeline as inline SVG: the ops of every rank over time, and the causes of its idle time.
//
// The size of the file follows the picture, not the run. Up to kMostBoxes ops each is a box with a text to hover; up to kMostPathOps each
// is there with its own place and length, one path per rank and kind; beyond, and where ops are too short to be told apart, bins show how
// busy a rank was. An op or a gap too thin to be seen is drawn a pixel wide if it is isolated.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <pipeloom/metrics.hpp>
#include <pipeloom/simulate.hpp>
#include "study/document/document.hpp"

namespace pipeloom::study::page {

inline constexpr std::size_t kMostBoxes = 4000;
inline constexpr std::size_t kMostPathOps = 200'000;
/// Above this many ranks, ranks share rows.
inline constexpr int kMostRows = 256;

enum class Detail : unsigned char { Boxes, Paths, Bins };

struct GanttInput {
  const Timeline* timeline = nullptr;
  /// Idle spans of the first step, [rank]; null or empty leaves gaps without causes.
  const std::vector<std::vector<IdleSpan>>* idle = nullptr;
  /// Op indices of the first step's critical entries; null for none.
  const std::vector<std::size_t>* critical = nullptr;
  /// Time shown, so that several runs have one scale; nothing shows all of it.
  std::optional<Span> range = {};
  std::string id = "gantt";
  std::string link = "time";
  std::string title = "Timeline";
};

struct Gantt {
  Figure figure;
  Legend legend;
  Detail detail = Detail::Boxes;
};

/// REQUIRES: entries of one rank do not overlap.
[[nodiscard]] Gantt draw_gantt(const GanttInput& input);

/// First start and last end over all steps of a timeline: the span that a Gantt shows by default.
[[nodiscard]] Span whole_span(const Timeline& timeline);

}  // namespace pipeloom::study::page
