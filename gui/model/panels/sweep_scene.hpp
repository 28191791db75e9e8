#pragma once

// A sweep's result as the window shows it: points as dots, or as cells where there are too many, the Pareto front on top, and a winner map.
// Made by a job, it never changes afterwards. Drawing cost follows the visible part: at most kMaxDots dots or kColumns * kLines cells, whatever
// the number of points.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/answers/answers.hpp"
#include "study/answers/select.hpp"

namespace pipeloom::gui {

/// The choice of what is shown of a result. study/answers/answers.hpp chooses for "".
struct SweepQuestion {
  std::string x;  ///< a metric or a key of numbers
  std::string y;
  std::string colour;  ///< a key
  std::string where;   ///< a condition
  std::string map_x;   ///< keys of the winner map
  std::string map_y;
  std::string winner;
  friend bool operator==(const SweepQuestion&, const SweepQuestion&) = default;
};

/// A point of its own. Places are shares of the plot, 0 .. 1 from the left and from the bottom.
struct SweepDot {
  float x = 0;
  float y = 0;
  sweep::Row row = 0;
  std::uint16_t series = 0;
};
/// Points that lie close together.
struct SweepCell {
  std::uint16_t column = 0;
  std::uint16_t line = 0;
  std::uint32_t points = 0;
  /// The series of all of them, or kMixed.
  std::uint16_t series = 0;
  /// Density: 255 for the cell with most points, less by the logarithm.
  std::uint8_t shade = 0;
  static constexpr std::uint16_t kMixed = 0xffff;
};

class SweepScene {
 public:
  static constexpr std::size_t kMaxDots = 2500;
  static constexpr std::size_t kColumns = 96;
  static constexpr std::size_t kLines = 64;
  static constexpr std::size_t kMaxFront = 400;

  using Table = std::shared_ptr<const sweep::ResultTable>;
  /// O(n log n). Throws InputError for a key or metric that the result does not have; `stop` ends the work early with a scene that is of no use.
  SweepScene(Table table, SweepQuestion asked, const std::function<bool()>& stop = {});

  [[nodiscard]] const sweep::ResultTable& table() const { return *table_; }
  /// The question that was asked, completed.
  [[nodiscard]] const SweepQuestion& question() const { return question_; }
  [[nodiscard]] const sweep::Scale& x_scale() const { return x_; }
  [[nodiscard]] const sweep::Scale& y_scale() const { return y_; }
  /// Points that have both values and fit the condition.
  [[nodiscard]] std::size_t shown() const { return order_.size(); }
  /// One of the two is empty.
  [[nodiscard]] const std::vector<SweepDot>& dots() const { return dots_; }
  [[nodiscard]] const std::vector<SweepCell>& cells() const { return cells_; }
  /// The Pareto front of y and x, best y first; of a long one kMaxFront dots. Empty unless both are metrics.
  [[nodiscard]] const std::vector<SweepDot>& front() const { return front_; }
  [[nodiscard]] std::size_t front_size() const { return front_size_; }
  /// Values of question().colour.
  [[nodiscard]] const std::vector<std::string>& series() const { return series_; }
  [[nodiscard]] const std::optional<sweep::WinnerMap>& map() const { return map_; }
  /// The metric of the map: y if it is one, else the metric that ranks points.
  [[nodiscard]] const std::string& metric() const { return metric_; }

  /// The point nearest to a place within `reach_x` and `reach_y` of it, of the front first. Looks at no more than some thousand points.
  [[nodiscard]] std::optional<sweep::Row> hit(double x, double y, double reach_x, double reach_y) const;
  /// The best point of the map's cell; nothing outside and where there is none.
  [[nodiscard]] std::optional<sweep::Row> best_of_cell(std::size_t x, std::size_t y) const;
  /// The dot of a point.
  [[nodiscard]] SweepDot dot(sweep::Row row) const;
  /// The best point of the front in words, "zbv: 0.8 % at 760 MiB": of y, and of x beside it; "" without a front.
  [[nodiscard]] std::string winner_text() const;
  /// Several lines: the keys that vary, then all metrics.
  [[nodiscard]] std::string point_text(sweep::Row row) const;

 private:
  void find_series();
  void place_points(const std::vector<sweep::Row>& rows);
  void find_front(const std::vector<sweep::Row>& rows);

  Table table_;
  SweepQuestion question_;
  std::string metric_;
  const sweep::Column* x_column_ = nullptr;
  const sweep::Column* y_column_ = nullptr;
  sweep::Scale x_;
  sweep::Scale y_;
  std::vector<std::string> series_;
  std::vector<std::uint16_t> series_of_;   // [row]
  std::vector<sweep::Row> order_;          // rows shown, by cell
  std::vector<std::uint32_t> cell_begin_;  // [cell + 1], into order_
  std::vector<SweepDot> dots_;
  std::vector<SweepCell> cells_;
  std::vector<SweepDot> front_;
  std::size_t front_size_ = 0;
  std::optional<sweep::WinnerMap> map_;
};

/// Names that an axis takes: metrics, then varying keys of numbers.
[[nodiscard]] std::vector<std::string> axis_names(const sweep::ResultTable& table);

}  // namespace pipeloom::gui
