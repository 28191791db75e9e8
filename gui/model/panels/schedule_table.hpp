#pragma once

// Every registered schedule at the shape and costs under edit: the result of each, or why it cannot run.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/part.hpp"
#include "study/report/schedule_rows.hpp"

namespace pipeloom::gui {

/// Times of the whole run, memory as if stages were as large as those under edit.
struct ScheduleRow : study::ScheduleRow {
  /// The row still speaks of the configuration before: the one under edit was not evaluated yet.
  bool stale = false;
  /// A search found it: the registry has no such name, and edits do not compute it anew.
  bool found = false;
  /// It trains the same model as a run without a pipeline. False where batches overlap without a flush: gradients are of older weights then.
  bool synchronous = true;

  /// The time of one update: without flushes several share a step.
  [[nodiscard]] double one_step() const { return static_cast<double>(step_time) / updates; }
};

/// A row as people read it. Empty texts: it has no such number.
struct ScheduleLine {
  std::size_t row = 0;  ///< of ScheduleTable::rows()
  std::string step;     ///< "985.9 ms"; all of a table in one unit with as many decimals
  std::string change;   ///< "-18.7 %"
  std::string bubble;
  std::string peak;
  std::string room;       ///< "fits, 23.2 GB free", "needs 2.0 GB more"
  std::string gap;        ///< above the bound
  double peak_share = 0;  ///< of the limit, or where there is none of the largest peak
};

/// The texts in the heads of the table.
struct ScheduleHeads {
  std::string step = "step";      ///< "step (units)"
  std::string change = "change";  ///< "against 1f1b"
  std::string peak = "peak";      ///< "peak of 80.0 GB", "peak (activations)"
  bool limited = false;           ///< some row has a limit to fit
};

struct ScheduleFilter {
  bool fits = false;         ///< only rows that fit the limit
  bool synchronous = false;  ///< only rows that train the same
  friend bool operator==(const ScheduleFilter&, const ScheduleFilter&) = default;
};

/// A schedule that a search found, in addition to the registered ones: a row, and the source that stacks it on the chart.
struct FoundSchedule {
  ScheduleRow row;
  Assignments config;
  /// The run of an order that no configuration names; null where `config` makes it.
  std::shared_ptr<const Run> run;
};

/// The configuration of study::with_schedule(), unchanged keys as they were typed. A configuration that cannot be read gets the schedule's name and
/// nothing else. Throws InputError for a name that no schedule has.
[[nodiscard]] Assignments with_schedule(const Assignments& assignments, const std::string& schedule);
/// A configuration with ranks and microbatches, which `custom` has in its file, as the live run has them.
[[nodiscard]] Assignments with_shape(const Session& session, Assignments assignments);

/// "fits, 23.2 GB free", "fits exactly", "needs 2.0 GB more"; "" without a limit.
[[nodiscard]] std::string room_text(const study::ScheduleRow& row);

/// One row, under the window's limits. Throws nothing.
[[nodiscard]] ScheduleRow evaluate_row(const study::Workload& workload, const std::string& schedule,
                                       const Cancelled& cancelled = {});

class ScheduleTable : public Part {
 public:
  enum class Column : std::uint8_t { Name, Chunks, Step, Change, Bubble, Peak, Room, Gap };

  explicit ScheduleTable(Session&) {}

  /// Sorted; rows without numbers come last. They are computed one by one; those of the previous configuration stay until then, marked as stale.
  [[nodiscard]] const std::vector<ScheduleRow>& rows() const { return rows_; }
  /// Rows of their own, in the place of those that were found before. REQUIRES: names that neither the registry nor another of them has.
  void show_found(std::vector<FoundSchedule> found);
  void sort_by(Column column, bool descending);
  /// Sorts as a click on the head does: in reverse where it is sorted by that already; the most room first.
  void sort_by(Column column);
  [[nodiscard]] Column sorted_by() const { return column_; }
  [[nodiscard]] bool descending() const { return descending_; }
  void show_only(ScheduleFilter filter);
  [[nodiscard]] const ScheduleFilter& filter() const { return filter_; }
  /// rows() that the filter leaves, in their order.
  [[nodiscard]] const std::vector<ScheduleLine>& lines() const { return lines_; }
  [[nodiscard]] const ScheduleHeads& heads() const { return heads_; }
  /// The reason for which no row has numbers, where more than half of them have the same one; "" elsewhere.
  [[nodiscard]] std::string common_refusal() const;
  [[nodiscard]] bool pending() const { return shown_ != asked_; }
  /// The revision of the configuration that all rows are of; 0 while they are computed.
  [[nodiscard]] std::uint64_t complete_revision() const { return shown_ == marked_ ? shown_ : 0; }

  /// Stacks the schedule below the live run, or takes it away again.
  void tick(Session& session, const std::string& schedule, bool on);
  [[nodiscard]] bool ticked(const std::string& schedule) const { return ticked_.contains(schedule); }

  /// RunModel::id of its stacked run, 0 while there is none.
  [[nodiscard]] std::uint64_t run_of(const std::string& schedule) const;
  /// The schedule whose stacked run this is, "" if it is none.
  [[nodiscard]] std::string schedule_of(std::uint64_t run) const;
  /// Stacks a schedule by a run that is there already, unless it is stacked.
  void adopt(const std::string& schedule, std::uint64_t run);

  bool update(Session& session) override;
  void stop(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "schedules"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  /// The input of all rows: the workload once it has been read, or why it cannot be.
  struct Asked {
    Assignments assignments;
    std::optional<study::Workload> workload;
    std::string problem;
  };
  /// Evaluates row `index` of the registry, then those after it; between them, an edit's simulation has its turn.
  void ask(Session& session, std::uint64_t revision, const std::shared_ptr<Asked>& asked, std::size_t index);
  [[nodiscard]] static ScheduleRow row_of(Asked& asked, const std::string& schedule,
                                          const Cancelled& cancelled);
  void take(ScheduleRow row);
  void mark_stale(std::uint64_t revision);
  /// True if there were any.
  bool clear_rows();
  /// Stacked runs that were closed elsewhere are not ticked any more.
  void forget_closed(const Session& session);
  void refresh_ticked(Session& session, const ConfigModel& config);
  void sort();
  /// Makes the lines anew, from the rows and the run that they are compared with.
  void write_lines();
  void look_at_runs(const Session& session);

  /// The step that rows are compared with: the baseline's, 0 where there is none.
  struct Against {
    std::string name;
    double step = 0;
    TimeUnit unit = TimeUnit::Unit;
    std::string limit;     ///< of all ranks of the live run
    bool counted = false;  ///< its memory is counted in activations
  };
  [[nodiscard]] static Against against(const Session& session);

  std::vector<ScheduleRow> rows_;
  std::map<std::string, std::shared_ptr<const FoundSchedule>> found_;
  std::vector<ScheduleLine> lines_;
  ScheduleHeads heads_;
  ScheduleFilter filter_;
  Against against_;
  std::uint64_t looked_baseline_ = 0;  // the runs that against_ is of
  std::uint64_t looked_live_ = 0;
  Column column_ = Column::Step;
  bool descending_ = false;
  std::uint64_t asked_ = 0;  // revision of the configuration
  std::uint64_t shown_ = 0;
  std::uint64_t marked_ = 0;  // rows of revisions before are marked as stale
  std::uint64_t ticked_revision_ = 0;
  /// Schedule -> RunModel::id of its stacked run; 0 until the job is done.
  std::map<std::string, std::uint64_t> ticked_;
};

}  // namespace pipeloom::gui
