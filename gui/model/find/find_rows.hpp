#pragma once

// The results of a plan, as the window has them: rows of the table of schedules, and a picture of time against memory.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/panels/schedule_table.hpp"
#include "study/answers/select.hpp"
#include "study/plan/plan.hpp"

namespace pipeloom::gui {

/// A candidate of a plan, or one that runs and holds too much.
struct FindRow {
  ScheduleRow row;
  const study::PlanCandidate* candidate = nullptr;  ///< of the plan
  bool front = false;                               ///< no other beats it in both time and memory
};
/// Those that fit first, best first; then those over the limit. The plan outlives them.
[[nodiscard]] std::vector<FindRow> rows_of(const study::Plan& plan);

/// The rows that the table of schedules does not have already: those with a name that no registered schedule has.
[[nodiscard]] std::vector<FoundSchedule> found_schedules(const std::vector<FindRow>& rows);

/// "zbv, recompute full: 985.9 ms, -18.7 %, 56.8 GB, 1.2 % above the bound"
[[nodiscard]] std::string winner_text(const study::Plan& plan, const FindRow& winner);

/// Step time up, peak memory across: shares of the picture, from the left and from the bottom.
struct FindDot {
  double x = 0;
  double y = 0;
  std::size_t row = 0;  ///< of rows_of()
};
class FindPicture {
 public:
  FindPicture() = default;
  FindPicture(const study::Plan& plan, const std::vector<FindRow>& rows);

  [[nodiscard]] bool empty() const { return dots_.empty(); }
  [[nodiscard]] const std::vector<FindDot>& dots() const { return dots_; }
  /// The dots of the front, fastest first.
  [[nodiscard]] const std::vector<FindDot>& front() const { return front_; }
  /// The given configuration; nothing where it has no numbers.
  [[nodiscard]] const std::optional<FindDot>& now() const { return now_; }
  /// The limit, where all ranks have one.
  [[nodiscard]] const std::optional<double>& limit() const { return limit_; }
  [[nodiscard]] const sweep::Scale& across() const { return x_; }
  [[nodiscard]] const sweep::Scale& up() const { return y_; }
  /// "peak, GB"
  [[nodiscard]] const std::string& across_title() const { return x_title_; }
  [[nodiscard]] const std::string& up_title() const { return y_title_; }
  /// The dot nearest to a place, within these shares of width and height; nothing where none is.
  [[nodiscard]] std::optional<FindDot> hit(double x, double y, double reach_x, double reach_y) const;

 private:
  std::vector<FindDot> dots_;
  std::vector<FindDot> front_;
  std::optional<FindDot> now_;
  std::optional<double> limit_;
  sweep::Scale x_;
  sweep::Scale y_;
  std::string x_title_;
  std::string y_title_;
};

}  // namespace pipeloom::gui
