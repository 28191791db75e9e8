#include "gui/model/panels/schedule_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gui/model/run/build_run.hpp"
#include "schedules/generator.hpp"
#include "sim/io/config/effective_config.hpp"
#include "sim/io/json/json_text.hpp"
#include "sim/memory.hpp"
#include "study/run/evaluate.hpp"
#include "study/text/numbers.hpp"

namespace pipeloom::gui {

namespace {

/// The key that a column sorts by; rows without a limit have most room.
double sort_key(const ScheduleRow& row, ScheduleTable::Column column) {
  using Column = ScheduleTable::Column;
  switch (column) {
    case Column::Chunks:
      return row.chunks;
    case Column::Step:
    case Column::Change:
      return row.one_step();
    case Column::Bubble:
      return row.bubble_ratio;
    case Column::Peak:
      return row.held;
    case Column::Room:
      return row.headroom.value_or(std::numeric_limits<double>::infinity());
    case Column::Gap:
      return row.gap;
    case Column::Name:
      break;
  }
  return 0;
}

/// One unit and as many decimals for all times of a column: four digits of the shortest.
class StepFormat {
 public:
  StepFormat(double shortest, TimeUnit unit) : unit_(unit) {
    if (unit_ != TimeUnit::Unit) {
      unit_ = TimeUnit::Nanosecond;
      for (const TimeUnit larger : {TimeUnit::Microsecond, TimeUnit::Millisecond, TimeUnit::Second})
        if (shortest >= static_cast<double>(ticks_per(larger))) unit_ = larger;
    }
    const double value = shortest / static_cast<double>(ticks_per(unit_));
    decimals_ = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;
  }
  [[nodiscard]] std::string text(double ticks) const {
    std::string out = fmt::format("{:.{}f}", ticks / static_cast<double>(ticks_per(unit_)), decimals_);
    const std::size_t whole = std::min(out.find('.'), out.size());
    for (std::size_t i = whole; i > 3; i -= 3) out.insert(i - 3, 1, ',');
    return unit_ == TimeUnit::Unit ? out : fmt::format("{} {}", out, name_of(unit_));
  }

