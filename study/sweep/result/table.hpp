#pragma once

// A sweep's result in memory: typed columns, so that a million points fit in far less than 200 MB, and the questions that need one
// column only. Further analysis is in study/answers/answers.hpp.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "study/run/run_status.hpp"
#include "study/sweep/result/column.hpp"
#include "study/sweep/result/result.hpp"

namespace pipeloom::sweep {

using study::name_of;
using study::Status;

inline constexpr std::size_t kMaxErrorGroups = 1000;

/// An error because of which points have no answer: messages that differ only in their numbers are one error.
struct ErrorGroup {
  Status status = Status::Failed;
  std::string example;  ///< the first one
  Row first = 0;
  std::size_t count = 0;
};

/// True if a text begins as a sweep's result does, of either format.
[[nodiscard]] bool looks_like_result(std::string_view text);
/// The same for a file, of which only the beginning is read. False for standard input and for a file that cannot be read.
[[nodiscard]] bool is_result_file(const std::string& path);

/// Units of a result's values.
struct ValueUnits {
  std::string time;          ///< "ms"; "" of the abstract unit, and if the points differ in it
  bool activations = false;  ///< sizes count activations of a stage: no point says bytes
};

class ResultTable {
 public:
  struct NamedColumn {
    std::string name;
    Column column;
    /// Some row has another value than the first, or none.
    bool varies = false;
  };

  /// An empty table, to which read() and tests add lines.
  explicit ResultTable(Header header);
  /// Reads a result; `stop` is asked now and then and ends the reading early, with the lines so far. Throws InputError as
  /// ResultReader does.
  [[nodiscard]] static ResultTable read(const std::string& path, const std::function<bool()>& stop = {});
  /// Throws InputError at `where` for an unknown status.
  void add(const ResultLine& line, const Where& where);
  /// Frees the memory that reading took but the table does not need.
  void finish();

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] std::size_t rows() const { return points_.size(); }
  [[nodiscard]] std::uint64_t point(Row row) const { return points_[row]; }
  [[nodiscard]] Status status(Row row) const { return statuses_[row]; }
  [[nodiscard]] const std::vector<NamedColumn>& keys() const { return keys_; }
  /// In the header's order.
  [[nodiscard]] const std::vector<NamedColumn>& metrics() const { return metrics_; }
  /// Keys of each axis, those of a zip together; what the header names twice (a union of products may) comes once. Where it names none, every
  /// key is an axis.
  [[nodiscard]] std::vector<std::vector<std::string>> axes() const;
  /// True if the grid calculates the key from others, so that it is on no axis.
  [[nodiscard]] bool is_derived(std::string_view key) const;
  /// True if the grid moves the two together: keys of one zip.
  [[nodiscard]] bool move_together(std::string_view key, std::string_view other) const;
  /// All points of the grid are here: no shard, no part of a sweep that goes on.
  [[nodiscard]] bool is_complete() const { return rows() == header_.points; }
  /// A key or a metric, or null.
  [[nodiscard]] const Column* find(std::string_view name) const;
  /// The same. Throws InputError at `where` suggesting the nearest of all there are.
  [[nodiscard]] const Column& column(std::string_view name, const Where& where) const;
  [[nodiscard]] const Column& metric(std::string_view name, const Where& where) const;
  /// Most frequent first, kMaxErrorGroups of them; one more without a text counts the rest.
  [[nodiscard]] std::vector<ErrorGroup> errors() const;
  /// [status]
  [[nodiscard]] const std::array<std::size_t, 5>& status_counts() const { return status_counts_; }
  /// Units of the times and sizes of all points.
  [[nodiscard]] ValueUnits units() const;
  /// The configuration of a row, as a document that can be simulated: the base and the row's values.
  [[nodiscard]] io::Document document(Row row) const;
  /// The values that vary, without derived ones: "zb-h1, ranks 4"; all values that are set if none varies.
  [[nodiscard]] std::string title(Row row) const;

  [[nodiscard]] std::size_t bytes() const;

 private:
  void add_value(std::vector<NamedColumn>& columns, std::size_t hint, std::string_view name,
                 std::string_view json) const;
  void add_error(Status status, std::string_view text);

  Header header_;
  std::vector<std::vector<std::string>> axes_;  ///< that the header names
  std::size_t expected_rows_ = 0;
  std::vector<std::uint64_t> points_;
  std::vector<Status> statuses_;
  std::vector<NamedColumn> keys_;
  std::vector<NamedColumn> metrics_;
  std::array<std::size_t, 5> status_counts_{};
  std::unordered_map<std::string, std::size_t> error_of_;
  std::vector<ErrorGroup> errors_;
  std::size_t other_errors_ = 0;
};

}  // namespace pipeloom::sweep
