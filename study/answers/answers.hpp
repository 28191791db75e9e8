#pragma once

// Answers from a sweep: points that no other beats, winners of each cell, the keys that matter, and why points have no answer. All of them are exact
// and the same for equal results; rows are those of select_rows().

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "study/sweep/result/table.hpp"

namespace pipeloom::sweep {

/// The metric that is used if none is named: the first of step_time, makespan and bubble_ratio that the result has, else its first known one.
/// Where points differ in "ranks" or "microbatches", and so in their work, times do not compare: then bubble_ratio first. "" without metrics.
[[nodiscard]] std::string default_metric(const ResultTable& table);
/// The metric against which it is weighed: the first of peak_bytes, peak_activation_bytes and peak_live that the result has and that is not the same
/// everywhere, else another metric that is not `metric`; "" if there is none.
[[nodiscard]] std::string default_other_metric(const ResultTable& table, std::string_view metric);

/// Keys of the grid's axes with more than one value, in the result's order. Derived keys are not among them.
[[nodiscard]] std::vector<std::string> varying_keys(const ResultTable& table);

/// The key whose values colours tell apart: of varying_keys() the schedule, else the first that has at most kMaxSeries values, texts before
/// numbers; "" if none has.
[[nodiscard]] std::string series_key(const ResultTable& table);
inline constexpr std::size_t kMaxSeries = 8;

/// A point that no other is better than: no other is as good in every metric and better in one.
struct FrontPoint {
  Row row = 0;
  /// How many further points have the very same metrics; `row` is the first of them.
  std::size_t equals = 0;
};
/// The Pareto front, best by the first metric first. Rows that lack one of the metrics are left out. O(n log n) for two and three
/// metrics, O(n * front) for more. REQUIRES: at least one metric. Throws InputError for a metric that the result does not have.
[[nodiscard]] std::vector<FrontPoint> pareto_front(const ResultTable& table, const std::vector<Row>& rows,
                                                   std::span<const std::string> metrics);

/// The values of a key along one side of a map. Numbers beyond kMaxMapValues are put into ranges of equal width.
struct MapAxis {
  std::string key;
  std::vector<std::string>
      values;  ///< "8", or "8 to 16" (the upper end belongs to the next range, but for the last)
  bool ranges = false;
  /// Texts beyond kMaxMapValues that the map leaves out.
  std::size_t left_out = 0;
};
inline constexpr std::size_t kMaxMapValues = 40;
inline constexpr std::size_t kMapRanges = 24;

inline constexpr std::size_t kMaxContenders = 1000;

struct MapCell {
  /// The best point, if any.
  std::optional<Row> best;
  /// Places in WinnerMap::contenders of all that reach the best, in their order; more than one is a tie.
  std::vector<std::uint32_t> winners;
  /// Points of the cell that were asked about, those that have the metric, asked about or not, and all of the cell.
  std::size_t points = 0;
  std::size_t answered = 0;
  std::size_t all = 0;
};
/// Kinds of cells: won; no point of it has an answer; some have, but the conditions leave them out; the result has no point there.
enum class CellKind : std::uint8_t { Won, NoAnswer, NotAsked, NoPoint };
[[nodiscard]] CellKind kind_of(const MapCell& cell);
struct WinnerMap {
  MapAxis x;
  MapAxis y;
  std::string what;  ///< the key whose values compete
  std::string metric;
  std::vector<std::string> contenders;  ///< values of `what`, in order
  std::vector<std::size_t> wins;        ///< cells won by each, ties included
  std::vector<MapCell> cells;           ///< [y * x.values.size() + x]
  /// The result has the whole grid: where it has no point, the grid leaves the combination out (its conditions, a zip, a sample).
  bool whole_grid = false;
  [[nodiscard]] const MapCell& at(std::size_t x_index, std::size_t y_index) const {
    return cells[y_index * x.values.size() + x_index];
  }
};
/// Keys and metric of a map; "" is chosen among varying_keys(): `what` is the schedule, else the text with most values; x and y are
/// microbatches and ranks, else the keys with most values. Keys of one zip are never chosen together.
struct MapQuestion {
  std::string x;
  std::string y;
  std::string what;
  std::string metric;
};
/// If only two keys vary, y is "" and the map one row high; nullopt if fewer do. `rows` compete; cells without any of them say
/// how many points there are in the whole table. O(n log n). Throws InputError for names that the result does not have, for a key
/// named twice, and for more than kMaxContenders values of `what`.
[[nodiscard]] std::optional<WinnerMap> winner_map(const ResultTable& table, const std::vector<Row>& rows,
                                                  const MapQuestion& question);

/// The effect of an axis by itself on a metric.
struct Sensitivity {
  std::string key;  ///< "ranks", or "ranks and microbatches" of a zip
  /// Mean over all groups of points that differ in this axis only (and in derived keys) of (largest - smallest), and the same relative to
  /// the smallest's magnitude; groups whose smallest is 0 do not count for the latter.
  double mean_range = 0;
  double mean_relative = 0;
  std::size_t groups = 0;
};
/// Axes with at least one such group, the one that moves most first. O(axes * n log n). REQUIRES: a metric of numbers.
[[nodiscard]] std::vector<Sensitivity> sensitivities(const ResultTable& table, const std::vector<Row>& rows,
                                                     std::string_view metric);

/// Steps of `front` towards less of the second metric: at most `most`, evenly spread, best first. The first one is the best of all.
/// REQUIRES: `front` is of pareto_front() with two metrics.
[[nodiscard]] std::vector<FrontPoint> spread_over(const std::vector<FrontPoint>& front, std::size_t most);

}  // namespace pipeloom::sweep
