#pragma once

// Every registered schedule at the shape and costs under edit: what each would give, or why it cannot run.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/model/edit/config_model.hpp"
#include "gui/model/session/part.hpp"
#include "study/run/schedule_rows.hpp"

namespace pipeloom::gui {

/// Times of the whole run, memory as if stages were as large as those under edit.
struct ScheduleRow : study::ScheduleRow {
  /// The row still speaks of the configuration before: the one under edit was not evaluated yet.
  bool stale = false;
};

using study::with_schedule;
/// A configuration with ranks and microbatches, which `custom` has in its file, as the live run has them.
[[nodiscard]] Assignments with_shape(const Session& session, Assignments assignments);

/// One row, under the window's limits. Throws nothing.
[[nodiscard]] ScheduleRow evaluate_row(const Assignments& assignments, const std::string& schedule,
                                       const Cancelled& cancelled = {});

class ScheduleTable : public Part {
 public:
  enum class Column : std::uint8_t { Name, Makespan, Bubble, Memory, Gap };

  explicit ScheduleTable(Session&) {}

  /// Sorted; rows without numbers come last. They come one by one; those of the configuration before stay until then, marked as stale.
  [[nodiscard]] const std::vector<ScheduleRow>& rows() const { return rows_; }
  void sort_by(Column column, bool descending);
  [[nodiscard]] bool pending() const { return shown_ != asked_; }
  /// The revision of the configuration that all rows are of; 0 while they are computed.
  [[nodiscard]] std::uint64_t complete_revision() const { return shown_ == marked_ ? shown_ : 0; }

  /// Stacks the schedule below the live run, or takes it away again.
  void tick(Session& session, const std::string& schedule, bool on);
  [[nodiscard]] bool ticked(const std::string& schedule) const { return ticked_.contains(schedule); }

  /// The schedule whose stacked run this is, "" if it is none.
  [[nodiscard]] std::string schedule_of(std::uint64_t run) const;
  /// Stacks a schedule by a run that is there already, unless it is stacked.
  void adopt(const std::string& schedule, std::uint64_t run);

  bool update(Session& session) override;
  void stop(Session& session) override;
  [[nodiscard]] std::string_view state_key() const override { return "schedules"; }
  void write_state(const Session& session, io::JsonWriter& out) const override;

 private:
  /// Evaluates row `index` of the registry, then those after it; between them, an edit's simulation has its turn.
  void ask(Session& session, std::uint64_t revision, const std::shared_ptr<const Assignments>& assignments,
           std::size_t index);
  void take(ScheduleRow row);
  void mark_stale(std::uint64_t revision);
  /// Stacked runs that were closed elsewhere are not ticked any more.
  void forget_closed(const Session& session);
  void refresh_ticked(Session& session, const ConfigModel& config);
  void sort();

  std::vector<ScheduleRow> rows_;
  Column column_ = Column::Name;
  bool descending_ = false;
  std::uint64_t asked_ = 0;  // revision of the configuration
  std::uint64_t shown_ = 0;
  std::uint64_t marked_ = 0;  // rows of revisions before are marked as stale
  std::uint64_t ticked_revision_ = 0;
  /// Schedule -> RunModel::id of its stacked run; 0 until the job is done.
  std::map<std::string, std::uint64_t> ticked_;
};

}  // namespace pipeloom::gui
