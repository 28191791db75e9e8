#pragma once

// The rows of a timeline file, before they are a timeline.

#include <string>
#include <string_view>
#include <vector>

#include <pipeloom/error.hpp>
#include <pipeloom/op.hpp>
#include <pipeloom/units.hpp>

namespace pipeloom::io {

struct TimelineRow {
  Op op;
  Ticks start = 0;
  Ticks end = 0;
  std::int32_t rank = 0;
  std::int32_t step = 0;
  std::uint32_t line = 0;
  /// One entry with the op in front of it, though they ran one after the other; no file says so.
  bool is_joined = false;
};

struct TimelineRows {
  std::vector<TimelineRow> rows;
  TimeUnit unit = TimeUnit::Unit;
  /// Why the run that wrote it failed; empty: it did not.
  std::string partial;
  /// What is said of times that were rounded; empty: none was.
  std::string rounded;
};

/// Rows of each form. Throw InputError as read_timeline().
[[nodiscard]] TimelineRows read_jsonl_rows(std::string_view text, const std::string& name, TimeUnit unit);
[[nodiscard]] TimelineRows read_csv_rows(std::string_view text, const std::string& name, TimeUnit unit);
[[nodiscard]] TimelineRows read_report_rows(std::string_view text, const std::string& name);

/// One row, field by field. `where` is the place of the field in hand.
class RowReader {
 public:
  RowReader(Where where, TimeUnit unit) : where_(std::move(where)), unit_(unit) {}
  enum Field : unsigned char { Rank = 1, Op = 2, Start = 4, End = 8, Step = 16 };
  static constexpr unsigned kNeeded = Rank | Op | Start | End;

  /// The field named so, 0 if there is none.
  [[nodiscard]] static unsigned field_named(std::string_view name);
  void begin(int line) {
    row_ = {};
    row_.line = static_cast<std::uint32_t>(line);
    seen_ = 0;
    where_.line = line;
  }
  /// The row goes on in this line.
  void go_to(int line) { where_.line = line; }
  void set(unsigned field, std::string_view text, std::size_t column);
  /// Throws InputError if a field is missing, or the end is before the start.
  [[nodiscard]] TimelineRow finish() const;
  [[nodiscard]] Where at(std::size_t column) const {
    return {where_.file, where_.line, static_cast<int>(column)};
  }
  void set_unit(TimeUnit unit) { unit_ = unit; }
  /// What is said of times that were rounded so far: one line, at the first of them. Empty: none was.
  [[nodiscard]] std::string rounded() const;

 private:
  [[nodiscard]] std::int32_t number(std::string_view text, std::string_view what, std::size_t column) const;
  [[nodiscard]] Ticks time(std::string_view text, std::string_view what, std::size_t column);

  Where where_;
  TimeUnit unit_;
  TimelineRow row_;
  unsigned seen_ = 0;
  std::string first_rounded_;
  std::size_t num_rounded_ = 0;
};

}  // namespace pipeloom::io