 private:
  TimeUnit unit_;
  int decimals_ = 0;
};

/// The share of its limit that the fullest rank holds.
double peak_share(const ScheduleRow& row, double most) {
  const double whole = row.headroom ? row.held + *row.headroom : most;
  return whole > 0 ? row.held / whole : 0;
}

int updates_of(const io::EffectiveConfig& config) {
  try {
    const auto* generator = schedules::find(config.schedule).generator;
    if (generator == nullptr || !generator->requirements.takes.has(Option::Updates)) return 1;
    return config.options.updates.value_or(generator->requirements.default_updates);
  } catch (const Error&) {
    return 1;
  }
}

/// The limit of all ranks, "" where they have none or different ones.
std::string limit_of_all(const MemoryModel& memory) {
  if (memory.limit.empty()) return "";
  const bool same = std::all_of(memory.limit.begin(), memory.limit.end(),
                                [&](Bytes limit) { return limit == memory.limit.front(); });
  return same ? memory_cell(memory, memory.limit.front()) : "";
}

}  // namespace

std::string room_text(const study::ScheduleRow& row) {
  if (!row.headroom) return "";
  if (*row.headroom == 0) return "fits exactly";
  if (row.fits()) return "fits, " + row.headroom_text + " free";
  return "needs " + row.headroom_text.substr(1) + " more";
}

void ScheduleTable::sort_by(Column column, bool descending) {
  column_ = column;
  descending_ = descending;
  sort();
}

void ScheduleTable::sort_by(Column column) {
  const bool again = column == column_;
  sort_by(column, again ? !descending_ : column == Column::Room);
}

void ScheduleTable::sort() {
  std::stable_sort(rows_.begin(), rows_.end(), [&](const ScheduleRow& a, const ScheduleRow& b) {
    if (a.refusal.empty() != b.refusal.empty()) return a.refusal.empty();
    if (column_ == Column::Name) return descending_ ? b.name < a.name : a.name < b.name;
    const double left = sort_key(a, column_);
    const double right = sort_key(b, column_);
    return descending_ ? right < left : left < right;
  });
  write_lines();
}

void ScheduleTable::show_only(ScheduleFilter filter) {
  filter_ = filter;
  write_lines();
}

ScheduleTable::Against ScheduleTable::against(const Session& session) {
  Against out;
  for (const OpenRun& open : session.runs)
    if (open.live && open.run->memory) {
      out.limit = limit_of_all(*open.run->memory);
      out.counted = counts_activations(*open.run->memory);
    }
  const OpenRun* baseline = session.baseline_run();
  if (baseline == nullptr || baseline->run->hang) return out;
  const RunModel& run = *baseline->run;
  out.name = !baseline->name.empty() ? baseline->name : run.effective ? run.effective->schedule : run.title;
  out.unit = run.timeline.unit;
  const Ticks step = run.metrics && run.metrics->step_time > 0 ? run.metrics->step_time : run.span().length();
  out.step = static_cast<double>(step) / (run.effective ? updates_of(*run.effective) : 1);
  return out;
}

void ScheduleTable::look_at_runs(const Session& session) {
  const OpenRun* baseline = session.baseline_run();
  const std::uint64_t run = baseline == nullptr ? 0 : baseline->run->id;
  const auto live =
      std::find_if(session.runs.begin(), session.runs.end(), [](const OpenRun& open) { return open.live; });
  const std::uint64_t edited = live == session.runs.end() ? 0 : live->run->id;
  if (looked_baseline_ == run && looked_live_ == edited) return;
  looked_baseline_ = run;
  looked_live_ = edited;
  against_ = against(session);
  write_lines();
}

void ScheduleTable::write_lines() {
  double shortest = std::numeric_limits<double>::infinity();
  double most = 0;
  TimeUnit unit = TimeUnit::Unit;
  heads_ = {};
  for (const ScheduleRow& row : rows_)
    if (row.refusal.empty()) {
      shortest = std::min(shortest, row.one_step());
      most = std::max(most, row.held);
      unit = row.unit;
      heads_.limited = heads_.limited || row.headroom.has_value();
    }
  if (unit == TimeUnit::Unit && most > 0) heads_.step = "step (units)";
  const bool compared = against_.step > 0 && (against_.unit == TimeUnit::Unit) == (unit == TimeUnit::Unit);
  if (compared) heads_.change = "against " + against_.name;
  if (against_.counted)
    heads_.peak = "peak (activations)";
  else if (heads_.limited && !against_.limit.empty())
    heads_.peak = "peak of " + against_.limit;

  const StepFormat format(shortest, unit);
  lines_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const ScheduleRow& row = rows_[i];
    if ((filter_.fits && (!row.refusal.empty() || !row.fits())) || (filter_.synchronous && !row.synchronous))
      continue;
    ScheduleLine line;
    line.row = i;
    if (row.refusal.empty()) {
      line.step = format.text(row.one_step());
      // A row of the configuration before would be compared with the run of the present one.
      if (compared && !row.stale) line.change = change_text(row.one_step() / against_.step - 1);
      line.bubble = percent_text(row.bubble_ratio);
      line.peak = row.held_text;
      line.room = room_text(row);
      line.gap = percent_text(row.gap);
      line.peak_share = peak_share(row, most);
    }
    lines_.push_back(std::move(line));
  }
}

