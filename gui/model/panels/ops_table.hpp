#pragma once

// All ops of the active run as a table, and their durations: per kind, as a histogram, and the outliers.
//
// A table of ten million rows is not stored: a row is a position in timeline.start, found through the search's results and, where the table
// is sorted, a permutation that a job makes (4 bytes per row). Reading a row is O(1).

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/model/panels/search.hpp"
#include "gui/model/session/session.hpp"
#include "sim/base/tick_sum.hpp"

namespace pipeloom::gui {

/// The search `text` further narrowed to the durations of a bin; `last`: with its upper edge.
[[nodiscard]] std::string narrowed_to(const std::string& text, Ticks low, Ticks high, bool last,
                                      TimeUnit unit);

/// Rows that are copied to the clipboard at once, at most.
inline constexpr std::size_t kMaxCopiedRows = 100'000;

enum class OpColumn : std::uint8_t { Rank, Op, Kind, Stage, Microbatch, Start, Duration, Slack };
inline constexpr OpColumn kAllOpColumns[] = {OpColumn::Rank,     OpColumn::Op,         OpColumn::Kind,
                                             OpColumn::Stage,    OpColumn::Microbatch, OpColumn::Start,
                                             OpColumn::Duration, OpColumn::Slack};
/// "rank", "op", "kind", "stage", "microbatch", "start", "duration", "slack".
[[nodiscard]] std::string_view name_of(OpColumn column);

/// Durations of the ops of one kind. Ops that did not run are left out. Of n durations in order, median is number (n - 1) / 2, p95 number 95 (n - 1)
/// / 100, rounded down.
struct KindDurations {
  std::size_t count = 0;
  TickSum total;
  Ticks least = 0;
  Ticks median = 0;
  Ticks p95 = 0;
  Ticks most = 0;
  [[nodiscard]] double mean() const {
    return count == 0 ? 0 : static_cast<double>(total) / static_cast<double>(count);
  }
  friend bool operator==(const KindDurations&, const KindDurations&) = default;
};

/// Bin i holds durations d with edges[i] <= d < edges[i + 1]; the last one holds its upper edge too.
struct DurationHistogram {
  std::vector<Ticks> edges;
  std::vector<std::array<std::size_t, kOpKinds>> bins;
  [[nodiscard]] std::size_t total(std::size_t bin) const;
};

/// An op whose duration is unlike that of the others of its kind and stage, if there are kFewestForOutliers: outside of [q1 - 1.5 (q3 - q1), q3 + 1.5
/// (q3 - q1)] with their quartiles.
struct DurationOutlier {
  std::size_t position = 0;
  Ticks duration = 0;
  Ticks median = 0;  ///< of its kind and stage
};

struct DurationStats {
  std::uint64_t run = 0;                   ///< RunModel::id
  std::array<KindDurations, kOpKinds> of;  ///< by index_of(kind)
  DurationHistogram linear;
  DurationHistogram logarithmic;  ///< edges grow by one factor
  /// Those farthest from their median first, in proportion to it; at most kMaxOutliers.
  std::vector<DurationOutlier> outliers;
  std::size_t num_outliers = 0;
};
inline constexpr std::size_t kMaxOutliers = 1000;
inline constexpr std::size_t kFewestForOutliers = 4;
inline constexpr std::size_t kDurationBins = 48;

/// Statistics of the ops at `positions`; null: of all ops. O(ops).
[[nodiscard]] DurationStats duration_stats(const RunModel& run, const Found& positions,
                                           const Cancelled& cancelled = {});

/// out[i] is the index among `rows` (null: all) of the row that comes i-th by `column`, ascending; equal ones stay in the order of positions.
/// `slack` counts for OpColumn::Slack only. REQUIRES: fewer than 2^32 rows. Digit by digit: a second for ten million rows by time.
[[nodiscard]] std::vector<std::uint32_t> sorted_rows(const RunModel& run, const Found& rows, OpColumn column,
                                                     const std::vector<Ticks>& slack,
                                                     const Cancelled& cancelled = {});

/// The content of a table row.
struct OpRow {
  std::size_t position = 0;
  Rank rank;
  int step = 0;
  pipeloom::Op op;
  Ticks start = 0;
  Ticks end = 0;
  std::optional<Ticks> slack;
};

class OpsTable : public Part {
 public:
  explicit OpsTable(Session&) {}