std::string ScheduleTable::common_refusal() const {
  std::map<std::string, std::size_t> counts;
  for (const ScheduleRow& row : rows_) {
    if (row.refusal.empty()) return {};
    ++counts[row.refusal];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return most != counts.end() && 2 * most->second > rows_.size() ? most->first : std::string();
}

void ScheduleTable::take(ScheduleRow row) {
  const auto same = std::find_if(rows_.begin(), rows_.end(),
                                 [&](const ScheduleRow& each) { return each.name == row.name; });
  if (same == rows_.end())
    rows_.push_back(std::move(row));
  else
    *same = std::move(row);
  sort();
}

void ScheduleTable::show_found(std::vector<FoundSchedule> found) {
  std::erase_if(rows_, [](const ScheduleRow& row) { return row.found; });
  // Runs of earlier rows stay on the chart, as runs without a tick.
  std::erase_if(ticked_, [this](const auto& ticked) { return found_.contains(ticked.first); });
  found_.clear();
  for (FoundSchedule& one : found) {
    one.row.found = true;
    rows_.push_back(one.row);
    const std::string name = one.row.name;
    found_[name] = std::make_shared<const FoundSchedule>(std::move(one));
  }
  sort();
}

void ScheduleTable::ask(Session& session, std::uint64_t revision, const std::shared_ptr<Asked>& asked,
                        std::size_t index) {
  asked_ = revision;
  session.jobs.submit(
      "schedules", [this, &session, revision, asked, index](const Cancelled& cancelled) -> Jobs::Finish {
        auto row = std::make_shared<ScheduleRow>(row_of(*asked, schedules::all()[index].name, cancelled));
        return [this, &session, revision, asked, index, row] {
          if (asked_ != revision) return;  // a newer configuration is under way
          take(std::move(*row));
          if (index + 1 < schedules::all().size())
            ask(session, revision, asked, index + 1);
          else
            shown_ = revision;
        };
      });
}

/// The first row reads the configuration for all.
ScheduleRow ScheduleTable::row_of(Asked& asked, const std::string& schedule, const Cancelled& cancelled) {
  ScheduleRow row;
  row.name = schedule;
  try {
    if (!asked.workload && asked.problem.empty())
      asked.workload = study::workload_of(config_of(asked.assignments), window_limits(cancelled));
    if (asked.workload) return evaluate_row(*asked.workload, schedule, cancelled);
  } catch (const Error& error) {
    asked.problem = error.what();
  } catch (const Stopped& ended) {
    row.refusal = ended.what();
    return row;
  }
  row.refusal = asked.problem;
  return row;
}

bool ScheduleTable::clear_rows() {
  if (rows_.empty()) return false;
  rows_.clear();
  asked_ = shown_ = marked_ = 0;
  write_lines();
  return true;
}

void ScheduleTable::mark_stale(std::uint64_t revision) {
  if (marked_ == revision) return;
  marked_ = revision;
  for (ScheduleRow& row : rows_) row.stale = true;
  write_lines();
}

void ScheduleTable::forget_closed(const Session& session) {
  std::erase_if(ticked_, [&](const auto& ticked) {
    return ticked.second != 0 && session.find_run(ticked.second) == nullptr;
  });
}

namespace {

/// True if a panel shows them: the table, or the bar that says if one of them is better.
bool rows_wanted(const Session& session) {
  return session.panel_open("schedules") || session.panel_open("answer");
}

}  // namespace

bool ScheduleTable::update(Session& session) {
  forget_closed(session);
  look_at_runs(session);
  if (!rows_wanted(session) && ticked_.empty()) return false;
  const auto& config = session.part<ConfigModel>();
  // The example that gave its place to a file has no rows.
  const bool live = std::ranges::any_of(session.runs, &OpenRun::live);
  if (!live && !config.pending() && config.is_example()) return clear_rows();
  mark_stale(config.revision());
  // The run under edit is simulated first; the table follows.
  if (config.pending()) return false;
  // No schedule takes a value that is none: the numbers of the values before stay, in grey.
  if (!config.refusals().empty()) return false;
  if (config.revision() != asked_ && rows_wanted(session))
    ask(session, config.revision(),
        std::make_shared<Asked>(Asked{with_shape(session, config.assignments()), std::nullopt, ""}), 0);
  if (config.revision() != ticked_revision_) refresh_ticked(session, config);
  return false;
}

namespace {

/// A stacked schedule's run, or why there is none.
struct Stacked {
  RunPtr run;
  std::string problem;
};

Stacked simulate_stacked(const Assignments& assignments, const std::string& schedule,
                         const Cancelled& cancelled) {
  try {
    const Limits limits = window_limits(cancelled);
    const io::Config config =
        study::with_schedule(study::workload_of(config_of(assignments), limits), schedule);
    require_shown(config);
    Run run = study::evaluate(config, limits);
    std::string title = title_of(*run.effective);
    return {build_run(std::move(run), std::move(title), RunSource::Configuration, ""), ""};
  } catch (const Error& error) {
    return {nullptr, error.line()};
  } catch (const Stopped& ended) {
    return {nullptr, ended.what()};
  }
}

Stacked stack_found(const FoundSchedule& found, const Cancelled& cancelled) {
  if (found.run) return {build_run(Run(*found.run), found.row.name, RunSource::Configuration, ""), ""};
  return simulate_stacked(found.config, shown_value(found.config.at("schedule")), cancelled);
}

void replace_run(Session& session, std::uint64_t old, RunPtr run) {
  for (OpenRun& open : session.runs)
    if (old != 0 && open.run->id == old) {
      open.run = std::move(run);
      return;
    }
  session.add_run(std::move(run), true);
}

}  // namespace

void ScheduleTable::refresh_ticked(Session& session, const ConfigModel& config) {
  ticked_revision_ = config.revision();
  const auto assignments = std::make_shared<const Assignments>(with_shape(session, config.assignments()));
  for (const auto& [schedule, id] : ticked_) {
    const auto one = found_.find(schedule);
    const std::shared_ptr<const FoundSchedule> found = one == found_.end() ? nullptr : one->second;
    if (found && id != 0) continue;  // it stays the schedule that was found
    session.jobs.submit("stack/" + schedule,
                        [this, &session, schedule = schedule, assignments,
                         found](const Cancelled& cancelled) -> Jobs::Finish {
                          return [this, &session, schedule,
                                  stacked = found ? stack_found(*found, cancelled)
                                                  : simulate_stacked(*assignments, schedule, cancelled)] {
                            const auto ticked = ticked_.find(schedule);
                            if (ticked == ticked_.end()) return;
                            if (!stacked.run) return session.say(stacked.problem, MessageKind::Problem);
                            replace_run(session, std::exchange(ticked->second, stacked.run->id), stacked.run);
                          };
                        });
  }
}

/// Rows that were not reached stay marked as stale, schedules without a run are not ticked any more.
void ScheduleTable::stop(Session& session) {
  session.jobs.cancel("schedules");
  session.jobs.cancel_all("stack/");
  shown_ = asked_;
  std::erase_if(ticked_, [](const auto& ticked) { return ticked.second == 0; });
}

void ScheduleTable::tick(Session& session, const std::string& schedule, bool on) {
  if (on) {
    ticked_.emplace(schedule, 0);
    ticked_revision_ = 0;
    return;
  }
  const auto found = ticked_.find(schedule);
  if (found == ticked_.end()) return;
  const std::uint64_t id = found->second;
  ticked_.erase(found);
  session.jobs.cancel("stack/" + schedule);
  for (std::size_t i = 0; i < session.runs.size(); ++i)
    if (session.runs[i].run->id == id) return session.close_run(i);
}

std::uint64_t ScheduleTable::run_of(const std::string& schedule) const {
  const auto found = ticked_.find(schedule);
  return found == ticked_.end() ? 0 : found->second;
}

std::string ScheduleTable::schedule_of(std::uint64_t run) const {
  const auto found = std::find_if(ticked_.begin(), ticked_.end(),
                                  [&](const auto& ticked) { return run != 0 && ticked.second == run; });
  return found == ticked_.end() ? "" : found->first;
}

void ScheduleTable::adopt(const std::string& schedule, std::uint64_t run) {
  // The parameters may have changed since the run was made.
  if (ticked_.emplace(schedule, run).second) ticked_revision_ = 0;
}

void ScheduleTable::write_state(const Session&, io::JsonWriter& out) const {
  out.object()
      .member("pending", pending())
      .member("compared_with", against_.name)
      .member("common_refusal", common_refusal())
      .key("rows")
      .array();
  for (const ScheduleRow& row : rows_)
    out.object()
        .member("name", row.name)
        .member("chunks", row.chunks)
        .member("legal", row.refusal.empty())
        .member("refusal", row.refusal)
        .member("makespan", to_double(row.makespan, row.unit))
        .member("step_time", row.one_step() / static_cast<double>(ticks_per(row.unit)))
        .member("updates", row.updates)
        .member("bubble_ratio", row.bubble_ratio)
        .member("peak_bytes", row.peak_bytes)
        .member("peak", row.peak_text)
        .member("held", row.held)
        .member("fits", row.refusal.empty() && row.fits())
        .member("synchronous", row.synchronous)
        .member("gap", row.gap)
        .member("stale", row.stale)
        .member("found", row.found)
        .member("ticked", ticked_.contains(row.name))
        .close();
  out.close().key("lines").array();
  for (const ScheduleLine& line : lines_)
    out.object()
        .member("name", rows_[line.row].name)
        .member("step", line.step)
        .member("change", line.change)
        .member("bubble", line.bubble)
        .member("peak", line.peak)
        .member("room", line.room)
        .member("above_bound", line.gap)
        .close();
  out.close().close();
}

Assignments with_shape(const Session& session, Assignments assignments) {
  for (const OpenRun& open : session.runs)
    if (open.live) {
      assignments.emplace("ranks", std::to_string(open.run->schedule->ranks()));
      assignments.emplace("microbatches", std::to_string(open.run->schedule->microbatches()));
    }
  return assignments;
}

Assignments with_schedule(const Assignments& assignments, const std::string& schedule) {
  if (schedule != io::kCustomSchedule) (void)schedules::find(schedule);
  try {
    const study::Workload workload = study::workload_of(config_of(assignments));
    return study::with_changes(study::with_costs_inlined(assignments), workload.config,
                               study::with_schedule(workload, schedule));
  } catch (const Error&) {  // the panel that edits it reports the problem
    Assignments out = assignments;
    out["schedule"] = io::json_string(schedule);
    return out;
  }
}

ScheduleRow evaluate_row(const study::Workload& workload, const std::string& schedule,
                         const Cancelled& cancelled) {
  ScheduleRow row{study::evaluate_row(workload, schedule, window_limits(cancelled))};
  row.synchronous = !schedules::find(schedule).generator->requirements.takes.has(Option::Updates);
  return row;
}

}  // namespace pipeloom::gui