  /// Rows as of the last update(): the ops of the active run that the search found, or all.
  [[nodiscard]] std::size_t num_rows() const;
  /// REQUIRES: i < num_rows().
  [[nodiscard]] OpRow row(std::size_t i) const;
  /// The row of the op in the table; O(rows) where it is sorted. No value if it is not there.
  [[nodiscard]] std::optional<std::size_t> find_row(std::size_t position) const;
  [[nodiscard]] const RunPtr& run() const { return run_; }

  /// Another column sorts ascending, the same one again descending, a third time not at all.
  void sort_by(OpColumn column);
  void sort(std::optional<OpColumn> column, bool descending);
  [[nodiscard]] std::optional<OpColumn> sorted_by() const { return column_; }
  [[nodiscard]] bool descending() const { return descending_; }
  /// True while a permutation is being made; the rows stay as before until then.
  [[nodiscard]] bool sorting() const { return sorting_; }

  /// Null until a job has made them; asks for them while a view calls this every frame. Those of the run before stay until then.
  [[nodiscard]] const DurationStats* stats() {
    stats_wanted_ = true;
    return stats_.get();
  }
  /// Asks for the slack of this run's ops, where it can be known (run_slack); sorting by it asks too.
  void want_slack() { wants_slack_ = true; }
  [[nodiscard]] bool slack_known() const { return slack_ != nullptr && !slack_->empty(); }

  /// Rows [first, last) with a line of headings: rank, step where there are several, op, kind, stage, microbatch, start, end, duration, slack where
  /// known; times in the run's unit.
  [[nodiscard]] std::string text(std::size_t first, std::size_t last, char separator) const;

  /// The first row that is drawn. An integer: floating-point offsets of ten million rows are not exact.
  std::size_t top = 0;
  /// Each bin of the histogram is wider than the one before by the same factor.
  bool logarithmic = false;
  /// The op that the view scrolled to last, so that it follows the selection only when that changes.
  std::optional<OpRef> followed;

  bool update(Session& session) override;
  [[nodiscard]] bool idle() const override { return !order_wanted_ && !sorting_ && !counting_; }
  [[nodiscard]] std::string_view state_key() const override { return "ops"; }
  /// {"rows", "sort", "descending", "first", "last"} (texts of the first and last row) and, once a view asked for them, "kinds": {"F": {"count",
  /// "total", "mean", "median", "p95", "max"}}, "outliers".
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  using Slack = std::shared_ptr<const std::vector<Ticks>>;
  void follow(Session& session);
  void submit_sort(Session& session);
  void submit_stats(Session& session);
  void write_kinds(io::JsonWriter& out) const;
  void submit_slack(Session& session);
  [[nodiscard]] std::size_t position_of(std::size_t row) const { return rows_ ? (*rows_)[row] : row; }

  RunPtr run_;
  Found rows_;  // null: all
  std::uint64_t search_revision_ = 0;
  std::optional<OpColumn> column_;
  bool descending_ = false;
  std::vector<std::uint32_t> order_;  // empty: identity
  bool reversed_ = false;             // the order is read from its end
  bool order_wanted_ = false;
  bool sorting_ = false;
  Slack slack_;
  bool wants_slack_ = false;
  bool slack_under_way_ = false;
  std::shared_ptr<const DurationStats> stats_;
  bool stats_wanted_ = false;
  bool stats_stale_ = true;
  bool counting_ = false;
};

}  // namespace pipeloom::gui
